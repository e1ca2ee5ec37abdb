import numpy as np
import pytest

from mixnorm.benchmarks.corruptions import CORRUPTIONS, EXTRA_CORRUPTIONS, corrupt
from mixnorm.benchmarks.datasets import CLEAN, load_dataset
from mixnorm.benchmarks.datasets.arrays import ArrayDataset
from mixnorm.benchmarks.datasets.shifted import AsStored, CorruptedOnTheFly, in_published_order
from mixnorm.errors import DataError
from tests.benchmarks.datasets.writers import random_images


def test_a_plain_set_is_clean() -> None:
    digits = load_dataset("digits")
    stored = AsStored(digits)
    assert stored.corruptions == ("clean",)
    assert stored.indices_of(CLEAN).tolist() == list(range(600))
    np.testing.assert_array_equal(stored.images([3, 1], CLEAN), digits.images([3, 1]))
    assert stored.fingerprint({}) == digits.fingerprint()


def test_a_set_with_shifts_keeps_each_images_own() -> None:
    shifts = (("fog", 5), ("snow", 5), ("fog", 5), ("fog", 3))
    stored = AsStored(ArrayDataset("own", random_images(4, 8, 8, 3), [0, 0, 0, 0], ("a",), shifts=shifts))
    assert stored.corruptions == ("fog", "snow")
    assert stored.indices_of(("fog", 5)).tolist() == [0, 2]
    assert stored.indices_of(("fog", 3)).tolist() == [3]
    with pytest.raises(DataError, match=r"own has no fog of severity 1; it has severities \[3, 5\]"):
        stored.indices_of(("fog", 1))


def test_corruptions_are_those_of_the_generator_whatever_is_asked_together() -> None:
    digits = load_dataset("digits")
    shifted = CorruptedOnTheFly(digits, seed=7)
    assert shifted.corruptions == (*CORRUPTIONS, *EXTRA_CORRUPTIONS)
    indices = np.array([5, 80, 2])
    expected = corrupt(digits.images(indices), "glass_blur", 4, seed=7, indices=indices)
    np.testing.assert_array_equal(shifted.images(indices, ("glass_blur", 4)), expected)
    np.testing.assert_array_equal(shifted.images([80], ("glass_blur", 4))[0], expected[1])


def test_the_fingerprint_follows_the_seed_the_shift_and_the_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    digits = load_dataset("digits")
    used = {("fog", 5): np.arange(3)}
    before = CorruptedOnTheFly(digits, seed=0).fingerprint(used)
    assert CorruptedOnTheFly(digits, seed=0).fingerprint(used) == before
    assert CorruptedOnTheFly(digits, seed=1).fingerprint(used) != before
    assert CorruptedOnTheFly(digits, seed=0).fingerprint({("fog", 4): np.arange(3)}) != before
    monkeypatch.setattr("mixnorm.benchmarks.datasets.shifted.corrupt", lambda images, *_, **__: images)
    assert CorruptedOnTheFly(digits, seed=0).fingerprint(used) != before


def test_published_order() -> None:
    assert in_published_order(["zebra", "saturate", "snow", "rain", "shot_noise"]) == (
        "shot_noise",
        "snow",
        "saturate",
        "rain",
        "zebra",
    )
