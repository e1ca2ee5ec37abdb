from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixnorm.benchmarks.datasets.dataset import Indices, Shift
from mixnorm.benchmarks.streams.orders import ORDERS, Pool, Samples, by_dirichlet, slots_by_dirichlet
from mixnorm.errors import SettingError

NAMES = ("fog", "snow", "frost")


def make_pool(images: int = 40, *, limit: int | None = None, seed: int = 0, concentration: float = 0.1) -> Pool:
    return Pool(
        indices_of=lambda _: np.arange(images, dtype=np.int64),
        own_severities=lambda _: None,
        labels=np.arange(images, dtype=np.int64) % 4,
        corruptions=NAMES,
        severity=5,
        seed=seed,
        limit=limit,
        concentration=concentration,
    )


def counts(samples: Samples) -> Counter[tuple[int, int, int]]:
    columns = (samples.indices.tolist(), samples.corruptions.tolist(), samples.severities.tolist())
    return Counter(zip(*columns, strict=True))


def every(images: list[int], severities: tuple[int, ...] = (5,)) -> Counter[tuple[int, int, int]]:
    return Counter((index, number, severity) for index in images for number in range(3) for severity in severities)


@pytest.mark.parametrize("order", ["single", "continual", "mixed-all", "correlated"])
def test_all_images_of_all_corruptions_once(order: str) -> None:
    assert counts(ORDERS[order](make_pool())) == every(list(range(40)))


def test_gradual_rises_and_falls() -> None:
    samples = ORDERS["gradual"](make_pool())
    steps = (1, 2, 3, 4, 5, 4, 3, 2, 1)
    assert counts(samples) == every(list(range(40)), steps)
    assert samples.severities.reshape(3, 9, 40).tolist() == [[[step] * 40 for step in steps]] * 3
    assert samples.segments.tolist() == np.repeat([0, 1, 2], 9 * 40).tolist()
    visits = samples.indices.reshape(27, 40)
    assert len(np.unique(visits, axis=0)) == 27  # each visit is shuffled anew


@pytest.mark.parametrize("order", ["single", "correlated"])
def test_each_corruption_is_a_segment(order: str) -> None:
    samples = ORDERS[order](make_pool())
    np.testing.assert_array_equal(samples.corruptions, np.repeat([0, 1, 2], 40))
    np.testing.assert_array_equal(samples.segments, samples.corruptions)


def test_continual_is_single_without_boundaries() -> None:
    single, continual = ORDERS["single"](make_pool()), ORDERS["continual"](make_pool())
    np.testing.assert_array_equal(continual.indices, single.indices)
    np.testing.assert_array_equal(continual.corruptions, single.corruptions)
    assert not continual.segments.any()


@settings(deadline=None)
@given(images=st.integers(1, 60), seed=st.integers(0, 2**31))
def test_mixed_takes_each_image_once(images: int, seed: int) -> None:
    samples = ORDERS["mixed"](make_pool(images, seed=seed))
    assert sorted(samples.indices.tolist()) == list(range(images))
    assert not samples.segments.any()


def test_mixed_draws_corruptions_evenly_and_independently_of_the_place() -> None:
    samples = ORDERS["mixed"](make_pool(6000))
    for part in (slice(None), slice(None, 3000), slice(3000, None)):
        share = np.bincount(samples.corruptions[part], minlength=3) / len(samples.corruptions[part])
        assert np.abs(share - 1 / 3).max() < 0.03
    # A shuffled sequence is not correlated with its place.
    assert abs(np.corrcoef(samples.indices, np.arange(6000))[0, 1]) < 0.05


def test_mixed_keeps_the_only_shift_an_image_has() -> None:
    members = {("fog", 5): [0, 3], ("snow", 5): [1], ("frost", 5): [2, 4]}

    def indices_of(shift: Shift) -> Indices:
        return np.array(members[shift], dtype=np.int64)

    pool = Pool(
        indices_of=indices_of,
        own_severities=lambda _: None,
        labels=np.zeros(5, int),
        corruptions=NAMES,
        severity=5,
        seed=0,
        limit=None,
        concentration=1,
    )
    samples = ORDERS["mixed"](pool)
    pairs = zip(samples.indices.tolist(), samples.corruptions.tolist(), strict=True)
    assert dict(pairs) == {0: 0, 3: 0, 1: 1, 2: 2, 4: 2}


@settings(deadline=None)
@given(order=st.sampled_from(sorted(ORDERS)), limit=st.integers(1, 40))
def test_the_limit_chooses_images_and_larger_ones_keep_them(order: str, limit: int) -> None:
    chosen = set(ORDERS[order](make_pool(limit=limit)).indices.tolist())
    assert len(chosen) == limit
    if limit < 40:
        assert chosen < set(ORDERS[order](make_pool(limit=limit + 1)).indices.tolist())


@pytest.mark.parametrize("order", ORDERS)
def test_the_seed_decides(order: str) -> None:
    first, again, other = (ORDERS[order](make_pool(seed=seed)) for seed in (3, 3, 4))
    for field in ("indices", "corruptions", "severities", "segments"):
        np.testing.assert_array_equal(getattr(first, field), getattr(again, field))
    assert (first.indices != other.indices).any()


@settings(deadline=None)
@given(
    labels=st.lists(st.integers(0, 5), min_size=1, max_size=200),
    concentration=st.floats(1e-3, 1e3),
    seed=st.integers(0, 1000),
)
def test_dirichlet_keeps_each_sample_once(labels: list[int], concentration: float, seed: int) -> None:
    order = by_dirichlet(np.array(labels), concentration, np.random.default_rng(seed))
    assert sorted(order.tolist()) == list(range(len(labels)))


def neighbours_of_one_class(labels: Indices, concentration: float, seed: int) -> float:
    ordered = labels[by_dirichlet(labels, concentration, np.random.default_rng(seed))]
    return float(np.mean(ordered[1:] == ordered[:-1]))


def test_a_small_concentration_correlates_labels_and_a_large_one_does_not() -> None:
    labels = np.repeat(np.arange(10), 300)
    small, published, large = (
        np.mean([neighbours_of_one_class(labels, value, seed) for seed in range(20)]) for value in (0.001, 0.1, 1e4)
    )
    assert small > 0.5
    assert small > published > 2 * large
    assert abs(large - 0.1) < 0.02  # what a plain shuffle of ten classes gives


def test_the_shares_of_slots_follow_the_dirichlet_distribution() -> None:
    concentration, classes, copies = 0.7, 5, 200
    labels = np.repeat(np.arange(classes), copies)
    slots = [slots_by_dirichlet(labels, concentration, np.random.default_rng(seed)) for seed in range(400)]
    shares = np.array([[np.mean(slot[labels == label] == 0) for label in range(classes)] for slot in slots])
    mean = 1 / classes
    variance = mean * (1 - mean) / (classes * concentration + 1)
    assert np.abs(shares.mean(axis=0) - mean).max() < 0.04
    assert np.abs(shares.var(axis=0) - variance).max() < 0.01
    # Classes are drawn independently of each other.
    assert np.abs(np.corrcoef(shares.T) - np.eye(classes)).max() < 0.2


@pytest.mark.parametrize("seed", range(5))
def test_slots_are_cut_where_the_shares_end(seed: int) -> None:
    labels = np.array([0] * 7 + [2] * 4 + [5] * 9)
    slots = slots_by_dirichlet(labels, 0.5, np.random.default_rng(seed))
    random = np.random.default_rng(seed)
    for label in (0, 2, 5):
        members = random.permutation([place for place in range(20) if labels[place] == label])
        shares = random.dirichlet([0.5] * 3)
        for rank, member in enumerate(members):
            slot, end = 0, shares[0]
            while slot < 2 and (rank + 0.5) / len(members) > end:
                slot += 1
                end += shares[slot]
            assert slots[member] == slot


def test_the_limit_counts_images_that_have_one_of_the_corruptions() -> None:
    members = {("fog", 5): [2, 7, 9], ("snow", 5): [7, 8]}
    pool = Pool(
        indices_of=lambda shift: np.array(members[shift], dtype=np.int64),
        own_severities=lambda _: None,
        labels=np.zeros(10, int),
        corruptions=("fog", "snow"),
        severity=5,
        seed=0,
        limit=4,
        concentration=1,
    )
    assert sorted(ORDERS["mixed"](pool).indices.tolist()) == [2, 7, 8, 9]
    with pytest.raises(SettingError, match="limit=5 is more than the 4 images of"):
        ORDERS["mixed"](replace(pool, limit=5))


def test_images_with_severities_of_their_own_all_take_part_in_every_order() -> None:
    members = {("fog", 1): [4, 0], ("fog", 3): [2], ("snow", 2): [1, 3], ("clean", 0): [5]}
    own = {"fog": (1, 3), "snow": (2,), "clean": (0,)}
    pool = Pool(
        indices_of=lambda shift: np.array(sorted(members[shift]), dtype=np.int64),
        own_severities=lambda name: own[name],
        labels=np.zeros(6, int),
        corruptions=tuple(own),
        severity=5,
        seed=0,
        limit=None,
        concentration=1,
    )
    severity_of = {index: level for (_, level), indices in members.items() for index in indices}
    for order in ORDERS:
        samples = ORDERS[order](pool)
        assert [severity_of[index] for index in samples.indices.tolist()] == samples.severities.tolist()
        if order != "gradual":
            assert sorted(samples.indices.tolist()) == list(range(6))
    assert ORDERS["gradual"](pool).severities.tolist() == [1, 1, 3, 1, 1, 2, 2, 0]
