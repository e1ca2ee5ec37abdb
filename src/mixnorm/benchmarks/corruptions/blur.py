"""Blur: every pixel becomes a mixture of the pixels around it."""

from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt
from scipy import fft, ndimage, sparse

from mixnorm.benchmarks.corruptions.linear import Matrix, along, smooth, streak, zoom_matrix
from mixnorm.benchmarks.corruptions.pixels import Bytes, Floats, to_bytes
from mixnorm.benchmarks.corruptions.randomness import Draws

# Pixels up to which one matrix makes all zooms of an image at once; at this size it takes some hundred megabytes.
_ZOOMED_AT_ONCE = 300 * 300


def gaussian_blur(images: Bytes, _draws: Draws, sigma: float) -> Bytes:
    """Convolve with a gaussian."""
    return to_bytes(smooth(images.astype(np.float32), sigma))


def defocus_blur(images: Bytes, _draws: Draws, radius: float, edge_sigma: float) -> Bytes:
    """Convolve with a disk, the picture of a point out of focus."""
    kernel = _disk(radius, edge_sigma)
    height, width = images.shape[1:3]
    margin = len(kernel) // 2
    planes = np.pad(images.transpose(0, 3, 1, 2), ((0, 0), (0, 0), (margin, margin), (margin, margin)), mode="reflect")
    size = [fft.next_fast_len(side, real=True) for side in planes.shape[2:]]
    # The product of spectra convolves in a circle; what it carries around the edge falls into the margin.
    spectrum = fft.rfft2(planes.astype(np.float32), size) * fft.rfft2(kernel, size)
    blurred = np.asarray(fft.irfft2(spectrum, size), dtype=np.float32)
    inside = blurred[:, :, 2 * margin : 2 * margin + height, 2 * margin : 2 * margin + width]
    return to_bytes(inside.transpose(0, 2, 3, 1))


@cache
def _disk(radius: float, edge_sigma: float) -> Floats:
    """Draw a disk of sum 1 and soften its edge with a 3 x 3 gaussian (5 x 5 for disks over 8 pixels)."""
    softening = 1 if radius <= 8 else 2
    reach = int(radius) + softening
    places = np.arange(-reach, reach + 1)
    disk = (places[:, None] ** 2 + places**2 <= radius**2).astype(np.float32)
    return ndimage.gaussian_filter(disk / disk.sum(), edge_sigma, radius=softening)


def zoom_blur(images: Bytes, _draws: Draws, largest: float, step: float) -> Bytes:
    """Average the image with enlargements of its centre, up to the largest."""
    # The published ranges end a hundredth above the largest zoom.
    zooms = tuple(float(zoom) for zoom in np.arange(1, largest + 0.01, step))
    height, width = images.shape[1:3]
    if height * width > _ZOOMED_AT_ONCE:
        return to_bytes(_zoomed_one_by_one(images, zooms))
    columns = images.transpose(1, 2, 0, 3).reshape(height * width, -1)
    blurred = _zoom_operator(height, width, zooms) @ columns.astype(np.float32)
    return to_bytes(blurred.reshape(height, width, -1, images.shape[3]).transpose(2, 0, 1, 3))


@lru_cache(maxsize=5)
def _zoom_operator(height: int, width: int, zooms: tuple[float, ...]) -> Matrix:
    """Make the one sparse matrix that maps all pixels of an image to their averages over all zooms."""
    total = sparse.eye_array(height * width, dtype=np.float32, format="csr")
    for zoom in zooms:
        both = sparse.kron(zoom_matrix(height, zoom), zoom_matrix(width, zoom), format="csr")
        total = total + both
    return total / np.float32(len(zooms) + 1)


def _zoomed_one_by_one(images: Bytes, zooms: tuple[float, ...]) -> Floats:
    """Average over all zooms with the memory of a few images; slower for small ones."""
    pixels = images.astype(np.float32)
    total = pixels.copy()
    for zoom in zooms:
        total += along(1, zoom_matrix(images.shape[1], zoom), along(2, zoom_matrix(images.shape[2], zoom), pixels))
    return total / np.float32(len(zooms) + 1)


def motion_blur(images: Bytes, draws: Draws, radius: float, sigma: float) -> Bytes:
    """Smear along a random direction within 45 degrees of the horizontal."""
    angles = 90 * draws.uniform((1,))[:, 0] - 45
    return to_bytes(streak(images, angles, radius=radius, sigma=sigma))


def glass_blur(images: Bytes, draws: Draws, sigma: float, distance: float, rounds: float) -> Bytes:
    """Blur, replace each pixel by a random near one, a few rounds of it, and blur again."""
    count, height, width, channels = images.shape
    reach = int(distance)
    sources = np.arange(count * height * width)
    for _ in range(int(rounds)):
        offsets = draws.integers(-reach, reach, (2, height, width))
        sources = sources[_glass_sources(offsets, reach)]
    blurred = to_bytes(smooth(images.astype(np.float32), sigma)).reshape(-1, channels)
    shuffled = blurred[sources].reshape(images.shape)
    return to_bytes(smooth(shuffled.astype(np.float32), sigma))


def _glass_sources(offsets: npt.NDArray[np.integer], reach: int) -> npt.NDArray[np.int64]:
    """Find which pixel each pixel shows after one round, as positions in the flattened batch.

    The published round walks backwards through the inner pixels and copies to each the pixel at its offset (its swap of
    two numpy views is a copy). A pixel that copies from one visited before it thus shows what that one shows: such
    chains are followed to their end by doubling, for all pixels at once.
    """
    count, _, height, width = offsets.shape
    inner = np.zeros((height, width), dtype=bool)
    inner[reach + 1 : height - reach + 1, reach + 1 : width - reach + 1] = True
    visited = np.tile(inner.ravel(), count)
    places = np.arange(count * height * width)
    steps = (offsets[:, 0] * width + offsets[:, 1]).ravel()
    sources = np.where(visited, places + steps, places)
    chained = (sources > places) & visited[sources]
    while chained.any():
        further = np.where(chained, sources[sources], sources)
        chained = chained & chained[sources]
        sources = further
    return sources
