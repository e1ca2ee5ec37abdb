import threading
import time
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mixnorm.benchmarks.datasets.dataset import Indices, Pixels, Shift
from mixnorm.benchmarks.datasets.shifted import ShiftedDataset
from mixnorm.benchmarks.streams import Stream
from mixnorm.benchmarks.streams.batches import READ_AT_ONCE, Batch, spans
from mixnorm.errors import DataError, SettingError

NAMES = ("fog", "snow", "frost")


class Numbered(ShiftedDataset):
    """Images that show their own index, corruption and severity; some cannot be read; reading is counted."""

    def __init__(self, count: int, broken: tuple[int, ...] = (), wide: tuple[int, ...] = ()) -> None:
        super().__init__("numbered", np.arange(count, dtype=np.int64) % 3, ("a", "b", "c"), NAMES)
        self.broken, self.wide = broken, wide
        self.read = 0
        self.lock = threading.Lock()

    def indices_of(self, shift: Shift) -> Indices:
        return np.arange(len(self.labels), dtype=np.int64)

    def images(self, indices: npt.ArrayLike, shift: Shift) -> Pixels:
        numbers = np.asarray(indices)
        with self.lock:
            self.read += len(numbers)
        if bad := set(numbers.tolist()) & set(self.broken):
            raise DataError(f"image {min(bad)} under {shift} is broken")
        sides = {5 if number in self.wide else 4 for number in numbers.tolist()}
        if len(sides) > 1:
            raise DataError("images of different sizes")
        side = sides.pop()
        pictures = np.zeros((len(numbers), side, side, 3), np.uint8)
        pictures[:, 0, 0, 0] = numbers % 256
        pictures[:, 0, 0, 1] = numbers // 256
        pictures[:, 0, 0, 2] = 10 * NAMES.index(shift[0]) + shift[1]
        return pictures

    def fingerprint(self, used: Mapping[Shift, Indices]) -> str:
        return "numbered"


def make_stream(data: Numbered, order: str = "mixed") -> Stream:
    return Stream(data=data, corruptions=NAMES, order=order)


def shown(batch: Batch) -> list[tuple[int, Shift]]:
    values = (batch.images[:, :, 0, 0] * 255).round().long().tolist()
    return [(low + 256 * high, (NAMES[mark // 10], mark % 10)) for low, high, mark in values]


def told(batch: Batch) -> list[tuple[int, Shift]]:
    return list(zip(batch.indices.tolist(), batch.shifts, strict=True))


@pytest.mark.parametrize("order", ["single", "mixed", "mixed-all", "gradual", "continual", "correlated"])
def test_each_image_is_the_one_that_is_told(order: str) -> None:
    data = Numbered(300)
    total = 0
    for batch in make_stream(data, order).batches(70):
        assert shown(batch) == told(batch)
        assert batch.labels.tolist() == [index % 3 for index in batch.indices.tolist()]
        total += len(batch)
    assert total == len(make_stream(data, order))


@settings(deadline=None)
@given(
    batch_size=st.integers(1, 400),
    workers=st.integers(1, 4),
    order=st.sampled_from(["single", "mixed", "mixed-all", "correlated"]),
)
def test_neither_batch_size_nor_workers_change_the_sequence(batch_size: int, workers: int, order: str) -> None:
    stream = make_stream(Numbered(90), order)
    sequence = [pair for batch in stream.batches(7) for pair in shown(batch)]
    assert [pair for batch in stream.batches(batch_size, workers=workers) for pair in shown(batch)] == sequence


def test_types_and_range() -> None:
    batch = next(make_stream(Numbered(20)).batches(8))
    assert (batch.images.dtype, batch.images.shape) == (torch.float32, (8, 3, 4, 4))
    assert batch.images.is_contiguous()
    assert (batch.labels.dtype, batch.indices.dtype) == (torch.int64, torch.int64)
    assert batch.images.min() >= 0
    assert batch.images.max() <= 1
    np.testing.assert_array_equal(batch.images[:, 0, 0, 0].numpy(), batch.indices.numpy().astype(np.float32) / 255)


@pytest.mark.parametrize("order", ["single", "gradual", "correlated"])
def test_a_batch_never_crosses_a_segment(order: str) -> None:
    batches = list(make_stream(Numbered(50), order).batches(32))
    for batch in batches:
        assert {name for name, _ in batch.shifts} == {NAMES[batch.segment]}
    assert sorted({batch.segment for batch in batches}) == [0, 1, 2]


def test_a_batch_of_a_continual_stream_may_hold_two_corruptions() -> None:
    batches = list(make_stream(Numbered(50), "continual").batches(32))
    assert {batch.segment for batch in batches} == {0}
    assert [len(batch) for batch in batches] == [32, 32, 32, 32, 22]
    assert len({name for name, _ in batches[1].shifts}) == 2


@settings(deadline=None)
@given(st.lists(st.integers(1, 20), min_size=1, max_size=6), st.integers(1, 25))
def test_spans_cover_each_segment_in_order(lengths: list[int], batch_size: int) -> None:
    segments = np.repeat(np.arange(len(lengths)), lengths)
    found = list(spans(segments, batch_size))
    assert [place for start, stop in found for place in range(start, stop)] == list(range(sum(lengths)))
    for start, stop in found:
        assert 0 < stop - start <= batch_size
        assert len(set(segments[start:stop].tolist())) == 1


def test_only_a_bounded_number_of_samples_is_read_ahead() -> None:
    data = Numbered(5000)
    batches = make_stream(data).batches(1, workers=2)
    next(batches)
    time.sleep(0.05)
    assert data.read <= 4 * READ_AT_ONCE
    batches.close()  # type: ignore[attr-defined]
    assert threading.active_count() < 10


def test_a_stream_can_be_iterated_again_and_side_by_side() -> None:
    stream = make_stream(Numbered(200))
    first, second = stream.batches(9), stream.batches(9)
    for one, other in zip(first, second, strict=True):
        assert told(one) == told(other)
    assert len(list(stream.batches(9))) == 23


def test_a_broken_image_is_named() -> None:
    with pytest.raises(DataError, match=r"image 3 under .* is broken"):
        list(make_stream(Numbered(30, broken=(3,))).batches(4))


def test_broken_images_can_be_left_out_and_reported_at_the_end() -> None:
    broken = (3, 17, 250)
    stream = make_stream(Numbered(300, broken=broken))
    unreadable: list[str] = []
    kept = [pair for batch in stream.batches(16, unreadable=unreadable) for pair in shown(batch)]
    whole = [pair for batch in make_stream(Numbered(300)).batches(16) for pair in shown(batch)]
    assert kept == [(index, shift) for index, shift in whole if index not in broken]
    assert [int(each.split()[1]) for each in unreadable] == [index for index, _ in whole if index in broken]


def test_a_batch_of_broken_images_only_is_not_yielded() -> None:
    stream = make_stream(Numbered(5, broken=(0, 1, 2, 3, 4)))
    unreadable: list[str] = []
    assert list(stream.batches(2, unreadable=unreadable)) == []
    assert len(unreadable) == 5


def test_images_of_different_sizes_are_named() -> None:
    stream = make_stream(Numbered(4, wide=(2,)))
    with pytest.raises(DataError, match=r"different sizes: number \d is . x ., number \d is . x .; give resize="):
        list(stream.batches(4))


@pytest.mark.parametrize(
    "sizes", [{"batch_size": 0}, {"batch_size": 2.5}, {"batch_size": True}, {"batch_size": 4, "workers": 0}]
)
def test_impossible_settings_are_refused_at_once(sizes: dict[str, int]) -> None:
    with pytest.raises(SettingError, match="must be a whole number of 1 or more"):
        make_stream(Numbered(4)).batches(**sizes)  # type: ignore[arg-type]


@pytest.mark.parametrize("batch_size", [1, 4, 50])
@pytest.mark.parametrize("wide", [(2,), (0, 7)])
def test_images_of_another_size_can_be_left_out_and_reported_at_the_end(batch_size: int, wide: tuple[int, ...]) -> None:
    stream = make_stream(Numbered(90, wide=wide))
    unreadable: list[str] = []
    kept = [pair for batch in stream.batches(batch_size, unreadable=unreadable) for pair in shown(batch)]
    whole = [pair for batch in make_stream(Numbered(90)).batches(batch_size) for pair in shown(batch)]
    assert kept == [(index, shift) for index, shift in whole if index not in wide]
    assert len(unreadable) == len(wide)
    assert all("is 5 x 5; give resize=" in each for each in unreadable)


def test_images_of_different_sizes_are_named_though_they_never_meet_in_a_batch() -> None:
    with pytest.raises(DataError, match="different sizes"):
        list(make_stream(Numbered(4, wide=(2,))).batches(1))
