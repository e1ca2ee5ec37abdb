"""STL-10 in its binary version: each image as channels, columns, rows."""

from pathlib import Path

import numpy as np

from mixnorm.benchmarks.datasets.arrays import ArrayDataset
from mixnorm.benchmarks.datasets.fetch import find
from mixnorm.benchmarks.datasets.sizing import Sizing
from mixnorm.errors import DataError

SIDE = 96


def load_stl10(split: str, sizing: Sizing, data_dir: Path | None) -> ArrayDataset:
    """Return STL-10: 5,000 training and 8,000 test images of 96 px, memory-mapped."""
    path = find("stl10", f"stl10_binary/{split}_X.bin", data_dir)
    names = find("stl10", "stl10_binary/class_names.txt", data_dir).read_text().split()
    labels = np.fromfile(find("stl10", f"stl10_binary/{split}_y.bin", data_dir), dtype=np.uint8).astype(np.int64) - 1
    content = np.memmap(path, dtype=np.uint8, mode="r")
    if content.size % (3 * SIDE * SIDE):
        raise DataError(f"{path} has {content.size:,} bytes, not a whole number of images; download it again")
    pixels = content.reshape(-1, 3, SIDE, SIDE).transpose(0, 3, 2, 1)
    return ArrayDataset("stl10", pixels, labels, tuple(names), sizing=sizing)
