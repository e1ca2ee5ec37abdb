"""Noise: every value of a pixel is disturbed on its own."""

from functools import lru_cache

import numpy as np
from scipy import special

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
    return _photon_table(photons)[images, draws.shorts(images.shape[1:])]


@lru_cache(maxsize=5)
def _photon_table(photons: float) -> Bytes:
    """Tabulate, for each byte and each 16-bit chance, the byte that a Poisson number of photons gives.

    A byte has 256 values and more than `photons` photons are clipped, so few outcomes exist. Looking them up is several
    times faster than drawing Poisson numbers, and their probabilities are exact to 16 bits.
    """
    counts = np.arange(int(photons) + 1)
    below = special.pdtr(counts[:-1], np.arange(256)[:, None] * (photons / 255))
    bounds = np.rint(below * 2**16).astype(np.int64)
    repeats = np.diff(bounds, axis=1, prepend=0, append=2**16)
    outcomes = np.tile(to_bytes(counts.astype(np.float32) * np.float32(255 / photons)), 256)
    return np.repeat(outcomes, repeats.ravel()).reshape(256, 2**16)


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
