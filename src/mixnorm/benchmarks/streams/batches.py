"""Reading samples ahead of their use, and cutting them into batches."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TypeVar

import numpy as np
import torch

from mixnorm.benchmarks.datasets.dataset import Indices, Pixels, Shift
from mixnorm.benchmarks.datasets.shifted import ShiftedDataset
from mixnorm.benchmarks.streams.orders import Samples
from mixnorm.errors import DataError

READ_AT_ONCE = 64  # samples, whatever the batch size, so that single samples are read as fast as large batches

Item = TypeVar("Item")
Result = TypeVar("Result")
Picture = Pixels | DataError
"""The pixels of an image, or why there are none."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Consecutive samples of a stream.

    `images` are float32 in [0, 1] of shape (n, 3, H, W), `labels` and `indices` int64; `shifts` names each sample's
    corruption and severity, and `segment` counts the runs between which a protocol may reset.
    """

    images: torch.Tensor
    labels: torch.Tensor
    shifts: tuple[Shift, ...]
    indices: torch.Tensor
    segment: int

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.labels)


@dataclass(frozen=True)
class Reader:
    """Reads samples of a data set; with a list for `unreadable` a bad image is noted there and left out."""

    data: ShiftedDataset
    corruptions: tuple[str, ...]
    unreadable: list[str] | None

    def batches(self, samples: Samples, batch_size: int, workers: int) -> Iterator[Batch]:
        """Yield all samples in their order, read by threads a bounded number of samples ahead."""
        starts = range(0, len(samples), READ_AT_ONCE)
        pieces = (samples.take(slice(start, start + READ_AT_ONCE)) for start in starts)
        pictures = self._of_one_size(_ahead(self._read, pieces, workers), samples.indices)
        for start, stop in spans(samples.segments, batch_size):
            readable = dict(self._readable(islice(pictures, stop - start)))
            if readable:
                places = start + np.array(list(readable), dtype=np.intp)
                yield self._batch(samples.take(places), list(readable.values()))

    def _read(self, samples: Samples) -> list[Picture]:
        pictures: dict[int, Picture] = {}
        for shift, rows in self._by_shift(samples).items():
            pictures |= zip(rows, self._read_shift(samples.indices[rows], shift), strict=True)
        return [pictures[row] for row in range(len(samples))]

    def _by_shift(self, samples: Samples) -> dict[Shift, list[int]]:
        groups: dict[Shift, list[int]] = {}
        for row, shift in enumerate(self._shifts(samples)):
            groups.setdefault(shift, []).append(row)
        return groups

    def _shifts(self, samples: Samples) -> tuple[Shift, ...]:
        pairs = zip(samples.corruptions.tolist(), samples.severities.tolist(), strict=True)
        return tuple((self.corruptions[corruption], severity) for corruption, severity in pairs)

    def _read_shift(self, indices: Indices, shift: Shift) -> list[Picture]:
        """Return the images of one shift, with an error in the place of each that cannot be read."""
        try:
            return list(self.data.images(indices, shift))
        except DataError as error:
            if len(indices) == 1:
                return [error]
        return [picture for index in indices for picture in self._read_shift(np.array([index]), shift)]

    def _of_one_size(self, pieces: Iterable[list[Picture]], indices: Indices) -> Iterator[Picture]:
        """Yield the pictures one by one, with an error for each that has not the size that most of the first have."""
        numbers = iter(indices.tolist())
        usual: tuple[int, Pixels] | None = None
        for piece in pieces:
            numbered = list(zip(islice(numbers, len(piece)), piece, strict=True))
            usual = usual or _of_the_usual_size(numbered)
            for number, picture in numbered:
                yield picture if usual is None else self._checked(number, picture, *usual)

    def _checked(self, number: int, picture: Picture, usual: int, example: Pixels) -> Picture:
        if isinstance(picture, DataError) or picture.shape == example.shape:
            return picture
        return DataError(
            f"{self.data.name} has images of different sizes: number {usual} is {example.shape[1]} x "
            f"{example.shape[0]}, number {number} is {picture.shape[1]} x {picture.shape[0]}; "
            f"give resize= to bring them to one"
        )

    def _readable(self, pictures: Iterable[Picture]) -> Iterator[tuple[int, Pixels]]:
        """Yield the pictures that could be read with their places; note the others, or raise."""
        for place, picture in enumerate(pictures):
            if not isinstance(picture, DataError):
                yield place, picture
            elif self.unreadable is None:
                raise picture
            else:
                self.unreadable.append(str(picture))

    def _batch(self, samples: Samples, pictures: list[Pixels]) -> Batch:
        channels_first = torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2)
        return Batch(
            images=channels_first.to(torch.float32, memory_format=torch.contiguous_format).div_(255),
            labels=torch.from_numpy(self.data.labels[samples.indices]),
            shifts=self._shifts(samples),
            indices=torch.from_numpy(samples.indices.copy()),
            segment=int(samples.segments[0]),
        )


def spans(segments: Indices, batch_size: int) -> Iterator[tuple[int, int]]:
    """Yield the first and one past the last sample of each batch; none reaches across two segments.

    >>> list(spans(np.array([0, 0, 0, 1, 1]), 2))
    [(0, 2), (2, 3), (3, 5)]
    """
    boundaries = [0, *(np.flatnonzero(np.diff(segments)) + 1).tolist(), len(segments)]
    for begin, end in pairwise(boundaries):
        for start in range(begin, end, batch_size):
            yield start, min(start + batch_size, end)


def _of_the_usual_size(numbered: Iterable[tuple[int, Picture]]) -> tuple[int, Pixels] | None:
    """Return the first picture of the most frequent size with its number; None where none could be read."""
    readable = [(number, picture) for number, picture in numbered if not isinstance(picture, DataError)]
    sizes = Counter(picture.shape for _, picture in readable)
    return max(readable, key=lambda pair: sizes[pair[1].shape], default=None)


def _ahead(function: Callable[[Item], Result], items: Iterable[Item], workers: int) -> Iterator[Result]:
    """Yield `function(item)` in order, computed by threads at most `workers` items ahead."""
    pending: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) > workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()
