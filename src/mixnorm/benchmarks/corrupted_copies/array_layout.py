"""The layout of CIFAR-10-C: `<corruption>.npy` with the images of severity 1, then 2, to 5, and `labels.npy`."""

from io import BytesIO
from math import prod
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mixnorm.benchmarks.corrupted_copies.layout import CopyLayout, Unit
from mixnorm.benchmarks.corruptions import SEVERITIES
from mixnorm.benchmarks.datasets import Dataset
from mixnorm.files import write_whole


class ArrayLayout(CopyLayout):
    """One array per corruption, which appears when all of it is written."""

    def __init__(self, output: Path, dataset: Dataset, kept: npt.NDArray[np.int64]) -> None:
        super().__init__(output, dataset, kept)
        shape = (len(SEVERITIES) * len(kept), *dataset.images(kept[:1]).shape[1:])
        self._header = _header(shape)
        self._size = len(self._header) + prod(shape)

    def begin(self, name: str) -> None:
        """Write the labels, five times over, and the header of the array."""
        labels, path = _npy(np.tile(self.dataset.labels[self.kept], len(SEVERITIES))), self.output / "labels.npy"
        if not path.exists() or path.read_bytes() != labels:
            write_whole(path, labels)
        if not self._is_made(name):
            self._part(name).write_bytes(self._header)

    def has(self, unit: Unit, severity: int) -> bool:
        """Whether the whole array is there."""
        return self._is_made(unit.name)

    def write(self, unit: Unit, severity: int, images: npt.NDArray[np.uint8]) -> None:
        """Write the rows of the unit, not through a memory map: on a full disk that would kill the process."""
        row = (severity - 1) * len(self.kept) + unit.start
        with self._part(unit.name).open("r+b") as file:
            file.seek(len(self._header) + row * images[0].nbytes)
            file.write(images.tobytes())

    def finish(self, name: str, *, complete: bool) -> None:
        """Give the array its name if all of it was written."""
        part = self._part(name)
        if complete and part.exists():
            part.replace(self._path(name))
        part.unlink(missing_ok=True)

    def _is_made(self, name: str) -> bool:
        """Whether the array is there with all its rows; with a mended image there are more rows than before."""
        path = self._path(name)
        return path.exists() and path.stat().st_size == self._size

    def _path(self, name: str) -> Path:
        return self.output / f"{name}.npy"

    def _part(self, name: str) -> Path:
        """Name the file in which the array gathers, one for all workers."""
        return self.output / f".{name}.npy.part"


def _npy(array: npt.NDArray[np.int64]) -> bytes:
    file = BytesIO()
    np.save(file, array)
    return file.getvalue()


def _header(shape: tuple[int, ...]) -> bytes:
    header = BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": shape})
    return header.getvalue()
