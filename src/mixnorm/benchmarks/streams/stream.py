"""A stream: a data set under shifts, in a stated order."""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mixnorm.benchmarks.corruptions.severities import checked_severity
from mixnorm.benchmarks.datasets.dataset import Indices, Shift
from mixnorm.benchmarks.datasets.shifted import ShiftedDataset
from mixnorm.benchmarks.streams.batches import Batch, Reader
from mixnorm.benchmarks.streams.orders import ORDERS, Pool, Samples
from mixnorm.benchmarks.whole_numbers import whole_number
from mixnorm.errors import SettingError, unknown_name

WORKERS = 2


@dataclass(frozen=True, kw_only=True)
class Stream:
    """Samples of a data set under shifts, in an order that these fields alone decide; iterate it as often as needed.

    `limit` is the number of images that take part, chosen by the seed; `severity` is the peak of the order `gradual`,
    and plays no part where images have severities of their own; `concentration` belongs to the order `correlated`. The
    seed decides the order; corruptions made on the fly have theirs in `data`, so that images stay the same.
    `dataclasses.replace(stream, order="single")` changes the order.

    >>> from mixnorm.benchmarks.datasets import load_dataset
    >>> from mixnorm.benchmarks.datasets.shifted import AsStored
    >>> stream = Stream(data=AsStored(load_dataset("digits")), corruptions=("clean",), limit=10)
    >>> [len(batch) for batch in stream.batches(4)]
    [4, 4, 2]
    """

    data: ShiftedDataset
    corruptions: tuple[str, ...]
    order: str = "mixed"
    severity: int = 5
    seed: int = 0
    limit: int | None = None
    concentration: float = 0.1

    def __post_init__(self) -> None:
        """Refuse settings that no stream can have."""
        if not isinstance(self.order, str) or self.order not in ORDERS:
            raise unknown_name("order", self.order, ORDERS)
        if not isinstance(self.data, ShiftedDataset):
            raise SettingError(f"data must be a data set under shifts, got {self.data!r}; load_stream makes streams")
        self._check_corruptions()
        # Numpy's numbers become Python's, so that a description of the stream is plain data.
        object.__setattr__(self, "severity", checked_severity(self.severity))
        object.__setattr__(self, "seed", whole_number("seed", self.seed, 0))
        if self.limit is not None:
            object.__setattr__(self, "limit", whole_number("limit", self.limit, 1))
            self._check_limit(self.limit)
        object.__setattr__(self, "concentration", _positive("concentration", self.concentration))

    def _check_corruptions(self) -> None:
        if not isinstance(self.corruptions, tuple):
            raise SettingError(f"corruptions must be a tuple of names, got {self.corruptions!r}")
        for name in self.corruptions:
            if name not in self.data.corruptions:
                raise unknown_name(f"corruption of {self.data.name}", name, self.data.corruptions)
        if not self.corruptions or len(set(self.corruptions)) < len(self.corruptions):
            raise SettingError(f"corruptions={self.corruptions} must name at least one, and each once")

    def _check_limit(self, limit: int) -> None:
        images = len(self.data.labels)
        if limit > images:
            raise SettingError(f"limit={limit} is more than the {images} images of {self.name}")

    @property
    def name(self) -> str:
        """The data set's name."""
        return self.data.name

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes' names, in the order of the labels."""
        return self.data.class_names

    @property
    def class_count(self) -> int:
        """The number of classes."""
        return len(self.class_names)

    @cached_property
    def samples(self) -> Samples:
        """All samples in order: image, corruption, severity and segment of each."""
        pool = Pool(
            indices_of=self.data.indices_of,
            own_severities=self.data.own_severities,
            labels=self.data.labels,
            corruptions=self.corruptions,
            severity=self.severity,
            seed=self.seed,
            limit=self.limit,
            concentration=self.concentration,
        )
        return ORDERS[self.order](pool)

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.samples)

    @property
    def segments(self) -> tuple[int, ...]:
        """The numbers of the segments, in their order."""
        return tuple(dict.fromkeys(self.samples.segments.tolist()))

    def batches(
        self,
        batch_size: int,
        *,
        segment: int | None = None,
        workers: int = WORKERS,
        unreadable: list[str] | None = None,
    ) -> Iterator[Batch]:
        """Return an iterator over all samples in order, `batch_size` at a time, fewer at the end of a segment.

        With a `segment` it is over the samples of that one alone. Threads read a bounded number of samples ahead. An
        image that cannot be read raises `DataError`; with a list for `unreadable` it is left out and noted there
        instead, so that a long job can go on and report it at its end.
        """
        size, threads = whole_number("batch_size", batch_size, 1), whole_number("workers", workers, 1)
        samples = self.samples
        if segment is not None:
            if segment not in self.segments:
                raise unknown_name("segment", segment, map(str, self.segments))
            samples = samples.take(np.flatnonzero(samples.segments == segment))
        return Reader(self.data, self.corruptions, unreadable).batches(samples, size, threads)

    def fingerprint(self) -> str:
        """Return a hash of the content of all samples and of their order."""
        return hashlib.sha256(f"{self.content_fingerprint()} {self.order_fingerprint()}".encode()).hexdigest()

    def content_fingerprint(self) -> str:
        """Return a hash of the content of the images that occur, whatever their order."""
        return self.data.fingerprint(self._used())

    def order_fingerprint(self) -> str:
        """Return a hash of the order: image, corruption, severity and segment of each sample."""
        digest = hashlib.sha256(f"{self.corruptions}".encode())
        for column in vars(self.samples).values():
            digest.update(column.astype("<i8").tobytes())
        return digest.hexdigest()

    def _used(self) -> dict[Shift, Indices]:
        """Return the images that occur under each shift, in increasing order."""
        samples = self.samples
        used: dict[Shift, Indices] = {}
        for number, name in enumerate(self.corruptions):
            for severity in np.unique(samples.severities[samples.corruptions == number]).tolist():
                rows = (samples.corruptions == number) & (samples.severities == severity)
                used[name, severity] = np.unique(samples.indices[rows])
        return used

    def describe(self) -> dict[str, object]:
        """Return the settings as plain data, for a record."""
        return {
            "name": self.name,
            "order": self.order,
            "severity": self.severity,
            "corruptions": list(self.corruptions),
            "seed": self.seed,
            "limit": self.limit,
            "concentration": self.concentration if self.order == "correlated" else None,
        }


def _positive(name: str, value: object) -> float:
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        number = value.item() if isinstance(value, np.generic) else value
        if 0 < number < math.inf:
            return number
    raise SettingError(f"{name} must be a positive number, got {value!r}")
