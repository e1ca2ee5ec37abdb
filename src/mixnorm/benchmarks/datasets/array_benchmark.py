"""Corrupted sets as CIFAR-10-C stores them: `<corruption>.npy` with its five severities in a row, and `labels.npy`."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mixnorm.benchmarks.corruptions import SEVERITIES
from mixnorm.benchmarks.datasets.arrays import check_pixels, pixels_digest
from mixnorm.benchmarks.datasets.dataset import Indices, Pixels, Shift, checked_indices, numbered_classes
from mixnorm.benchmarks.datasets.fetch import find
from mixnorm.benchmarks.datasets.npy import open_npy
from mixnorm.benchmarks.datasets.provenance import stored_class_names
from mixnorm.benchmarks.datasets.shifted import ShiftedDataset, in_published_order
from mixnorm.benchmarks.datasets.sizing import to_rgb
from mixnorm.errors import DataError, MissingDataError

LABELS = "labels.npy"
CIFAR10_NAMES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


class ArrayBenchmark(ShiftedDataset):
    """Memory-mapped arrays of 5 x N images, one file per corruption, with one file of labels.

    Every file is opened and checked when the benchmark is made; pixels are read when they are asked for.
    """

    def __init__(self, name: str, folder: Path, class_names: tuple[str, ...] | None = None) -> None:
        labels = _labels(folder)
        files = [path.stem for path in folder.glob("*.npy") if path.name != LABELS]
        corruptions = in_published_order(files)
        names = class_names or stored_class_names(folder) or numbered_classes(name, labels)
        super().__init__(name, labels, names, corruptions)
        self._arrays = {each: _open(folder / f"{each}.npy", len(labels)) for each in corruptions}

    def indices_of(self, shift: Shift) -> Indices:
        """Return all images: each is stored under each shift."""
        self._slice(shift)
        return np.arange(len(self.labels), dtype=np.int64)

    def images(self, indices: npt.ArrayLike, shift: Shift) -> Pixels:
        """Return images of one corruption and severity, read from the memory map."""
        return to_rgb(np.asarray(self._slice(shift)[checked_indices(self.name, indices, len(self.labels))]))

    def fingerprint(self, used: Mapping[Shift, Indices]) -> str:
        """Return a hash of all labels and of the stored images that are used."""
        digest = hashlib.sha256(self.labels.tobytes())
        for shift, indices in sorted(used.items()):
            digest.update(f"{shift} {pixels_digest(self._slice(shift), indices).hexdigest()}".encode())
        return digest.hexdigest()

    def _slice(self, shift: Shift) -> npt.NDArray[np.uint8]:
        name, severity = shift
        if name not in self._arrays or severity not in SEVERITIES:
            raise DataError(f"{self.name} has no {name} of severity {severity}; it has 1 to 5 of {self.corruptions}")
        count = len(self.labels)
        return self._arrays[name][(severity - 1) * count : severity * count]


def is_array_benchmark(folder: Path) -> bool:
    """Whether a folder looks like CIFAR-10-C."""
    return (folder / LABELS).exists()


def load_cifar10_c(data_dir: Path | None) -> ArrayBenchmark:
    """Return CIFAR-10-C out of the data folder."""
    return ArrayBenchmark("cifar10-c", find("cifar10-c", "CIFAR-10-C", data_dir), CIFAR10_NAMES)


def load_cifar100_c(data_dir: Path | None) -> ArrayBenchmark:
    """Return CIFAR-100-C out of the data folder; its classes go by their numbers."""
    return ArrayBenchmark("cifar100-c", find("cifar100-c", "CIFAR-100-C", data_dir))


def _labels(folder: Path) -> Indices:
    """Return the labels of the images; the file repeats them once per severity."""
    if not (folder / LABELS).exists():
        raise MissingDataError(f"{folder / LABELS} is missing; it must hold the label of each image, 5 times over")
    stored = np.asarray(open_npy(folder / LABELS))
    if stored.ndim != 1 or stored.dtype.kind not in "iu" or stored.size == 0 or stored.size % len(SEVERITIES):
        raise DataError(f"{folder / LABELS} has shape {stored.shape} and type {stored.dtype}, not 5 x N integers")
    labels, *repetitions = np.split(stored.astype(np.int64), len(SEVERITIES))
    if any((each != labels).any() for each in repetitions):
        raise DataError(f"{folder / LABELS} does not repeat the same labels for each of the 5 severities")
    return labels


def _open(path: Path, count: int) -> npt.NDArray[np.uint8]:
    array = open_npy(path)
    check_pixels(str(path), array)
    if len(array) != len(SEVERITIES) * count:
        raise DataError(f"{path} has {len(array):,} images, but labels.npy has {len(SEVERITIES) * count:,} labels")
    return array
