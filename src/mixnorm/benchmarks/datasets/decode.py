"""Reading image files as RGB arrays."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mixnorm.benchmarks.datasets.dataset import Pixels
from mixnorm.benchmarks.datasets.sizing import Sizing
from mixnorm.errors import DataError, require

if TYPE_CHECKING:
    from PIL import Image

SUFFIXES = frozenset({".bmp", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"})


def decode(path: Path, sizing: Sizing) -> Pixels:
    """Return one image file as uint8 RGB: grey is repeated, a palette is looked up, an alpha channel is dropped.

    Of 16 bits the upper 8 are kept, which is what Pillow does with colours. Pixels stay as they are stored: a camera's
    note that the picture be turned (EXIF) is ignored, as in torchvision's image folders.
    """
    with _opened(path) as image:
        return np.asarray(sizing.apply(_rgb(image)))


def _rgb(image: "Image.Image") -> "Image.Image":
    if image.format == "PNG" and image.mode.startswith("I;16"):
        # Pillow would clip grey values above 255 to white.
        upper = (np.asarray(image) >> 8).astype(np.uint8)
        return require("PIL.Image", "benchmarks").fromarray(upper).convert("RGB")  # type: ignore[no-any-return]
    if image.mode[0] in "IF":
        raise DataError(f"it has more than 8 bits per channel (mode {image.mode}); store it with 8")
    return image.convert("RGB")


def decode_all(paths: Sequence[Path], sizing: Sizing) -> Pixels:
    """Return image files as one array; they must come out at one size."""
    pictures = [decode(path, sizing) for path in paths]
    for path, picture in zip(paths, pictures, strict=True):
        if picture.shape != pictures[0].shape:
            raise DataError(_two_sizes(paths[0], pictures[0].shape[1::-1], path, picture.shape[1::-1]))
    return np.stack(pictures) if pictures else np.empty((0, 0, 0, 3), np.uint8)


def check_same_size(paths: Sequence[Path]) -> None:
    """Raise `DataError`, naming two files, unless all images have one size; only their headers are read."""
    sizes = [_size(path) for path in paths]
    for path, size in zip(paths, sizes, strict=True):
        if size != sizes[0]:
            raise DataError(_two_sizes(paths[0], sizes[0], path, size))


def _size(path: Path) -> tuple[int, ...]:
    with _opened(path) as image:
        return image.size


@contextmanager
def _opened(path: Path) -> Iterator["Image.Image"]:
    """Open an image file; whatever goes wrong with it names the file."""
    pillow = require("PIL.Image", "benchmarks")
    try:
        with pillow.open(path) as image:
            yield image
    # What Pillow raises for bytes that are no image, cut short, or inconsistent; DataError is a ValueError.
    except (OSError, SyntaxError, ValueError, pillow.DecompressionBombError) as error:
        raise DataError(f"{path} cannot be read as an image: {error}") from error


def _two_sizes(first: Path, size: tuple[int, ...], other: Path, other_size: tuple[int, ...]) -> str:
    return (
        f"images of different sizes: {first} is {size[0]} x {size[1]}, {other} is {other_size[0]} x {other_size[1]}; "
        f"give resize= to bring them to one"
    )
