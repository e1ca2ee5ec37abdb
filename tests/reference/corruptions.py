"""Corruptions written slowly and obviously: one image at a time, with scipy or pixel by pixel."""

import colorsys
import math
from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import ndimage

Image = npt.NDArray[np.uint8]
Array = npt.NDArray[np.floating]


def truncated(pixels: npt.ArrayLike) -> Image:
    return np.clip(np.asarray(pixels) + 1e-3, 0, 255).astype(np.uint8)


def gaussian(image: Image, sigma: float) -> Image:
    planes = [ndimage.gaussian_filter(image[..., c].astype(float), sigma, mode="nearest") for c in range(3)]
    return truncated(np.stack(planes, axis=-1))


def disk_blur(image: Image, radius: float, edge_sigma: float) -> Image:
    """Convolve directly with a disk on a generous canvas whose edge is softened by 3 x 3 (5 x 5) weights."""
    reach, softening = int(radius) + 4, 1 if radius <= 8 else 2
    disk = np.array([[y * y + x * x <= radius**2 for x in _around(reach)] for y in _around(reach)], dtype=float)
    weights = [math.exp(-(i**2) / (2 * edge_sigma**2)) for i in _around(softening)]
    kernel = np.outer(weights, weights) / sum(weights) ** 2
    soft = ndimage.convolve(disk / disk.sum(), kernel, mode="constant")
    planes = [ndimage.convolve(image[..., c].astype(float), soft, mode="mirror") for c in range(3)]
    return truncated(np.stack(planes, axis=-1))


def _around(reach: int) -> range:
    return range(-reach, reach + 1)


def zoom_blur(image: Image, zooms: list[float]) -> Image:
    """Zoom a square image with scipy, crop, and average."""
    pictures = [image.astype(float)]
    side = len(image)
    for zoom in zooms:
        kept = math.ceil(side / zoom)
        top = (side - kept) // 2
        enlarged = ndimage.zoom(image[top : top + kept, top : top + kept].astype(float), (zoom, zoom, 1), order=1)
        trim = (len(enlarged) - side) // 2
        pictures.append(enlarged[trim : trim + side, trim : trim + side])
    return truncated(sum(pictures) / len(pictures))


def streak(image: Image, angle: float, radius: int, sigma: float) -> Array:
    """Look up, for every pixel, the pixels on its line."""
    height, width = image.shape[:2]
    weights = [math.exp(-(i**2) / (2 * sigma**2)) for i in range(2 * radius + 1)]
    out = np.zeros(image.shape)
    for y in range(height):
        for x in range(width):
            for i, weight in enumerate(weights):
                down = math.ceil(i * math.sin(math.radians(angle)) - 0.5)
                right = math.ceil(i * math.cos(math.radians(angle)) - 0.5)
                source = image[min(max(y + down, 0), height - 1), min(max(x + right, 0), width - 1)]
                out[y, x] += weight / sum(weights) * source
    return out


def glass_round(image: Image, offsets: npt.NDArray[np.integer], reach: int) -> Image:
    """Walk backwards through the inner pixels and copy to each the one at its offset (down, right)."""
    out = image.copy()
    for y in range(len(out) - reach, reach, -1):
        for x in range(out.shape[1] - reach, reach, -1):
            down, right = offsets[:, y, x]
            out[y, x] = out[y + down, x + right]
    return out


def plasma(noise: Array, decay: float) -> Array:
    """Fill a torus point by point, from coarse to fine."""
    size = len(noise)
    cloud = np.zeros((size, size))
    step, strength = size, 1.0
    while step > 1:
        half = step // 2
        middles = [(y, x) for y in range(half, size, step) for x in range(half, size, step)]
        sides = [(y, x) for y in range(0, size, half) for x in range(0, size, half) if (y + x) // half % 2]
        _fill(cloud, middles, [(-half, -half), (-half, half), (half, -half), (half, half)], strength * noise)
        _fill(cloud, sides, [(-half, 0), (half, 0), (0, -half), (0, half)], strength * noise)
        step, strength = half, strength / decay**2
    cloud -= cloud.min()
    cloud /= cloud.max()
    return cloud


def _fill(cloud: Array, points: list[tuple[int, int]], neighbours: list[tuple[int, int]], noise: Array) -> None:
    size = len(cloud)
    for y, x in points:
        cloud[y, x] = sum(cloud[(y + dy) % size, (x + dx) % size] for dy, dx in neighbours) / 4 + noise[y, x]


def in_hsv(image: Image, change: Callable[[float, float, float], tuple[float, float, float]]) -> Image:
    """Change every pixel's hue, saturation and value."""
    out = np.zeros(image.shape)
    for place in np.ndindex(image.shape[:2]):
        out[place] = colorsys.hsv_to_rgb(*change(*colorsys.rgb_to_hsv(*(image[place] / 255))))
    return truncated(255 * out)


def elastic(image: Image, shifts: Array, field: Array, *, amplitude: float, sigma: float) -> Image:
    """Resample with scipy: first by the affine map that moves three points, then by the smoothed field."""
    height, width = image.shape[:2]
    third = min(height, width) // 3
    corners = [(width // 2 + sx * third, height // 2 + sy * third) for sx, sy in ((1, 1), (1, -1), (-1, -1))]
    moved = np.array([[x + dx, y + dy, 1] for (x, y), (dx, dy) in zip(corners, shifts, strict=True)])
    back = np.linalg.solve(moved, np.array(corners, dtype=float))
    y, x = np.mgrid[:height, :width].astype(float)
    planes = image.astype(float)
    from_x, from_y = (x * back[0, i] + y * back[1, i] + back[2, i] for i in (0, 1))
    planes = _resampled(planes, from_y, from_x, border="mirror")
    if amplitude:
        right, down = (ndimage.gaussian_filter(field[..., i], sigma, mode="reflect", truncate=3) for i in (0, 1))
        planes = _resampled(planes, y + amplitude * down, x + amplitude * right, border="reflect")
    return truncated(planes)


def _resampled(planes: Array, rows: Array, columns: Array, border: Literal["mirror", "reflect"]) -> Array:
    channels = [ndimage.map_coordinates(planes[..., c], [rows, columns], order=1, mode=border) for c in range(3)]
    return np.stack(channels, axis=-1)
