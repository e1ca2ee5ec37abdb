import contextlib
from pathlib import Path

import numpy as np
import pytest

from mixnorm.benchmarks.datasets import load_dataset
from mixnorm.errors import DataError
from tests.benchmarks.datasets.writers import random_images
from tests.real import REAL, needs_real

X = random_images(4, 8, 8, 3)
Y = np.array([0, 2, 1, 2])


def saved(folder: Path, **arrays: object) -> Path:
    np.savez(folder / "own.npz", **arrays)  # type: ignore[arg-type]
    return folder / "own.npz"


def test_x_and_y(tmp_path: Path) -> None:
    dataset = load_dataset(saved(tmp_path, x=X, y=Y))
    np.testing.assert_array_equal(dataset.images([2, 0]), X[[2, 0]])
    assert dataset.labels.tolist() == [0, 2, 1, 2]
    assert dataset.class_names == ("0", "1", "2")
    assert dataset.name == "own.npz"
    assert dataset.shifts is None


def test_splits(tmp_path: Path) -> None:
    path = saved(tmp_path, x_train=X[:1], y_train=Y[:1], x_test=X[1:], y_test=Y[1:])
    assert len(load_dataset(path)) == len(load_dataset(str(path), split="test")) == 3
    assert len(load_dataset(path, split="train")) == 1
    with pytest.raises(DataError, match="holds x_train, y_train, x_test, y_test; it needs images x_val"):
        load_dataset(path, split="val")


def test_class_names_are_taken(tmp_path: Path) -> None:
    assert load_dataset(saved(tmp_path, x=X, y=Y, class_names=["a", "b", "c"])).class_names == ("a", "b", "c")


@pytest.mark.parametrize("given", [{"x": X}, {"y": Y}, {"images": X, "labels": Y}, {}])
def test_without_x_or_y_it_says_what_is_there(tmp_path: Path, given: dict[str, object]) -> None:
    with pytest.raises(DataError, match=f"holds {', '.join(given) or 'nothing'}; it needs images x and labels y"):
        load_dataset(saved(tmp_path, **given))


def test_corruptions_by_number_and_by_name(tmp_path: Path) -> None:
    numbers = {"corruption": np.array([1, 0, 0, 1]), "corruption_names": np.array(["fog", "snow"])}
    expected = [("snow", 5), ("fog", 5), ("fog", 5), ("snow", 5)]
    assert load_dataset(saved(tmp_path, x=X, y=Y, **numbers)).shifts == tuple(expected)
    names = {"corruption": np.array(["snow", "fog", "fog", "snow"])}
    assert load_dataset(saved(tmp_path, x=X, y=Y, **names), severity=2).shifts == tuple(
        (name, 2) for name, _ in expected
    )
    stated = load_dataset(saved(tmp_path, x=X, y=Y, **names, severity=np.array([1, 2, 3, 4])))
    assert stated.shifts == (("snow", 1), ("fog", 2), ("fog", 3), ("snow", 4))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": X, "y": Y[:3]}, "4 images and 3 labels"),
        ({"x": X / 255, "y": Y}, "float64; give uint8"),
        ({"x": X, "y": Y / 2}, "labels of type float64"),
        ({"x": X, "y": Y, "corruption": np.array([0, 1, 2, 3]), "corruption_names": ["fog"]}, "1 corruption_names"),
        ({"x": X, "y": Y, "corruption": np.array(["fog"])}, "4 labels and 1 corruptions"),
        ({"x": X, "y": Y, "corruption": np.array(["fog"] * 4), "severity": np.array([1, 2])}, "2 severities"),
        ({"x": np.array([{}]), "y": Y}, "plain arrays"),
    ],
)
def test_bad_content_is_refused(tmp_path: Path, arrays: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_dataset(saved(tmp_path, **arrays))


@pytest.mark.parametrize("damage", ["cut", "flipped", "other"])
def test_a_damaged_file_is_named(tmp_path: Path, damage: str) -> None:
    path = saved(tmp_path, x=X, y=Y)
    content = bytearray(path.read_bytes())
    content[500] ^= 255
    path.write_bytes({"cut": bytes(content[:-200]), "flipped": bytes(content), "other": b"not an npz file"}[damage])
    with pytest.raises(DataError, match=r"own\.npz cannot be read as an \.npz file"):
        load_dataset(path)


def test_a_single_array_is_no_npz(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "x.npy").rename(tmp_path / "x.npz")
    with pytest.raises(DataError, match=r"x\.npz cannot be read as an \.npz file"):
        load_dataset(tmp_path / "x.npz")


@needs_real
@pytest.mark.parametrize(
    ("file", "split", "images", "shape"),
    [
        ("cifar10_test.npz", None, 10_000, (32, 32, 3)),
        ("mnist.npz", "train", 60_000, (28, 28, 3)),
        ("mnist.npz", None, 10_000, (28, 28, 3)),
        ("usps.npz", "test", 2_007, (16, 16, 3)),
        ("mnist_m_test.npz", None, 9_001, (32, 32, 3)),
    ],
)
def test_real_files(file: str, split: str | None, images: int, shape: tuple[int, ...]) -> None:
    dataset = load_dataset(REAL / file, split=split)
    assert (len(dataset), len(dataset.class_names)) == (images, 10)
    assert dataset.images([0, images - 1]).shape == (2, *shape)
    resized = load_dataset(REAL / file, split=split, resize=32)
    assert resized.images([3]).shape == (1, 32, 32, 3)


@needs_real
def test_real_shifts_are_those_of_the_file() -> None:
    dataset = load_dataset(REAL / "cifar10c_mixed_severity5.npz")
    with np.load(REAL / "cifar10c_mixed_severity5.npz") as file:
        names, numbers = file["corruption_names"], file["corruption"]
    assert dataset.shifts is not None
    assert list(dataset.shifts) == [(str(names[number]), 5) for number in numbers]


def test_clean_images_need_no_severity(tmp_path: Path) -> None:
    names = np.array(["clean", "fog", "clean", "fog"])
    for given in ({}, {"severity": np.array([5, 5, 5, 5])}):
        shifts = load_dataset(saved(tmp_path, x=X, y=Y, corruption=names, **given)).shifts
        assert shifts == (("clean", 0), ("fog", 5), ("clean", 0), ("fog", 5))


@pytest.mark.parametrize("severity", [np.array([1.5] * 4), np.array([-1] * 4), np.array(["1"] * 4)])
def test_severities_are_whole_numbers(tmp_path: Path, severity: object) -> None:
    with pytest.raises(DataError, match="not whole numbers of 0 or more"):
        load_dataset(saved(tmp_path, x=X, y=Y, corruption=np.array(["fog"] * 4), severity=severity))


def test_a_label_far_beyond_any_class_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"labels up to 2147483648; number its classes 0, 1, 2"):
        load_dataset(saved(tmp_path, x=X, y=np.array([0, 2**31, 1, 2])))


@pytest.mark.parametrize("place", range(0, 420, 7))
def test_no_damaged_byte_of_a_header_gives_anything_but_a_clear_error(tmp_path: Path, place: int) -> None:
    path = saved(tmp_path, x=X[:1], y=Y[:1])
    content = bytearray(path.read_bytes())
    for value in (0, 10, 40, 255, content[place] ^ 1):
        damaged = bytearray(content)
        damaged[place] = value
        path.write_bytes(damaged)
        with contextlib.suppress(DataError):
            load_dataset(path)


def test_a_zip_that_needs_what_python_does_not_know_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, x=X, y=Y)
    content = path.read_bytes()
    # The flag for data in patches, in the header of the first file and in the list of all files.
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = content.index(mark) + place
        content = content[:start] + b"\x20\x00" + content[start + 2 :]
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"own\.npz cannot be read as an \.npz file"):
        load_dataset(path)
