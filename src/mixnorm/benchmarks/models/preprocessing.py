"""Preprocessing that travels inside a model, so that every model takes RGB images as floats in [0, 1]."""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from mixnorm.errors import SettingError, unknown_name

Channels = tuple[float, float, float]
Interpolation = Literal["bicubic", "bilinear"]


@dataclass(frozen=True, kw_only=True)
class Preprocessing:
    """What a network expects of its input: `(image - mean) / std`, after a resize and crop to `size` if given.

    >>> print(Preprocessing(mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5)))
    mean 0.5 0.5 0.5, std 0.5 0.5 0.5
    """

    mean: Channels = (0.0, 0.0, 0.0)
    std: Channels = (1.0, 1.0, 1.0)
    size: int | None = None
    interpolation: Interpolation = "bicubic"
    """How a resize computes pixels; always antialiased."""

    def __post_init__(self) -> None:
        """Refuse what no image can be scaled with."""
        if min(self.std) <= 0 or (self.size is not None and self.size < 1):
            raise SettingError(f"std={self.std} and size={self.size} must be above zero")
        if self.interpolation not in get_args(Interpolation):
            raise unknown_name("interpolation", self.interpolation, get_args(Interpolation))

    def __str__(self) -> str:
        """Say it in one line."""
        if self == Preprocessing():
            return "none"
        filtered = "" if self.interpolation == "bicubic" else f" ({self.interpolation})"
        resize = f"resize and crop to {self.size} px{filtered}, " if self.size else ""
        return f"{resize}mean {' '.join(map(str, self.mean))}, std {' '.join(map(str, self.std))}"


class Preprocess(nn.Module):
    """Preprocessing as a module without parameters: a checkpoint of the network stays as it is."""

    mean: Tensor
    std: Tensor

    def __init__(self, settings: Preprocessing) -> None:
        super().__init__()
        self.settings = settings
        self.register_buffer("mean", torch.tensor(settings.mean).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(settings.std).view(1, 3, 1, 1), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """Scale images (N, 3, H, W) to what the network was trained on."""
        if self.settings.size is not None:
            images = resize_and_crop(images, self.settings.size, self.settings.interpolation)
        return (images - self.mean) / self.std

    def extra_repr(self) -> str:
        """Show the settings where the model is printed."""
        return str(self.settings)


class Preprocessed(nn.Module):
    """A network behind its preprocessing: takes RGB images as floats in [0, 1]."""

    def __init__(self, preprocess: Preprocess, network: nn.Module) -> None:
        super().__init__()
        self.preprocess = preprocess
        self.network = network

    def forward(self, images: Tensor) -> Tensor:
        """Give the network's output for images (N, 3, H, W) in [0, 1]."""
        output: Tensor = self.network(self.preprocess(images))
        return output


def resize_and_crop(images: Tensor, size: int, interpolation: Interpolation = "bicubic") -> Tensor:
    """Scale the shorter side to `size`, antialiased, and cut the middle out."""
    height, width = images.shape[-2:]
    short = min(height, width)
    # In whole numbers: a rounded quotient can fall just below the side it stands for.
    target = (size * height // short, size * width // short)
    if target != (height, width):
        images = _resized(images, target, interpolation)
    top, left = round((target[0] - size) / 2), round((target[1] - size) / 2)
    return images[..., top : top + size, left : left + size]


def _resized(images: Tensor, target: tuple[int, int], interpolation: Interpolation) -> Tensor:
    """Scale the width, then the height, as Pillow does."""
    # torch has no antialiased resize of half precision on every device.
    precise = images.to(torch.promote_types(images.dtype, torch.float32))
    for size in ((images.shape[-2], target[1]), target):
        # Bicubic weights overshoot; image libraries cut the result of each step back to the range of a picture.
        precise = interpolate(precise, size, mode=interpolation, antialias=True).clamp(0, 1)
    return precise.to(images.dtype)
