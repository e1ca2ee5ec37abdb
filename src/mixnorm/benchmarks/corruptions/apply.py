"""`corrupt`: a corruption by name, on a batch of any length."""

from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt

from mixnorm.benchmarks.corruptions.pixels import Bytes
from mixnorm.benchmarks.corruptions.randomness import Draws
from mixnorm.benchmarks.corruptions.severities import Scale, settings_of
from mixnorm.benchmarks.whole_numbers import whole_number
from mixnorm.errors import DataError, SettingError, require

# Blocks of about this many pixels keep the float arrays of a step in the processor's cache, and memory bounded.
_BLOCK_PIXELS = 2**17
_LARGE_FROM = 100


def corrupt(
    images: Bytes,
    name: str,
    severity: int,
    *,
    seed: int = 0,
    indices: npt.ArrayLike | None = None,
    scale: Scale | None = None,
) -> Bytes:
    """Corrupt RGB images (N, H, W, 3) and return new ones of the same shape.

    All randomness of an image comes from `seed`, `name`, `severity` and its entry of `indices` (by default its place in
    `images`), so neither the batch around it nor the order changes its bytes. `scale` chooses the published constants
    for 32 px (`"small"`) or 224 px (`"large"`); by default the size of the images does.

    >>> grey = np.full((2, 32, 32, 3), 128, dtype=np.uint8)
    >>> corrupt(grey, "brightness", 5)[0, 0, 0].tolist()
    [204, 204, 204]
    """
    _check_images(images)
    settings = settings_of(name, severity, _scale_for(images) if scale is None else scale)
    identities = _check_indices(indices, len(images))
    seed = whole_number("seed", seed, 0)
    function = _functions()[name]
    out = np.empty_like(images)
    step = max(1, _BLOCK_PIXELS // (images.shape[1] * images.shape[2]))
    for start in range(0, len(images), step):
        block = slice(start, start + step)
        draws = Draws(seed=seed, name=name, severity=int(severity), indices=identities[block])
        out[block] = function(images[block], draws, *settings)
    return out


def _scale_for(images: Bytes) -> Scale:
    return "small" if min(images.shape[1:3]) < _LARGE_FROM else "large"


def _check_images(images: Bytes) -> None:
    if not isinstance(images, np.ndarray) or images.dtype != np.uint8:
        kind = getattr(images, "dtype", type(images).__name__)
        raise DataError(
            f"images must be a numpy array of uint8, not {kind}; floats in [0, 1] are (255 * x).astype('uint8')"
        )
    if images.ndim != 4 or images.shape[3] != 3 or 0 in images.shape[1:]:
        raise DataError(f"images must be RGB of shape (N, H, W, 3), not {images.shape}")


def _check_indices(indices: npt.ArrayLike | None, count: int) -> npt.NDArray[np.integer]:
    identities = np.arange(count) if indices is None else np.asarray(indices)
    if identities.shape != (count,) or not np.issubdtype(identities.dtype, np.integer):
        raise SettingError(
            f"indices must be {count} whole numbers, one per image, not {identities.dtype} {identities.shape}"
        )
    if count and identities.min() < 0:
        raise SettingError(f"indices must be at least 0, not {identities.min()}")
    return identities


@cache
def _functions() -> dict[str, Callable[..., Bytes]]:
    """Import the families on first use: they need scipy and Pillow, the names of the corruptions do not."""
    require("scipy", "benchmarks")
    require("PIL", "benchmarks")
    from mixnorm.benchmarks.corruptions import blur, digital, elastic, noise, spatter, weather

    return {
        "gaussian_noise": noise.gaussian_noise,
        "shot_noise": noise.shot_noise,
        "impulse_noise": noise.impulse_noise,
        "defocus_blur": blur.defocus_blur,
        "glass_blur": blur.glass_blur,
        "motion_blur": blur.motion_blur,
        "zoom_blur": blur.zoom_blur,
        "snow": weather.snow,
        "frost": weather.frost,
        "fog": weather.fog,
        "brightness": digital.brightness,
        "contrast": digital.contrast,
        "elastic_transform": elastic.elastic_transform,
        "pixelate": digital.pixelate,
        "jpeg_compression": digital.jpeg_compression,
        "speckle_noise": noise.speckle_noise,
        "gaussian_blur": blur.gaussian_blur,
        "spatter": spatter.spatter,
        "saturate": digital.saturate,
    }
