"""The layout of ImageNet-C: `<corruption>/<severity>/<class>/<file>`, each a JPEG."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from mixnorm.benchmarks.corrupted_copies.layout import CopyLayout, Unit
from mixnorm.benchmarks.datasets import Dataset
from mixnorm.benchmarks.datasets.files import FileDataset
from mixnorm.benchmarks.datasets.provenance import class_folder_name
from mixnorm.errors import DataError
from mixnorm.files import written_whole

QUALITY = 85  # ImageNet-C's
_JPEG_SUFFIXES = (".jpg", ".jpeg")


class FolderLayout(CopyLayout):
    """One file per image, corruption and severity; an image that fails leaves out only its own files."""

    def __init__(self, output: Path, dataset: Dataset, kept: npt.NDArray[np.int64]) -> None:
        super().__init__(output, dataset, kept)
        self._names = _file_names(dataset)

    def begin(self, name: str) -> None:
        """Remove what a run that was killed has left half-written; folders are made with their first file."""
        for part in (self.output / name).rglob(".*.part"):
            part.unlink()

    def has(self, unit: Unit, severity: int) -> bool:
        """Whether the files of all images of the unit are there."""
        return all(path.exists() for path in self._paths(unit, severity))

    def write(self, unit: Unit, severity: int, images: npt.NDArray[np.uint8]) -> None:
        """Write each image to its own file, unless it is there."""
        for path, image in zip(self._paths(unit, severity), images, strict=True):
            if path.exists():
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            with written_whole(path) as part:
                Image.fromarray(image).save(part, "JPEG", quality=QUALITY, optimize=True)

    def finish(self, name: str, *, complete: bool) -> None:
        """Need nothing: every file is final."""

    def _paths(self, unit: Unit, severity: int) -> list[Path]:
        tree = self.output / unit.name / str(severity)
        return [tree / self._names[index] for index in self.kept[unit.start : unit.stop]]


def _file_names(dataset: Dataset) -> list[str]:
    """Name `<class>/<file>` of each image, no two of them alike."""
    folders = _distinct(dataset, [class_folder_name(each) for each in dataset.class_names], dataset.class_names)
    for label in np.unique(dataset.labels):
        if not folders[label] or folders[label].startswith(".") or "\0" in folders[label]:
            raise DataError(f"{dataset.name} has a class named {folders[label]!r}, which is no folder; rename it")
    files = [f"{folders[label]}/{_file_name(dataset, index)}" for index, label in enumerate(dataset.labels)]
    return _distinct(dataset, files, dataset.paths if isinstance(dataset, FileDataset) else files)


def _distinct(dataset: Dataset, names: list[str], made_of: Sequence[object]) -> list[str]:
    """Return the names, or raise if two are alike: one would take the place of the other."""
    first: dict[str, int] = {}
    for place, name in enumerate(names):
        other = first.setdefault(name, place)
        if other != place:
            both = f"{str(made_of[other])!r} and {str(made_of[place])!r}"
            raise DataError(f"in copies of {dataset.name}, {both} would both be {name}; rename one of them")
    return names


def _file_name(dataset: Dataset, index: int) -> str:
    """Name the copies of an image: its own name where it is a file, its index otherwise."""
    if not isinstance(dataset, FileDataset):
        return f"{index:08d}.jpg"
    path = dataset.paths[index]
    # Two files may differ in their suffix alone, so a foreign suffix stays part of the name.
    return path.name if path.suffix.lower() in _JPEG_SUFFIXES else f"{path.name}.jpg"
