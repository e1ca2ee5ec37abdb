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
CIFAR10_FOLDER = "cifar-10-batches-bin"
CIFAR10_FILES = {
    "test": ("test_batch.bin",),
    "train": tuple(f"data_batch_{number}.bin" for number in range(1, 6)),
}


def load_cifar10(split: str, sizing: Sizing, data_dir: Path | None) -> ArrayDataset:
    """Return CIFAR-10: 50,000 training and 10,000 test images of 32 px."""
    files = [find("cifar10", f"{CIFAR10_FOLDER}/{file}", data_dir) for file in CIFAR10_FILES[split]]
    names = find("cifar10", f"{CIFAR10_FOLDER}/batches.meta.txt", data_dir).read_text().split()
    return ArrayDataset("cifar10", *_read(files, label_bytes=1), tuple(names), sizing=sizing)


def load_cifar100(split: str, sizing: Sizing, data_dir: Path | None) -> ArrayDataset:
    """Return CIFAR-100 with its 100 fine labels."""
    file = find("cifar100", f"cifar-100-binary/{split}.bin", data_dir)
    names = find("cifar100", "cifar-100-binary/fine_label_names.txt", data_dir).read_text().split()
    # A record has the coarse label, then the fine one.
    return ArrayDataset("cifar100", *_read([file], label_bytes=2), tuple(names), sizing=sizing)


def _read(paths: Sequence[Path], label_bytes: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    records = np.concatenate([_records(path, label_bytes + PIXELS) for path in paths])
    channels_first = records[:, label_bytes:].reshape(-1, 3, 32, 32)
    return channels_first.transpose(0, 2, 3, 1), records[:, label_bytes - 1]


def _records(path: Path, length: int) -> npt.NDArray[np.uint8]:
    content = np.fromfile(path, dtype=np.uint8)
    if content.size == 0 or content.size % length:
        raise DataError(f"{path} has {content.size:,} bytes, not a multiple of {length:,}; download it again")
    return content.reshape(-1, length)
