"""Small sources of images for the tests of corrupted copies."""

from pathlib import Path

import numpy as np
from PIL import Image

from tests.benchmarks.corruptions.images import scenes


def image_folder(root: Path, count: int = 3, side: int = 32) -> Path:
    """Make two class folders of JPEG and PNG files, one of them grey and one with an alpha channel."""
    for label, images in (("cat", scenes(count, side, side)), ("dog", scenes(count + 1, side, side))):
        (root / label).mkdir(parents=True)
        for number, pixels in enumerate(images):
            Image.fromarray(pixels).save(root / label / f"{number}.{'png' if number else 'JPEG'}")
    Image.fromarray(scenes(1, side, side)[0]).convert("L").save(root / "cat" / "grey.png")
    Image.fromarray(scenes(1, side, side)[0]).convert("RGBA").save(root / "dog" / "alpha.png")
    return root


def npz_file(path: Path, count: int = 10) -> Path:
    """Make an .npz of images and labels."""
    np.savez(path, x=scenes(count), y=np.arange(count) % 3)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    """Read all files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
