"""CIFAR-10 and CIFAR-100 in their binary version: records of label bytes and 3,072 bytes of channels, rows, columns."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mixnorm.benchmarks.datasets.arrays import ArrayDataset
from mixnorm.benchmarks.datasets.fetch import find
from mixnorm.benchmarks.datasets.sizing import Sizing
from mixnorm.errors import DataError

PIXELS = 3 * 32 * 32
CIFAR10_FILES = {
    "test": ("test_batch.bin",),
    "train": tuple(f"data_batch_{number}.bin" for number in range(1, 6)),
}


def load_cifar10(split: str, sizing: Sizing, data_dir: Path | None) -> ArrayDataset:
    """Return CIFAR-10: 50,000 training and 10,000 test images of 32 px."""
    folder = find("cifar10", "cifar-10-batches-bin", data_dir)
    pixels, labels = _read([folder / file for file in CIFAR10_FILES[split]], label_bytes=1)
    return ArrayDataset("cifar10", pixels, labels, _names(folder / "batches.meta.txt"), sizing=sizing)


def load_cifar100(split: str, sizing: Sizing, data_dir: Path | None) -> ArrayDataset:
    """Return CIFAR-100 with its 100 fine labels."""
    folder = find("cifar100", "cifar-100-binary", data_dir)
    pixels, labels = _read([folder / f"{split}.bin"], label_bytes=2)  # coarse, then fine
    return ArrayDataset("cifar100", pixels, labels, _names(folder / "fine_label_names.txt"), sizing=sizing)


def _read(paths: Sequence[Path], label_bytes: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    records = np.concatenate([_records(path, label_bytes + PIXELS) for path in paths])
    channels_first = records[:, label_bytes:].reshape(-1, 3, 32, 32)
    return channels_first.transpose(0, 2, 3, 1), records[:, label_bytes - 1]


def _records(path: Path, length: int) -> npt.NDArray[np.uint8]:
    content = np.fromfile(path, dtype=np.uint8)
    if content.size == 0 or content.size % length:
        raise DataError(f"{path} has {content.size:,} bytes, not a multiple of {length:,}; download it again")
    return content.reshape(-1, length)


def _names(path: Path) -> tuple[str, ...]:
    return tuple(path.read_text().split())
