"""Augmented views of images: a random resized crop, flipped half of the time.

A view is drawn from the seed, the sample's place in its stream and the number of the view alone, never from a running
generator: so a sample gets the same views in any batch, and the generator's state is the count of samples seen.

Shapes: B samples, V augmented views of each, N = V * B views in view-major order, D draws for each view.
"""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from mixnorm.errors import InputError

AREA = (0.08, 1.0)
ASPECT = (3 / 4, 4 / 3)
ATTEMPTS = 10
"""How many crops are tried before the largest centred one is taken."""

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]


def random_views(images: Tensor, views: int, seed: int, places: Sequence[int]) -> Tensor:
    """Draw `views` views of each image, (B, C, H, W) to (V * B, C, H, W), view-major.

    >>> images = torch.rand(2, 3, 8, 8)
    >>> both, second = random_views(images, 1, seed=0, places=[4, 5]), random_views(images[1:], 1, seed=0, places=[5])
    >>> torch.equal(both[1:], second)
    True
    """
    _check_images(images)
    draws_ND = np.concatenate([uniform(seed, places, view, 2 * ATTEMPTS + 3) for view in range(views)])
    height, width = images.shape[2:]
    top, left, crop_height, crop_width = crop_boxes(draws_ND[:, :-1], height, width).T
    y_NH = _source_positions(top, crop_height, height)
    x_NW = _source_positions(left, crop_width, width)
    flipped = draws_ND[:, -1:] < 0.5
    x_NW = np.where(flipped, x_NW[:, ::-1], x_NW)
    return _sample(images if views == 1 else images.repeat(views, 1, 1, 1), y_NH, x_NW)


def mirror_images(images: Tensor) -> Tensor:
    """Mirror images left to right.

    >>> mirror_images(torch.tensor([[[[1.0, 2.0]]]]))
    tensor([[[[2., 1.]]]])
    """
    _check_images(images)
    return images.flip(3)


def _check_images(images: Tensor) -> None:
    if images.dim() != 4:
        raise InputError(
            f"views are made of images (batch, channels, height, width), got shape {tuple(images.shape)}; "
            "ask for none with views=0"
        )


def uniform(seed: int, places: Sequence[int], view: int, draws: int) -> Floats:
    """Draw numbers in [0, 1) for each place by hashing seed, place, view and the number of the draw, (B, D)."""
    places_B1: Words = np.array(places, dtype=np.uint64)[:, None]
    draw_D: Words = np.arange(draws, dtype=np.uint64)
    key_B1 = _scramble(_scramble(np.array([seed % 2**64], dtype=np.uint64)) + places_B1)
    words_BD = _scramble(_scramble(key_B1 + np.uint64(view)) + draw_D)
    return (words_BD >> np.uint64(11)) / 2.0**53


def crop_boxes(draws_ND: Floats, height: int, width: int) -> NDArray[np.int64]:
    """Choose crops of a random area and aspect ratio: top, left, height and width of each, (N, 4).

    The draws are the areas and the aspect ratios of all attempts, then the place of the crop.
    """
    area_NA = _between(draws_ND[:, :ATTEMPTS], *AREA) * height * width
    aspect_NA = np.exp(_between(draws_ND[:, ATTEMPTS : 2 * ATTEMPTS], *np.log(ASPECT)))
    heights_NA, widths_NA = np.rint(np.sqrt(area_NA / aspect_NA)), np.rint(np.sqrt(area_NA * aspect_NA))
    fits_NA = (heights_NA > 0) & (heights_NA <= height) & (widths_NA > 0) & (widths_NA <= width)
    first = (np.arange(len(draws_ND)), fits_NA.argmax(1))
    found = fits_NA.any(1)
    whole_height, whole_width = min(height, round(width / ASPECT[0])), min(width, round(height * ASPECT[1]))
    crop_height = np.where(found, heights_NA[first], whole_height)
    crop_width = np.where(found, widths_NA[first], whole_width)
    top = np.where(found, draws_ND[:, -2] * (height - crop_height + 1), (height - crop_height) / 2)
    left = np.where(found, draws_ND[:, -1] * (width - crop_width + 1), (width - crop_width) / 2)
    return np.stack([top, left, crop_height, crop_width], axis=1).astype(np.int64)


def _scramble(words: Words) -> Words:
    """Mix the bits of whole numbers, as the SplitMix64 generator does; arrays of them wrap around in silence."""
    mixed = words + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _between(draws: Floats, low: float, high: float) -> Floats:
    return low + draws * (high - low)


def _source_positions(start_N: NDArray[np.int64], size_N: NDArray[np.int64], output: int) -> Floats:
    """Say where each output pixel lies in the image when the crop is resized to the output, (N, output)."""
    within = (np.arange(output) + 0.5) * size_N[:, None] / output - 0.5
    return np.clip(start_N[:, None] + within, start_N[:, None], (start_N + size_N - 1)[:, None])


def _sample(images_NCHW: Tensor, y_NH: Floats, x_NW: Floats) -> Tensor:
    """Read the images at a grid of positions, bilinearly, all at once."""
    height, width = images_NCHW.shape[2:]
    dtype = torch.promote_types(images_NCHW.dtype, torch.float32)
    # grid_sample counts from -1 to 1 across the image, from the outer edge of its first pixel.
    y, x = (2 * y_NH + 1) / height - 1, (2 * x_NW + 1) / width - 1
    y_N1H, x_N1W = (torch.from_numpy(axis).to(images_NCHW.device, dtype)[:, None] for axis in (y, x))
    grid_NHW2 = torch.stack([x_N1W.expand(-1, height, -1), y_N1H.mT.expand(-1, -1, width)], dim=-1)
    sampled = F.grid_sample(images_NCHW.to(dtype), grid_NHW2, padding_mode="border", align_corners=False)
    return sampled.to(images_NCHW.dtype)
