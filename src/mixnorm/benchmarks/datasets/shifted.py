"""Data sets under shifts: which images exist under which corruption and severity, and how to get them."""

import contextlib
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from mixnorm.benchmarks.corruptions import CORRUPTIONS, EXTRA_CORRUPTIONS, Scale, corrupt
from mixnorm.benchmarks.corruptions.severities import check_scale
from mixnorm.benchmarks.datasets.dataset import CLEAN, Dataset, Indices, Pixels, Shift, checked_indices, checked_labels
from mixnorm.errors import DataError


class ShiftedDataset(ABC):
    """Images by index and shift; `labels` and `class_names` are those of the images, whatever their shift.

    `corruptions` are the names it has; an image keeps its index under all of them.
    """

    def __init__(self, name: str, labels: Indices, class_names: tuple[str, ...], corruptions: tuple[str, ...]) -> None:
        self.name = name
        self.labels = checked_labels(name, labels, len(class_names))
        self.class_names = class_names
        self.corruptions = corruptions

    @abstractmethod
    def indices_of(self, shift: Shift) -> Indices:
        """Return the images that exist under a shift, in increasing order; raise `DataError` where something lacks."""

    def own_severities(self, corruption: str) -> tuple[int, ...] | None:
        """Return the severities that images of a corruption have, each its own; None where each image has all."""
        return None

    @abstractmethod
    def images(self, indices: npt.ArrayLike, shift: Shift) -> Pixels:
        """Return images under a shift as uint8 RGB of shape (n, H, W, 3)."""

    @abstractmethod
    def fingerprint(self, used: Mapping[Shift, Indices]) -> str:
        """Return a hash of the content of the images that are used under each shift, and of their labels."""


class AsStored(ShiftedDataset):
    """A data set as it is: each image under its own shift, or clean where it has none.

    >>> from mixnorm.benchmarks.datasets import load_dataset
    >>> AsStored(load_dataset("digits")).corruptions
    ('clean',)
    """

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        shifts = dataset.shifts or (CLEAN,) * len(dataset)
        corruptions = tuple(dict.fromkeys(name for name, _ in shifts))
        super().__init__(dataset.name, dataset.labels, dataset.class_names, corruptions)
        self._members: dict[Shift, list[int]] = {}
        for index, shift in enumerate(shifts):
            self._members.setdefault(shift, []).append(index)

    def indices_of(self, shift: Shift) -> Indices:
        """Return the images that have this shift."""
        if shift not in self._members:
            others = list(self.own_severities(shift[0]))
            raise DataError(f"{self.name} has no {shift[0]} of severity {shift[1]}; it has severities {others}")
        return np.array(self._members[shift], dtype=np.int64)

    def own_severities(self, corruption: str) -> tuple[int, ...]:
        """Return the severities that the images of a corruption are stored with."""
        return tuple(sorted(severity for name, severity in self._members if name == corruption))

    def images(self, indices: npt.ArrayLike, shift: Shift) -> Pixels:
        """Return the images as they are stored."""
        return self._dataset.images(indices)

    def fingerprint(self, used: Mapping[Shift, Indices]) -> str:
        """Return the hash of the whole data set."""
        return self._dataset.fingerprint()


class CorruptedOnTheFly(ShiftedDataset):
    """A clean data set whose images are corrupted when they are asked for, the same way each time.

    All randomness of an image comes from the seed, the shift and its index. `scale` chooses the published constants for
    32 px (`"small"`) or 224 px (`"large"`); by default the data set's preference, else the size of the images does.
    """

    def __init__(self, dataset: Dataset, *, seed: int, scale: Scale | None = None) -> None:
        if scale is not None:
            check_scale(scale)
        corruptions = (*CORRUPTIONS, *EXTRA_CORRUPTIONS)
        super().__init__(f"{dataset.name}-c", dataset.labels, dataset.class_names, corruptions)
        self._dataset = dataset
        self._seed = seed
        self._scale = scale or dataset.preferred_scale

    def indices_of(self, shift: Shift) -> Indices:
        """Return all images: each exists under each shift."""
        return np.arange(len(self.labels), dtype=np.int64)

    def images(self, indices: npt.ArrayLike, shift: Shift) -> Pixels:
        """Return the images after the corruption."""
        identities = checked_indices(self.name, indices, len(self.labels))
        clean = self._dataset.images(identities)
        return corrupt(clean, *shift, seed=self._seed, indices=identities, scale=self._scale)

    def fingerprint(self, used: Mapping[Shift, Indices]) -> str:
        """Return a hash of the clean data set, the seed, and of what each shift makes of its first readable image.

        So it changes with the generator's code and with the frost photographs that are installed.
        """
        digest = hashlib.sha256(f"{self._dataset.fingerprint()} {self._seed}".encode())
        example = self._first_readable()
        for shift in sorted(used):
            digest.update(f"{shift} ".encode())
            digest.update(self.images([example], shift).tobytes())
        return digest.hexdigest()

    def _first_readable(self) -> int:
        for index in range(len(self._dataset)):
            with contextlib.suppress(DataError):
                self._dataset.images([index])
                return index
        raise DataError(f"none of the {len(self._dataset)} images of {self._dataset.name} can be read")


def in_published_order(corruptions: Iterable[str]) -> tuple[str, ...]:
    """Return names of corruptions: the published ones in their order, the extra ones, then others by the alphabet."""
    known = (*CORRUPTIONS, *EXTRA_CORRUPTIONS)
    given = set(corruptions)
    return (*(name for name in known if name in given), *sorted(given.difference(known)))
