"""The layout of ImageNet-C: `<corruption>/<severity>/<class>/<file>`, each a JPEG."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from mixnorm.benchmarks.corrupted_copies.layout import CopyLayout, Unit
from mixnorm.benchmarks.datasets import Dataset
from mixnorm.benchmarks.datasets.files import FileDataset
from mixnorm.errors import DataError
from mixnorm.files import written_whole

QUALITY = 85  # ImageNet-C's
_JPEG_SUFFIXES = (".jpg", ".jpeg")


class FolderLayout(CopyLayout):
    """One file per image, corruption and severity; an image that fails leaves out only its own files."""

    def begin(self, name: str) -> None:
        """Need nothing: folders are made with their first file."""

    def has(self, unit: Unit, severity: int) -> bool:
        """Whether the files of all images of the unit are there."""
        return all(path.exists() for path in self._paths(unit, severity))

    def write(self, unit: Unit, severity: int, images: npt.NDArray[np.uint8]) -> None:
        """Write each image to its own file."""
        for path, image in zip(self._paths(unit, severity), images, strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            with written_whole(path) as part:
                Image.fromarray(image).save(part, "JPEG", quality=QUALITY, optimize=True)

    def finish(self, name: str, *, complete: bool) -> None:
        """Need nothing: every file is final."""

    def _paths(self, unit: Unit, severity: int) -> list[Path]:
        tree = self.output / unit.name / str(severity)
        return [tree / _file_name(self.dataset, int(index)) for index in self.kept[unit.start : unit.stop]]


def _file_name(dataset: Dataset, index: int) -> str:
    """Name `<class>/<file>` of an image: its own name where it is a file, its index otherwise."""
    label = dataset.class_names[dataset.labels[index]].replace("/", "_")
    if not label or label.startswith("."):
        raise DataError(f"{dataset.name} has a class named {label!r}, which is no name of a folder; rename it")
    if not isinstance(dataset, FileDataset):
        return f"{label}/{index:08d}.jpg"
    path = dataset.paths[index]
    # Two files may differ in their suffix alone, so a foreign suffix stays part of the name.
    return f"{label}/{path.name if path.suffix.lower() in _JPEG_SUFFIXES else path.name + '.jpg'}"
