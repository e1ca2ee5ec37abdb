"""Corrupted sets as ImageNet-C stores them: `<corruption>/<severity>/<class>/<file>`."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mixnorm.benchmarks.corruptions import CORRUPTIONS, EXTRA_CORRUPTIONS, SEVERITIES
from mixnorm.benchmarks.datasets.dataset import Indices, Pixels, Shift, checked_indices
from mixnorm.benchmarks.datasets.decode import decode_all
from mixnorm.benchmarks.datasets.fetch import find
from mixnorm.benchmarks.datasets.files_digest import files_digest
from mixnorm.benchmarks.datasets.folder import check_class_count, class_files, class_folders
from mixnorm.benchmarks.datasets.provenance import RECORD, class_folder_name, stored_class_names
from mixnorm.benchmarks.datasets.shifted import ShiftedDataset, in_published_order
from mixnorm.benchmarks.datasets.sizing import Sizing
from mixnorm.errors import DataError


class FolderBenchmark(ShiftedDataset):
    """Image files in one tree per corruption and severity, all with the same names, used at their stored size.

    Classes are numbered in the order of their folders' names; copies that `mixnorm corrupt` made keep the labels of
    their source, also where a class has no images.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self._folder = folder
        shifts = _shifts(folder)
        if not shifts:
            raise DataError(f"{folder} has no folders <corruption>/<severity>/<class>")
        first = _tree(folder, shifts[0])
        class_names = stored_class_names(folder) or tuple(each.name for each in class_folders(first))
        label_of = {class_folder_name(each): label for label, each in enumerate(class_names)}
        self._names = _names(first)
        labels = _labels(folder, self._names, label_of)
        corruptions = in_published_order({corruption for corruption, _ in shifts})
        super().__init__(name, labels, class_names, corruptions)
        self._complete = {shifts[0]}

    def indices_of(self, shift: Shift) -> Indices:
        """Return all images, after checking once that the tree of this shift holds each of them."""
        if shift not in self._complete:
            self._check(shift)
            self._complete.add(shift)
        return np.arange(len(self._names), dtype=np.int64)

    def images(self, indices: npt.ArrayLike, shift: Shift) -> Pixels:
        """Return images of one corruption and severity, decoded from their files."""
        return decode_all(self._paths(shift, checked_indices(self.name, indices, len(self._names))), Sizing())

    def fingerprint(self, used: Mapping[Shift, Indices]) -> str:
        """Return a hash of the names, and thereby labels, and the bytes of the files that are used."""
        paths = [path for shift in sorted(used) for path in self._paths(shift, used[shift])]
        return hashlib.sha256(f"{files_digest(self._folder, paths)} {self.class_names}".encode()).hexdigest()

    def _paths(self, shift: Shift, indices: Indices) -> list[Path]:
        tree = _tree(self._folder, shift)
        return [tree / self._names[index] for index in indices]

    def _check(self, shift: Shift) -> None:
        tree = _tree(self._folder, shift)
        if not tree.is_dir():
            raise DataError(f"{self.name} has no {shift[0]} of severity {shift[1]}: there is no folder {tree}")
        differing = sorted(set(_names(tree)) ^ set(self._names))
        if differing:
            raise DataError(f"{tree} does not hold the images of the other corruptions: see {differing[0]}")


def is_folder_benchmark(folder: Path) -> bool:
    """Whether a folder looks like ImageNet-C."""
    return any(name in (*CORRUPTIONS, *EXTRA_CORRUPTIONS) for name, _ in _shifts(folder))


def load_imagenet_c(data_dir: Path | None) -> FolderBenchmark:
    """Return ImageNet-C out of the data folder; its images are 224 px already."""
    folder = find("imagenet-c", "ImageNet-C", data_dir)
    benchmark = FolderBenchmark("imagenet-c", folder)
    check_class_count(folder, len(benchmark.class_names))
    return benchmark


def _shifts(folder: Path) -> list[Shift]:
    trees = [tree for tree in folder.glob("*/?") if tree.name in map(str, SEVERITIES) and tree.is_dir()]
    return sorted((tree.parent.name, int(tree.name)) for tree in trees)


def _tree(folder: Path, shift: Shift) -> Path:
    return folder / shift[0] / str(shift[1])


def _labels(folder: Path, names: list[str], label_of: Mapping[str, int]) -> Indices:
    try:
        return np.array([label_of[name.split("/")[0]] for name in names], dtype=np.int64)
    except KeyError as error:
        raise DataError(f"{folder} has a class folder {error} that its {RECORD} does not name; delete one") from error


def _names(tree: Path) -> list[str]:
    """Return `<class>/<file>` of each image, which identifies it under all shifts."""
    return [f"{each.name}/{file.name}" for each in class_folders(tree) for file in class_files(each)]
