"""Digital: what cameras, codecs and software do to colours, geometry and resolution."""

from io import BytesIO

import numpy as np
import torch
from PIL import Image
from torch.nn.functional import grid_sample

from mixnorm.benchmarks.corruptions.linear import smooth
from mixnorm.benchmarks.corruptions.pixels import Bytes, Floats, to_bytes
from mixnorm.benchmarks.corruptions.randomness import Draws

# The hue of red, as the gap of each channel to the brightest one.
_RED = np.array([0, 1, 1], dtype=np.float32)


def brightness(images: Bytes, _draws: Draws, added: float) -> Bytes:
    """Add to the value of HSV: with hue and saturation kept, every colour is scaled by new value over old."""
    value = images.max(axis=3, keepdims=True).astype(np.float32)
    brighter = np.minimum(value + 255 * added, 255)
    # Black has no hue and no saturation, so it becomes grey.
    return to_bytes(np.where(value > 0, images * (brighter / np.maximum(value, 1)), brighter))


def saturate(images: Bytes, _draws: Draws, factor: float, added: float) -> Bytes:
    """Scale the saturation of HSV and add to it: with hue and value kept, every gap to the value is scaled."""
    value = images.max(axis=3, keepdims=True).astype(np.float32)
    gaps = value - images
    largest = gaps.max(axis=3, keepdims=True)
    saturation = np.clip(factor * largest / np.maximum(value, 1) + added, 0, 1)
    # Grey has saturation 0 and, by convention, the hue of red.
    relative = np.where(largest > 0, gaps / np.maximum(largest, 1), _RED)
    return to_bytes(value - value * saturation * relative)


def contrast(images: Bytes, _draws: Draws, factor: float) -> Bytes:
    """Scale each channel about its mean over the image."""
    means = images.mean(axis=(1, 2), keepdims=True).astype(np.float32)
    return to_bytes((images - means) * np.float32(factor) + means)


def pixelate(images: Bytes, _draws: Draws, fraction: float) -> Bytes:
    """Shrink by area averaging and enlarge again with hard edges."""
    height, width = images.shape[1:3]
    small = (max(1, int(width * fraction)), max(1, int(height * fraction)))
    box = Image.Resampling.BOX
    return np.stack([np.asarray(Image.fromarray(i).resize(small, box).resize((width, height), box)) for i in images])


def jpeg_compression(images: Bytes, _draws: Draws, quality: float) -> Bytes:
    """Encode as JPEG and decode again."""
    return np.stack([_through_jpeg(image, int(quality)) for image in images])


def _through_jpeg(image: Bytes, quality: int) -> Bytes:
    encoded = BytesIO()
    Image.fromarray(image).save(encoded, "JPEG", quality=quality)
    with Image.open(encoded) as decoded:
        return np.asarray(decoded)


def elastic_transform(images: Bytes, draws: Draws, amplitude: float, sigma: float, shift: float) -> Bytes:
    """Warp by a random affine map, then by a smooth random field; all three settings are fractions of the side."""
    height, width = images.shape[1:3]
    side = min(height, width)
    corners = 2 * draws.uniform((3, 2)) - 1
    planes = torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2))).float()
    planes = _sample(planes, _affine_places(corners * np.float32(shift * side), height, width), mirror_pixel=False)
    if amplitude:
        field = 2 * draws.uniform((2, height, width)) - 1
        places = _grid(height, width) + (amplitude * side) * smooth(field, sigma * side, border="reflect", truncate=3)
        planes = _sample(planes, places, mirror_pixel=True)
    return to_bytes(planes.numpy().transpose(0, 2, 3, 1))


def _grid(height: int, width: int) -> Floats:
    """List the column and the row of every pixel (2, H, W)."""
    return np.stack(np.meshgrid(np.arange(width), np.arange(height))).astype(np.float32)


def _affine_places(shifts: Floats, height: int, width: int) -> Floats:
    """Find where each pixel comes from (N, 2, H, W) when three points around the centre move by `shifts` (N, 3, 2)."""
    centre = np.array([width // 2, height // 2])
    before = centre + min(height, width) // 3 * np.array([[1, 1], [1, -1], [-1, -1]])
    ones = np.ones((len(shifts), 3, 1))
    backwards = np.linalg.solve(np.concatenate([before + shifts, ones], axis=2), before)
    pixels = np.concatenate([_grid(height, width).reshape(2, -1), np.ones((1, height * width))]).T
    return (pixels @ backwards).transpose(0, 2, 1).reshape(-1, 2, height, width).astype(np.float32)


def _sample(planes: torch.Tensor, places: Floats, *, mirror_pixel: bool) -> torch.Tensor:
    """Interpolate (N, C, H, W) planes at places (N, 2, H, W), mirrored at the border, which is repeated or not."""
    height, width = planes.shape[-2:]
    extent = torch.tensor([width, height], dtype=torch.float32)
    grid = torch.from_numpy(places).permute(0, 2, 3, 1)
    # grid_sample counts from -1 to 1, between the outer pixels' edges or between their centres.
    scaled = (2 * grid + 1) / extent - 1 if mirror_pixel else 2 * grid / (extent - 1) - 1
    return grid_sample(planes, scaled, mode="bilinear", padding_mode="reflection", align_corners=not mirror_pixel)
