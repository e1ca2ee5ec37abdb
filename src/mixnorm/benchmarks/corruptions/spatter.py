"""Spatter: drops of water or mud on the lens."""

import numpy as np
from scipy import ndimage

from mixnorm.benchmarks.corruptions.linear import smooth
from mixnorm.benchmarks.corruptions.pixels import Bytes, Floats, to_bytes
from mixnorm.benchmarks.corruptions.randomness import Draws

_PALE_WATER = np.array([175, 238, 238], dtype=np.float32)
_MUD_BROWN = np.array([63, 42, 20], dtype=np.float32)
# Light falls from the upper left: the side of a drop that turns away from it is bright.
_RELIEF = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], dtype=np.float32)
_FARTHEST = 20


def spatter(images: Bytes, draws: Draws, *settings: float) -> Bytes:
    """Splash drops where smooth noise is high: pale water that shines (kind 0), or brown mud that hides (kind 1)."""
    mean, std, sigma, threshold, strength, kind = settings
    layer = smooth(mean + std * draws.normal(images.shape[1:3]), sigma)
    if kind == 0:
        shine = np.stack([_shine(drops) for drops in np.where(layer < threshold, 0, layer)])
        return to_bytes(images + (strength * shine[..., None]) * _PALE_WATER)
    cover = smooth((layer > threshold).astype(np.float32), strength)
    cover = np.where(cover < 0.8, 0, cover)[..., None]
    return to_bytes(images * (1 - cover) + _MUD_BROWN * cover)


def _shine(drops: Floats) -> Floats:
    """Shade drops (H, W) as a relief whose height is the distance to their outlines, the brightest point being 1."""
    wet = drops > 0
    outline = wet & ~ndimage.binary_erosion(wet, border_value=1)
    distance = ndimage.distance_transform_edt(~outline) if outline.any() else np.full(drops.shape, _FARTHEST)
    height = _equalised(_box_mean(np.minimum(distance, _FARTHEST)).astype(np.uint8))
    relief = np.clip(ndimage.correlate(height, _RELIEF, mode="mirror"), 0, 255)
    shine: Floats = drops * _box_mean(relief)
    return shine / max(float(shine.max()), 1e-12)


def _box_mean(plane: Floats) -> Floats:
    return ndimage.uniform_filter(plane.astype(np.float32), 3, mode="mirror")


def _equalised(plane: Bytes) -> Floats:
    """Spread the values over 0..255 so that each range of them is equally frequent."""
    counts = np.bincount(plane.ravel(), minlength=256)
    below = counts.cumsum() - counts[counts > 0][0]
    if below[-1] == 0:
        return plane.astype(np.float32)
    levels: Floats = np.rint(below * (255 / below[-1])).astype(np.float32)
    return levels[plane]
