"""Preprocessing that travels inside a model, so that every model takes RGB images as floats in [0, 1]."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from mixnorm.errors import SettingError

Channels = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class Preprocessing:
    """What a network expects of its input: `(image - mean) / std`, after a bicubic resize and crop to `size` if given.

    >>> print(Preprocessing(mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5)))
    mean 0.5 0.5 0.5, std 0.5 0.5 0.5
    """

    mean: Channels = (0.0, 0.0, 0.0)
    std: Channels = (1.0, 1.0, 1.0)
    size: int | None = None

    def __post_init__(self) -> None:
        """Refuse what no image can be scaled with."""
        if min(self.std) <= 0 or (self.size is not None and self.size < 1):
            raise SettingError(f"std={self.std} and size={self.size} must be above zero")

    def __str__(self) -> str:
        """Say it in one line."""
        if self == Preprocessing():
            return "none"
        resize = f"resize and crop to {self.size} px, " if self.size else ""
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
            images = resize_and_crop(images, self.settings.size)
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


def resize_and_crop(images: Tensor, size: int) -> Tensor:
    """Scale the shorter side to `size` (bicubic, antialiased), and cut the middle out."""
    height, width = images.shape[-2:]
    scale = size / min(height, width)
    target = (max(size, int(height * scale)), max(size, int(width * scale)))
    if target != (height, width):
        # Bicubic weights overshoot; image libraries cut the result back to the range of a picture.
        images = interpolate(images, target, mode="bicubic", antialias=True).clamp(0, 1)
    top, left = round((target[0] - size) / 2), round((target[1] - size) / 2)
    return images[..., top : top + size, left : left + size]
