"""Linear image operators: smoothing and zooming along an axis as sparse matrices, streaks along an angle.

A matrix is what scipy's own filter makes of the unit matrix, borders included. Sparse products add up every pixel in
the same order whatever the batch and the number of threads; dense ones do not, so bytes would depend on the machine.
"""

from functools import lru_cache
from math import ceil
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import ndimage, sparse

from mixnorm.benchmarks.corruptions.pixels import Bytes, Floats

Border = Literal["nearest", "reflect"]
Matrix = sparse.csr_array[np.float32]


def along(axis: int, matrix: Matrix, pixels: Floats) -> Floats:
    """Multiply every line of pixels along an axis by a matrix."""
    lines = np.moveaxis(pixels, axis, 0)
    product: Floats = matrix @ lines.reshape(len(lines), -1)
    return np.moveaxis(product.reshape(lines.shape), 0, axis)


def smooth(pixels: Floats, sigma: float, *, border: Border = "nearest", truncate: float = 4.0) -> Floats:
    """Convolve axes 1 and 2 of (N, H, W) or (N, H, W, 3) pixels with a gaussian."""
    for axis in (1, 2):
        pixels = along(axis, _gaussian_matrix(pixels.shape[axis], sigma, border, truncate), pixels)
    return pixels


@lru_cache(maxsize=64)
def _gaussian_matrix(size: int, sigma: float, border: Border, truncate: float) -> Matrix:
    unit = np.eye(size)
    smoothed = ndimage.gaussian_filter1d(unit, sigma, axis=0, mode=border, truncate=truncate)
    return sparse.csr_array(smoothed.astype(np.float32))


@lru_cache(maxsize=64)
def zoom_matrix(size: int, factor: float) -> Matrix:
    """Make the matrix that enlarges the centre of an axis by `factor` to the whole axis, linearly interpolated."""
    kept = ceil(size / factor)
    start = (size - kept) // 2
    enlarged = ndimage.zoom(np.eye(kept), (factor, 1), order=1)
    trim = (len(enlarged) - size) // 2
    matrix = np.zeros((size, size), dtype=np.float32)
    matrix[:, start : start + kept] = enlarged[trim : trim + size]
    return sparse.csr_array(matrix)


def streak(images: Bytes, angles: npt.NDArray[np.floating], *, radius: float, sigma: float) -> Floats:
    """Smear each (H, W, C) image one way along its angle in degrees, by one half of a gaussian.

    The pixels on the line are the nearest ones, and the border is continued outwards, as in ImageMagick's motion blur.
    """
    weights = _half_gaussian(radius, sigma)
    reach = len(weights) - 1
    padded = np.pad(images, ((0, 0), (reach, reach), (reach, reach), (0, 0)), mode="edge").astype(np.float32)
    out = np.empty(images.shape, dtype=np.float32)
    for image, angle, total in zip(padded, np.radians(angles), out, strict=True):
        _add_shifted(image, weights, float(angle), total)
    return out


def _half_gaussian(radius: float, sigma: float) -> Floats:
    taps = np.exp(-(np.arange(2 * ceil(radius) + 1) ** 2) / (2 * sigma**2))
    # Taps that cannot change a byte only cost time.
    taps = taps[taps > 1e-6 * taps.sum()]
    weights: Floats = (taps / taps.sum()).astype(np.float32)
    return weights


def _add_shifted(padded: Floats, weights: Floats, angle: float, total: Floats) -> None:
    """Write into `total` the weighted sum of `padded` shifted step by step along `angle`."""
    height, width = total.shape[:2]
    reach = len(weights) - 1
    total[:] = 0
    for step, weight in enumerate(weights):
        top = reach + ceil(step * np.sin(angle) - 0.5)
        left = reach + ceil(step * np.cos(angle) - 0.5)
        total += weight * padded[top : top + height, left : left + width]
