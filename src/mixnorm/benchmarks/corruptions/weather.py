"""Weather: something stands between the camera and the scene."""

import numpy as np

from mixnorm.benchmarks.corruptions.frost_pictures import frost_pictures
from mixnorm.benchmarks.corruptions.linear import along, streak, zoom_matrix
from mixnorm.benchmarks.corruptions.pixels import Bytes, Floats, to_bytes
from mixnorm.benchmarks.corruptions.plasma import plasma
from mixnorm.benchmarks.corruptions.randomness import Draws

_LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)


def snow(images: Bytes, draws: Draws, *settings: float) -> Bytes:
    """Let flakes fall in two directions over a whitened image."""
    mean, std, zoom, threshold, radius, sigma, keep = settings
    height, width = images.shape[1:3]
    noise = mean + std * draws.normal((height, width))
    flakes = along(1, zoom_matrix(height, zoom), along(2, zoom_matrix(width, zoom), noise))
    flakes[flakes < threshold] = 0
    angles = -45 - 90 * draws.uniform((1,))[:, 0]
    falling = np.rint(streak(to_bytes(255 * flakes)[..., None], angles, radius=radius, sigma=sigma))
    grey = (images * _LUMA).sum(axis=3, keepdims=True)
    whitened = np.maximum(images, 1.5 * grey + 127.5)
    return to_bytes(keep * images + (1 - keep) * whitened + falling + falling[:, ::-1, ::-1])


def frost(images: Bytes, draws: Draws, keep: float, added: float, stride: float) -> Bytes:
    """Lay a random part of a frost picture over the image, every `stride`-th pixel of it."""
    height, width = images.shape[1:3]
    pictures = frost_pictures(int(stride), height, width)
    chances = draws.uniform((3,))
    ice = np.stack([_random_part(pictures, chance, height, width) for chance in chances])
    return to_bytes(keep * images.astype(np.float32) + added * ice)


def _random_part(pictures: tuple[Bytes, ...], chances: Floats, height: int, width: int) -> Bytes:
    picture = pictures[int(chances[0] * len(pictures))]
    top = int(chances[1] * (len(picture) - height + 1))
    left = int(chances[2] * (picture.shape[1] - width + 1))
    return picture[top : top + height, left : left + width]


def fog(images: Bytes, draws: Draws, thickness: float, decay: float) -> Bytes:
    """Add a cloud and scale back so that the brightest value stays."""
    height, width = images.shape[1:3]
    size = 1 << (max(height, width) - 1).bit_length()
    cloud = plasma(2 * draws.uniform((size, size)) - 1, decay)[:, :height, :width, None]
    brightest = images.max(axis=(1, 2, 3), keepdims=True).astype(np.float32)
    share = brightest / np.maximum(brightest + 255 * thickness, 1)
    return to_bytes((images + (255 * thickness) * cloud) * share)
