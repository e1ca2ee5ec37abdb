"""The pictures that `frost` lays over images: photographs where they are installed, drawn ones otherwise."""

from functools import cache, lru_cache
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image

from mixnorm.benchmarks.corruptions.linear import smooth, streak
from mixnorm.benchmarks.corruptions.pixels import Bytes, Floats, to_bytes
from mixnorm.benchmarks.corruptions.plasma import plasma

# The published generator comes with six photographs and draws from the first five.
_PHOTOGRAPHS = ("frost1.png", "frost2.png", "frost3.png", "frost4.jpg", "frost5.jpg")
# Drawn frost, from pale to dark, as much of it pale as among the photographs: (mean colour, contrast) of each picture.
_TINTS = (
    ((200, 205, 215), 22),
    ((200, 205, 215), 22),
    ((140, 150, 165), 28),
    ((110, 125, 135), 42),
    ((80, 150, 165), 20),
)
_SIDE = 512
# Needles that come from beyond the border are cut off.
_INNER = slice(40, -40)
_ANGLES = 24
_DENSITY = 0.0006


def frost_source() -> Literal["photographs", "drawn"]:
    """Say which pictures `frost` uses: photographs of the package `imagecorruptions` if installed, or drawn ones."""
    return "photographs" if _photograph_paths() else "drawn"


@lru_cache(maxsize=8)
def frost_pictures(stride: int, height: int, width: int) -> tuple[Bytes, ...]:
    """Return every `stride`-th pixel of the pictures, enlarged if they are smaller than `height` x `width`."""
    pictures = [_read(path) for path in _photograph_paths()] or _drawn()
    first = stride // 2
    return tuple(_at_least(picture[first::stride, first::stride], height, width) for picture in pictures)


def _photograph_paths() -> list[Path]:
    """Locate the photographs without importing the package, whose code fails beside a current numpy."""
    package = find_spec("imagecorruptions")
    folders = list(package.submodule_search_locations or ()) if package else []
    paths = [Path(folder, "frost", name) for folder in folders for name in _PHOTOGRAPHS]
    return paths if paths and all(path.is_file() for path in paths) else []


def _read(path: Path) -> Bytes:
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


def _at_least(picture: Bytes, height: int, width: int) -> Bytes:
    factor = max(height / len(picture), width / picture.shape[1])
    if factor <= 1:
        return picture
    size = (ceil(factor * picture.shape[1]), ceil(factor * len(picture)))
    return np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.BILINEAR))


@cache
def _drawn() -> list[Bytes]:
    """Draw needles of ice on a cloudy pane, once per tint; the needles are the same, turned."""
    random = np.random.default_rng(0)
    needles = _standardised(_needles(random))
    clouds = plasma(random.uniform(-1, 1, (len(_TINTS), _SIDE, _SIDE)).astype(np.float32), 1.3)
    panes = [_standardised(cloud) + np.rot90(needles, turns) for turns, cloud in enumerate(clouds)]
    return [
        to_bytes(colour + contrast * _standardised(pane[_INNER, _INNER])[..., None])
        for pane, (colour, contrast) in zip(panes, _TINTS, strict=True)
    ]


def _needles(random: np.random.Generator) -> Floats:
    """Draw needles (H, W): sparse grains, each smeared along one of a few directions."""
    grains = np.where(random.uniform(size=(_ANGLES, _SIDE, _SIDE)) < _DENSITY, 255, 0).astype(np.uint8)
    soft = to_bytes(12 * smooth(grains.astype(np.float32), 1.2))
    lines = streak(soft[..., None], random.uniform(0, 360, _ANGLES), radius=20, sigma=14)
    brightest: Floats = lines.max(axis=0)[..., 0]
    return brightest


def _standardised(plane: Floats) -> Floats:
    standard: Floats = (plane - plane.mean()) / plane.std()
    return standard
