"""Turning any stored picture into RGB of the size that was asked for."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mixnorm.benchmarks.datasets.dataset import Pixels
from mixnorm.benchmarks.whole_numbers import whole_number
from mixnorm.errors import DataError, SettingError, require

if TYPE_CHECKING:
    from PIL import Image


LONGEST_SIDE = 2**16


@dataclass(frozen=True, kw_only=True)
class Sizing:
    """The shorter side is scaled to `resize`, then the centre square of side `crop` is kept; None leaves out a step.

    Without `crop`, `resize` alone gives squares of that side.

    >>> Sizing(resize=256, crop=224)
    Sizing(resize=256, crop=224)
    """

    resize: int | None = None
    crop: int | None = None

    def __post_init__(self) -> None:
        """Refuse sides that no picture can have."""
        for field, side in (("resize", self.resize), ("crop", self.crop)):
            if side is not None:
                # As Python's own number, so that the hash of a data set does not depend on the type it was given as.
                object.__setattr__(self, field, whole_number(field, side, 1))
                if side > LONGEST_SIDE:
                    raise SettingError(f"{field}={side} is more than the {LONGEST_SIDE} pixels that an image may have")
        if self.resize and self.crop and self.crop > self.resize:
            raise SettingError(f"crop={self.crop} is larger than resize={self.resize}; give a smaller crop")

    def __bool__(self) -> bool:
        """Whether it changes anything."""
        return self.resize is not None or self.crop is not None

    def apply(self, image: "Image.Image") -> "Image.Image":
        """Return the picture scaled and cropped."""
        if self.resize is not None:
            scale = self.resize / min(image.size)
            width, height = (max(self.resize, round(side * scale)) for side in image.size)
            image = image.resize((width, height), resample=2)  # 2 is Pillow's bilinear filter, antialiased
        side = self.crop or self.resize
        return image if side is None else _centre(image, side)


class ClipSizing(Sizing):
    """The sizing of CLIP's own transform: bicubic, and with its rounding of sides and margins, pixel for pixel."""

    def apply(self, image: "Image.Image") -> "Image.Image":
        """Return the picture scaled and cropped."""
        if self.resize is None:
            return super().apply(image)
        short = min(image.size)
        width, height = (self.resize * side // short for side in image.size)
        image = image.resize((width, height), resample=3)  # 3 is Pillow's bicubic filter, antialiased
        side = self.crop or self.resize
        left, top = round((width - side) / 2), round((height - side) / 2)
        return image.crop((left, top, left + side, top + side))


def _centre(image: "Image.Image", side: int) -> "Image.Image":
    width, height = image.size
    if min(width, height) < side:
        raise DataError(f"a picture of {width} x {height} has no centre square of side {side}; give resize= as well")
    left, top = (width - side) // 2, (height - side) // 2
    return image.crop((left, top, left + side, top + side))


def to_rgb(pixels: npt.NDArray[np.uint8]) -> Pixels:
    """Return stored pixels as RGB: grey is repeated three times, an alpha channel is dropped.

    >>> to_rgb(np.zeros((2, 8, 8), np.uint8)).shape
    (2, 8, 8, 3)
    """
    if pixels.ndim == 3:
        pixels = pixels[..., None]
    if pixels.shape[-1] == 1:
        return np.repeat(pixels, 3, axis=-1)
    return np.ascontiguousarray(pixels[..., :3])


def resized(pixels: Pixels, sizing: Sizing) -> Pixels:
    """Return a batch of RGB arrays after `sizing`."""
    if not sizing or not len(pixels):
        return pixels
    pillow = require("PIL.Image", "benchmarks")
    return np.stack([np.asarray(sizing.apply(pillow.fromarray(picture))) for picture in pixels])
