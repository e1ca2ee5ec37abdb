import hashlib
from pathlib import Path

import numpy as np
import pytest

from mixnorm.benchmarks.datasets.arrays import ArrayDataset, pixels_digest
from mixnorm.benchmarks.datasets.sizing import Sizing
from mixnorm.errors import DataError, SettingError
from tests.benchmarks.datasets.writers import random_images

NAMES = ("a", "b")


def test_a_memory_map_gives_what_the_array_gives(tmp_path: Path) -> None:
    pixels = random_images(5, 6, 6, 3)
    np.save(tmp_path / "x.npy", pixels)
    mapped = ArrayDataset("set", np.load(tmp_path / "x.npy", mmap_mode="r"), [0, 1, 0, 1, 1], NAMES)
    plain = ArrayDataset("set", pixels, [0, 1, 0, 1, 1], NAMES)
    np.testing.assert_array_equal(mapped.images([3, 0]), pixels[[3, 0]])
    assert mapped.fingerprint() == plain.fingerprint()
    assert type(mapped.images([1])) is np.ndarray


def test_the_fingerprint_follows_the_content() -> None:
    pixels, labels = random_images(5, 6, 6, 3), [0, 1, 0, 1, 1]
    base = ArrayDataset("set", pixels, labels, NAMES).fingerprint()
    assert ArrayDataset("renamed", pixels.copy(), labels, NAMES).fingerprint() == base
    changed = pixels.copy()
    changed[4, 5, 5, 2] ^= 1
    others = [
        ArrayDataset("set", changed, labels, NAMES),
        ArrayDataset("set", pixels, [1, 1, 0, 1, 1], NAMES),
        ArrayDataset("set", pixels, labels, ("a", "c")),
        ArrayDataset("set", pixels, labels, NAMES, sizing=Sizing(resize=3)),
        ArrayDataset("set", pixels, labels, NAMES, shifts=(("fog", 5),) * 5),
    ]
    assert len({base, *(each.fingerprint() for each in others)}) == 6


def test_the_pixels_cannot_be_changed_through_the_data_set() -> None:
    dataset = ArrayDataset("set", random_images(2, 4, 4, 3), [0, 1], NAMES)
    dataset.images([0])[:] = 0
    assert dataset.images([0]).any()


def test_the_digest_is_that_of_all_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = random_images(10, 3, 3)
    monkeypatch.setattr("mixnorm.benchmarks.datasets.arrays.HASHED_AT_ONCE", 4)
    expected = hashlib.sha256(b"(10, 3, 3)" + pixels.tobytes()).hexdigest()
    assert pixels_digest(pixels).hexdigest() == expected
    assert pixels_digest(np.asfortranarray(pixels)).hexdigest() == expected
    some = np.array([7, 2, 2, 9, 0])
    assert pixels_digest(pixels, some).hexdigest() == pixels_digest(pixels[some]).hexdigest()


@pytest.mark.parametrize(
    ("pixels", "labels", "message"),
    [
        (np.zeros((2, 4, 4, 3), np.float32), [0, 1], "float32; give uint8"),
        (np.zeros((2, 3, 8, 8), np.uint8), [0, 1], "shape (2, 3, 8, 8)"),
        (np.zeros((2, 4), np.uint8), [0, 1], "shape (2, 4)"),
        (np.zeros((2, 4, 4), np.uint8), [0, 1, 1], "2 images and 3 labels"),
        (np.zeros((2, 4, 4), np.uint8), [0, 2], "labels from 0 to 2, but 2 classes"),
        (np.zeros((2, 4, 4), np.uint8), [-1, 1], "labels from -1 to 1"),
        (np.zeros((2, 4, 4), np.uint8), [0.0, 1.0], "type float64, not one integer per image"),
        (np.zeros((2, 4, 4), np.uint8), [[0], [1]], "labels of shape (2, 1)"),
        (np.zeros((0, 4, 4), np.uint8), np.zeros(0, int), "set has no images"),
    ],
)
def test_what_is_no_set_of_labelled_images_is_refused(
    pixels: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], labels: list[int], message: str
) -> None:
    with pytest.raises(DataError) as caught:
        ArrayDataset("set", pixels, labels, NAMES)
    assert message in str(caught.value)


def test_a_wrong_number_of_shifts_is_refused() -> None:
    with pytest.raises(DataError, match="2 labels and 1 corruptions"):
        ArrayDataset("set", random_images(2, 4, 4), [0, 1], NAMES, shifts=(("fog", 5),))


@pytest.mark.parametrize("indices", [None, "0", 1, [0.5], [[0]], [-1], [2], [10**30], {}])
def test_indices_that_no_image_has_are_refused(indices: object) -> None:
    dataset = ArrayDataset("two", random_images(2, 8, 8, 3), [0, 1], ("a", "b"))
    with pytest.raises(SettingError, match="indices of images of two are whole numbers from 0 to 1, got"):
        dataset.images(indices)  # type: ignore[arg-type]
    assert dataset.images([]).shape == (0, 8, 8, 3)
