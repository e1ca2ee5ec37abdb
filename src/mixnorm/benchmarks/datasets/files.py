"""A data set whose images are files."""

import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy.typing as npt

from mixnorm.benchmarks.datasets.dataset import Dataset, Pixels, checked_indices
from mixnorm.benchmarks.datasets.decode import decode_all
from mixnorm.benchmarks.datasets.files_digest import files_digest
from mixnorm.benchmarks.datasets.sizing import Sizing
from mixnorm.errors import DataError


class FileDataset(Dataset):
    """Labelled image files below one folder, decoded when they are asked for."""

    def __init__(
        self,
        name: str,
        root: Path,
        paths: Sequence[Path],
        labels: npt.ArrayLike,
        class_names: tuple[str, ...],
        *,
        sizing: Sizing | None = None,
    ) -> None:
        super().__init__(name, labels, class_names)
        if len(paths) != len(self):
            raise DataError(f"{name} has {len(paths)} image files and {len(self)} labels")
        self.root = root
        self.paths = tuple(paths)
        self._sizing = sizing or Sizing()

    def images(self, indices: npt.ArrayLike) -> Pixels:
        """Return the images at `indices` as uint8 RGB of shape (n, H, W, 3)."""
        wanted = checked_indices(self.name, indices, len(self))
        return decode_all([self.paths[index] for index in wanted], self._sizing)

    def name_of(self, index: int) -> str:
        """Return the path of an image below the folder."""
        return self.paths[index].relative_to(self.root).as_posix()

    def without(self, names: Collection[str]) -> "FileDataset":
        """Return the data set without the images of these names."""
        kept = [index for index in range(len(self)) if self.name_of(index) not in names]
        paths, labels = [self.paths[index] for index in kept], self.labels[kept]
        return FileDataset(self.name, self.root, paths, labels, self.class_names, sizing=self._sizing)

    def fingerprint(self) -> str:
        """Return a hash of the files' names and bytes, the labels and the size asked for."""
        rest = (self.labels.tolist(), self.class_names, self._sizing)
        return hashlib.sha256(f"{files_digest(self.root, self.paths)} {rest}".encode()).hexdigest()
