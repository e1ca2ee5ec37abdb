from pathlib import Path

import numpy as np
import pytest

from mixnorm.benchmarks.datasets.array_benchmark import ArrayBenchmark, load_cifar10_c, load_cifar100_c
from mixnorm.errors import DataError, MissingDataError
from tests.benchmarks.datasets.writers import Bytes, write_array_benchmark

LABELS = [2, 0, 1, 1]
NAMES = ["jpeg_compression", "fog", "rain", "speckle_noise"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "own-c"


@pytest.fixture
def stored(folder: Path) -> dict[str, Bytes]:
    return write_array_benchmark(folder, NAMES, LABELS)


def test_images_are_severity_major(folder: Path, stored: dict[str, Bytes]) -> None:
    benchmark = ArrayBenchmark("own", folder)
    for severity in range(1, 6):
        images = benchmark.images([3, 0], ("fog", severity))
        np.testing.assert_array_equal(images, stored["fog"].reshape(5, 4, 8, 8, 3)[severity - 1][[3, 0]])
    assert benchmark.labels.tolist() == LABELS
    assert benchmark.indices_of(("fog", 5)).tolist() == [0, 1, 2, 3]


def test_corruptions_come_in_published_order(folder: Path, stored: dict[str, Bytes]) -> None:
    assert ArrayBenchmark("own", folder).corruptions == ("fog", "jpeg_compression", "speckle_noise", "rain")


def test_the_arrays_stay_on_disk(folder: Path, stored: dict[str, Bytes]) -> None:
    arrays = ArrayBenchmark("own", folder)._arrays.values()
    assert all(isinstance(array, np.memmap) for array in arrays)


def test_the_fingerprint_is_that_of_what_is_used(folder: Path, stored: dict[str, Bytes]) -> None:
    used = {("fog", 2): np.array([0, 1])}
    before = ArrayBenchmark("own", folder).fingerprint(used)
    assert ArrayBenchmark("own", folder).fingerprint({("fog", 3): np.array([0, 1])}) != before
    for row, changes in ((6, False), (5, True)):
        pixels = stored["fog"].copy()
        pixels[row] ^= 1
        np.save(folder / "fog.npy", pixels)
        assert (ArrayBenchmark("own", folder).fingerprint(used) != before) is changes


def test_released_sets_are_found(data_folder: Path) -> None:
    write_array_benchmark(data_folder / "CIFAR-10-C", ["fog"], LABELS)
    write_array_benchmark(data_folder / "CIFAR-100-C", ["fog"], LABELS)
    assert load_cifar10_c(None).class_names[2] == "bird"
    assert load_cifar100_c(None).class_names == ("0", "1", "2")


@pytest.mark.parametrize("shift", [("fog", 0), ("fog", 6), ("frost", 5)])
def test_a_shift_that_is_not_there_is_refused(folder: Path, stored: dict[str, Bytes], shift: tuple[str, int]) -> None:
    with pytest.raises(DataError, match=f"own has no {shift[0]} of severity {shift[1]}"):
        ArrayBenchmark("own", folder).indices_of(shift)


@pytest.mark.parametrize("damage", ["cut", "garbage", "pickle", "empty"])
def test_a_corrupt_file_is_named_before_any_work(folder: Path, stored: dict[str, Bytes], damage: str) -> None:
    path = folder / "fog.npy"
    content = path.read_bytes()
    if damage == "pickle":
        np.save(path, np.array([{}]))
    else:
        path.write_bytes({"cut": content[:-1], "garbage": b"\x00" * 100, "empty": b""}[damage])
    with pytest.raises(DataError, match=r"fog\.npy"):
        ArrayBenchmark("own", folder)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("fog", np.zeros((19, 8, 8, 3), np.uint8), r"fog\.npy has 19 images, but labels\.npy has 20 labels"),
        ("fog", np.zeros((20, 8, 8, 3)), "float64; give uint8"),
        ("labels", np.zeros(19, int), r"labels\.npy has shape \(19,\).*not 5 x N"),
        ("labels", np.zeros((20, 1), int), "not 5 x N"),
        ("labels", np.zeros(20), "type float64"),
        ("labels", np.full(20, -1), "labels from -1 to -1"),
        ("labels", np.arange(20), "does not repeat the same labels"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    folder: Path, stored: dict[str, Bytes], name: str, array: Bytes, message: str
) -> None:
    np.save(folder / f"{name}.npy", array)
    with pytest.raises(DataError, match=message):
        ArrayBenchmark("own", folder)


def test_missing_labels_are_said(folder: Path, stored: dict[str, Bytes]) -> None:
    (folder / "labels.npy").unlink()
    with pytest.raises(MissingDataError, match=r"labels\.npy is missing"):
        ArrayBenchmark("own", folder)
