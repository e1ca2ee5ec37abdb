from pathlib import Path

import numpy as np
import pytest

from mixnorm.benchmarks.corruptions import CORRUPTIONS, EXTRA_CORRUPTIONS, corrupt
from mixnorm.benchmarks.datasets import CLEAN, load_dataset
from mixnorm.benchmarks.datasets.arrays import ArrayDataset
from mixnorm.benchmarks.datasets.shifted import AsStored, CorruptedOnTheFly, in_published_order
from mixnorm.errors import DataError
from tests.benchmarks.datasets.writers import random_images, write_folder


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
    expected = corrupt(digits.images(indices), "glass_blur", 4, seed=7, indices=indices, scale="large")
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


def test_the_scale_is_the_one_asked_for_else_the_data_sets_else_that_of_the_size() -> None:
    digits, pixels = load_dataset("digits"), load_dataset("digits").images([0])
    plain = ArrayDataset("plain", pixels, [0], ("a",))
    for dataset, asked, scale in ((digits, None, "large"), (digits, "small", "small"), (plain, None, "small")):
        made = CorruptedOnTheFly(dataset, seed=0, scale=asked).images([0], ("contrast", 5))  # type: ignore[arg-type]
        np.testing.assert_array_equal(made, corrupt(pixels, "contrast", 5, scale=scale))  # type: ignore[arg-type]


def test_a_fingerprint_needs_one_readable_image(tmp_path: Path) -> None:
    write_folder(tmp_path / "own", {"a": 2, "b": 1}, side=32)
    whole = load_dataset(tmp_path / "own")
    before = CorruptedOnTheFly(whole, seed=0).fingerprint({("fog", 5): np.arange(3)})
    cut = tmp_path / "own" / "a" / "0.png"
    cut.write_bytes(cut.read_bytes()[:-60])
    shifted = CorruptedOnTheFly(load_dataset(tmp_path / "own"), seed=0)
    without_first = shifted.fingerprint({("fog", 5): np.arange(3)})
    assert without_first != before
    cut.unlink()
    assert shifted.fingerprint({("fog", 5): np.arange(3)}) not in (before, without_first)
    for path in (tmp_path / "own").rglob("*.png"):
        path.unlink()
    with pytest.raises(DataError, match="none of the 3 images of own can be read"):
        shifted.fingerprint({("fog", 5): np.arange(3)})


def test_published_order() -> None:
    assert in_published_order(["zebra", "saturate", "snow", "rain", "shot_noise"]) == (
        "shot_noise",
        "snow",
        "saturate",
        "rain",
        "zebra",
    )
