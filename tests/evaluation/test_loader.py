import dataclasses
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pytest

from mixnorm.benchmarks.datasets import Shift, ShiftedDataset
from mixnorm.benchmarks.datasets.dataset import Indices, Pixels
from mixnorm.errors import DataError
from mixnorm.evaluation.loader import KeptInMemory
from tests.evaluation.small import small_stream

FOG: Shift = ("fog", 5)


class Counting(ShiftedDataset):
    """Counts how often each image is read."""

    def __init__(self) -> None:
        super().__init__("counting", np.zeros(10, np.int64), ("a",), ("fog", "snow"))
        self.reads: list[tuple[Shift, int]] = []
        self.fingerprints = 0

    def indices_of(self, shift: Shift) -> Indices:
        return np.arange(10)

    def images(self, indices: npt.ArrayLike, shift: Shift) -> Pixels:
        places = np.asarray(indices).tolist()
        self.reads += [(shift, place) for place in places]
        level = 100 if shift == FOG else 0
        return np.stack([np.full((2, 2, 3), place + level, np.uint8) for place in places])

    def fingerprint(self, used: Mapping[Shift, Indices]) -> str:
        self.fingerprints += 1
        return f"{sorted(used)} {[indices.tolist() for indices in used.values()]}"


def test_each_image_is_read_once() -> None:
    data = Counting()
    kept = KeptInMemory(data)
    for indices in ([3, 1], [1, 2, 3], [3, 3]):
        assert kept.images(indices, FOG)[:, 0, 0, 0].tolist() == [100 + index for index in indices]
    assert kept.images([1], ("snow", 5))[0, 0, 0, 0] == 1
    assert data.reads == [(FOG, 3), (FOG, 1), (FOG, 2), (("snow", 5), 1)]


def test_what_has_no_room_is_read_again() -> None:
    data = Counting()
    kept = KeptInMemory(data, room=12)
    for _ in range(2):
        assert kept.images([0, 1], FOG)[:, 0, 0, 0].tolist() == [100, 101]
    assert data.reads == [(FOG, 0), (FOG, 1), (FOG, 1)]


def test_the_fingerprint_is_that_of_the_use() -> None:
    data = Counting()
    kept = KeptInMemory(data)
    uses = [{FOG: np.array([1, 2])}, {FOG: np.array([1, 3])}, {FOG: np.array([1, 2])}]
    assert [kept.fingerprint(use) for use in uses] == [data.fingerprint(use) for use in uses]
    assert data.fingerprints == 2 + 3


@pytest.mark.parametrize("order", ["mixed", "single"])
def test_a_stream_is_the_same_from_memory(order: str) -> None:
    stream = small_stream(order=order)
    kept = dataclasses.replace(stream, data=KeptInMemory(stream.data))
    assert kept.fingerprint() == stream.fingerprint()
    for _ in range(2):
        for ours, theirs in zip(kept.batches(7), stream.batches(7), strict=True):
            assert (ours.images == theirs.images).all()
            assert ours.shifts == theirs.shifts


def test_images_of_different_sizes_are_refused_as_often_as_they_are_asked_for() -> None:
    class Sizes(ShiftedDataset):
        """Two images, of which the second is larger."""

        def __init__(self) -> None:
            super().__init__("sizes", np.zeros(2, np.int64), ("a",), ("fog",))

        def indices_of(self, shift: Shift) -> Indices:
            return np.arange(2)

        def images(self, indices: npt.ArrayLike, shift: Shift) -> Pixels:
            (index,) = np.asarray(indices).tolist()
            return np.zeros((1, 8 + index, 8, 3), np.uint8)

        def fingerprint(self, used: object) -> str:
            return "sizes"

    kept = KeptInMemory(Sizes())
    for index in (0, 1):
        kept.images([index], ("fog", 5))
    with pytest.raises(DataError, match="sizes has images of different sizes"):
        kept.images([0, 1], ("fog", 5))
