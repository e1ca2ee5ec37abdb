"""What every data set offers: labelled RGB images by index, and a hash of its content."""

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from mixnorm.benchmarks.corruptions import Scale
from mixnorm.errors import DataError, SettingError

Indices = npt.NDArray[np.int64]
Pixels = npt.NDArray[np.uint8]
Shift = tuple[str, int]
"""A corruption's name and its severity."""

CLEAN: Shift = ("clean", 0)
"""The shift of an image that suffers none."""

MOST_CLASSES = 2**20


class Dataset(ABC):
    """Labelled images: `labels` (one number per image), `class_names`, and `images` by index.

    `shifts` names each sample's corruption and severity where the data set comes with them already applied.
    `preferred_scale` chooses the constants of corruptions where the size of the images would choose badly.
    """

    def __init__(
        self,
        name: str,
        labels: npt.ArrayLike,
        class_names: tuple[str, ...],
        shifts: tuple[Shift, ...] | None = None,
        preferred_scale: Scale | None = None,
    ) -> None:
        self.name = name
        self.labels = checked_labels(name, labels, len(class_names))
        self.class_names = class_names
        self.shifts = shifts
        self.preferred_scale = preferred_scale
        if shifts is not None and len(shifts) != len(self.labels):
            raise DataError(f"{name} has {len(self.labels)} labels and {len(shifts)} corruptions")

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.labels)

    def __repr__(self) -> str:
        """Say what it is in one line."""
        return f"{type(self).__name__}({self.name!r}, {len(self)} images, {len(self.class_names)} classes)"

    @abstractmethod
    def images(self, indices: npt.ArrayLike) -> Pixels:
        """Return the images at `indices` as uint8 RGB of shape (n, H, W, 3)."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a hash of the content: images, labels and shifts; equal content gives equal hashes anywhere."""


def checked_labels(name: str, labels: npt.ArrayLike, classes: int) -> Indices:
    """Return labels as int64, or raise `DataError` unless they are one class' number per image."""
    array = np.asarray(labels)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(f"{name} has labels of shape {array.shape} and type {array.dtype}, not one integer per image")
    if array.size == 0:
        raise DataError(f"{name} has no images")
    if array.min() < 0 or array.max() >= classes:
        raise DataError(f"{name} has labels from {array.min()} to {array.max()}, but {classes} classes")
    return array.astype(np.int64)


def checked_indices(name: str, indices: npt.ArrayLike, count: int) -> Indices:
    """Return indices of images as int64, or raise `SettingError` unless each is that of one of `count` images."""
    array = np.asarray(indices)
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= count:
        raise SettingError(f"indices of images of {name} are whole numbers from 0 to {count - 1}, got {indices!r}")
    return array.astype(np.int64)


def numbered_classes(name: str, labels: npt.NDArray[np.generic]) -> tuple[str, ...]:
    """Name classes by their numbers, from 0 to the largest label.

    >>> numbered_classes("own", np.array([2, 0]))
    ('0', '1', '2')
    """
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or labels.size == 0:
        raise DataError(f"{name} has labels of type {labels.dtype} and shape {labels.shape}, not one integer per image")
    largest = int(labels.max())
    if largest >= MOST_CLASSES:
        raise DataError(f"{name} has labels up to {largest}; number its classes 0, 1, 2, ...")
    return tuple(map(str, range(largest + 1)))
