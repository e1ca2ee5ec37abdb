"""Noise: every value of a pixel is disturbed on its own."""

import numpy as np

from mixnorm.benchmarks.corruptions.pixels import Bytes, to_bytes
from mixnorm.benchmarks.corruptions.randomness import Draws


def gaussian_noise(images: Bytes, draws: Draws, std: float) -> Bytes:
    """Add normal noise whose standard deviation is a fraction of the full range."""
    noise = draws.normal(images.shape[1:])
    noise *= 255 * std
    noise += images
    return to_bytes(noise)


def shot_noise(images: Bytes, draws: Draws, photons: float) -> Bytes:
    """Count photons: a white value receives `photons` of them on average."""
    counts = draws.poisson(images * (photons / 255))
    return to_bytes(counts.astype(np.float32) * np.float32(255 / photons))


def impulse_noise(images: Bytes, draws: Draws, fraction: float) -> Bytes:
    """Replace a fraction of the values, half of them by white and half by black."""
    chance = draws.uniform(images.shape[1:])
    out = np.where(chance < fraction, np.uint8(0), images)
    out[chance < fraction / 2] = 255
    return out


def speckle_noise(images: Bytes, draws: Draws, std: float) -> Bytes:
    """Add normal noise whose standard deviation is a fraction of the value itself."""
    noise = draws.normal(images.shape[1:])
    noise *= std
    noise += 1
    noise *= images
    return to_bytes(noise)
