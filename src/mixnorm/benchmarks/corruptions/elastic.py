"""Elastic transform: the image is stretched as if it were printed on rubber."""

import numpy as np
import torch
from torch.nn.functional import grid_sample

from mixnorm.benchmarks.corruptions.linear import smooth
from mixnorm.benchmarks.corruptions.pixels import Bytes, Floats, to_bytes
from mixnorm.benchmarks.corruptions.randomness import Draws

# Three corners of the square whose random shifts define the affine map, seen from the centre: (x, y).
_CORNERS = np.array([[1, 1], [1, -1], [-1, -1]])


def elastic_transform(images: Bytes, draws: Draws, amplitude: float, sigma: float, shift: float) -> Bytes:
    """Warp by a random affine map, then by a smooth random field; all three settings are fractions of the side."""
    height, width = images.shape[1:3]
    side = min(height, width)
    shifts = np.float32(shift * side) * (2 * draws.uniform((3, 2)) - 1)
    planes = torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2))).float()
    planes = _sample(planes, _affine_places(shifts, height, width), repeat_border=False)
    if amplitude:
        field = smooth(2 * draws.uniform((height, width, 2)) - 1, sigma * side, border="reflect", truncate=3)
        planes = _sample(planes, _places(height, width) + np.float32(amplitude * side) * field, repeat_border=True)
    return to_bytes(planes.numpy().transpose(0, 2, 3, 1))


def _places(height: int, width: int) -> Floats:
    """List the place (x, y) of every pixel, as (H, W, 2)."""
    return np.stack(np.meshgrid(np.arange(width), np.arange(height)), axis=-1).astype(np.float32)


def _affine_places(shifts: Floats, height: int, width: int) -> Floats:
    """Find where every pixel comes from (N, H, W, 2) when the three corners move by `shifts` (N, 3, 2)."""
    corners = np.array([width // 2, height // 2]) + min(height, width) // 3 * _CORNERS
    moved = np.concatenate([corners + shifts, np.ones((len(shifts), 3, 1))], axis=2)
    back = np.linalg.solve(moved, corners).astype(np.float32)[:, :, None, None]
    places = _places(height, width)
    return back[:, 0] * places[..., :1] + back[:, 1] * places[..., 1:] + back[:, 2]


def _sample(planes: torch.Tensor, places: Floats, *, repeat_border: bool) -> torch.Tensor:
    """Interpolate (N, C, H, W) planes at places (N, H, W, 2), mirrored beyond the border, it included or not."""
    extent = torch.tensor(planes.shape[:1:-1], dtype=torch.float32)
    wanted = torch.from_numpy(places)
    # grid_sample counts from -1 to 1, between the outer edges of the border pixels or between their centres.
    grid = (2 * wanted + 1) / extent - 1 if repeat_border else 2 * wanted / (extent - 1) - 1
    return grid_sample(planes, grid, mode="bilinear", padding_mode="reflection", align_corners=not repeat_border)
