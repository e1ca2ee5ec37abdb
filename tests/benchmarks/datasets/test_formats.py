"""Each published format: what a test writes byte by byte is what comes out."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from mixnorm.benchmarks.datasets import load_dataset
from mixnorm.benchmarks.datasets.sources import SOURCES
from mixnorm.benchmarks.streams import load_stream
from mixnorm.errors import DataError, MissingDataError
from tests.benchmarks.datasets import writers

FORMATS: dict[str, Callable[[Path, str, list[int]], writers.Bytes]] = {
    "cifar10": writers.write_cifar10,
    "cifar100": writers.write_cifar100,
    "food101": writers.write_food101,
    "mnist": writers.write_mnist,
    "mnist-m": writers.write_mnist_m,
    "stanford-cars": writers.write_stanford_cars,
    "stl10": writers.write_stl10,
    "svhn": writers.write_svhn,
    "usps": writers.write_usps,
}
LABELS = [2, 0, 1, 1, 2, 0, 1]


@pytest.mark.parametrize("split", ["test", "train"])
@pytest.mark.parametrize("name", FORMATS)
def test_images_and_labels_come_out_as_they_went_in(name: str, split: str, data_folder: Path) -> None:
    written = FORMATS[name](data_folder, split, LABELS)
    sizing = {"crop": 224} if name in ("food101", "stanford-cars") else {}
    dataset = load_dataset(name, split=split, **sizing)  # type: ignore[arg-type]
    expected = written if written.ndim == 4 else np.stack([written] * 3, axis=-1)
    np.testing.assert_array_equal(dataset.images(range(7)), expected)
    np.testing.assert_array_equal(dataset.images([5, 1]), expected[[5, 1]])
    assert dataset.labels.tolist() == LABELS
    assert dataset.labels.dtype == np.int64
    assert (len(dataset), dataset.name) == (7, name)


def test_classes_are_named(data_folder: Path) -> None:
    counts = {"cifar10": 10, "cifar100": 100, "mnist": 10, "stl10": 10, "food101": 3, "stanford-cars": 3}
    for name, count in counts.items():
        FORMATS[name](data_folder, "test", LABELS)
        names = load_dataset(name).class_names
        assert len(set(names)) == count, names
    assert load_dataset("stanford-cars").class_names[1] == "Acura RL Sedan 2012"


@pytest.mark.parametrize("name", ["food101", "stanford-cars"])
def test_photographs_come_at_224_px_unless_said_otherwise(name: str, data_folder: Path) -> None:
    FORMATS[name](data_folder, "test", LABELS)
    assert load_dataset(name).images([0]).shape == (1, 224, 224, 3)
    assert load_dataset(name, resize=64).images([0]).shape == (1, 64, 64, 3)


def test_the_digit_zero_of_svhn_is_label_0(data_folder: Path) -> None:
    writers.write_svhn(data_folder, "test", [0, 9, 1])
    assert load_dataset("svhn").labels.tolist() == [0, 9, 1]


@pytest.mark.parametrize("name", SOURCES)
def test_what_is_missing_is_said_with_a_way_to_get_it(name: str, tmp_path: Path) -> None:
    with pytest.raises(MissingDataError) as caught:
        load_stream(name, data_dir=tmp_path)
    message = str(caught.value)
    assert str(tmp_path / SOURCES[name][0].makes.split("/")[0]) in message
    for source in SOURCES[name]:
        assert source.url in message
    assert "by hand" in message or f"download_dataset('{name}', data_dir='{tmp_path}')" in message


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("cifar10", "cifar-10-batches-bin/test_batch.bin"),
        ("mnist", "mnist/t10k-images-idx3-ubyte.gz"),
        ("stl10", "stl10_binary/test_X.bin"),
        ("svhn", "svhn/test_32x32.mat"),
        ("usps", "usps/usps.t.bz2"),
        ("stanford-cars", "stanford_cars/devkit/cars_meta.mat"),
    ],
)
@pytest.mark.parametrize("damage", ["cut", "garbage"])
def test_a_damaged_file_is_named(name: str, file: str, damage: str, data_folder: Path) -> None:
    FORMATS[name](data_folder, "test", LABELS)
    path = data_folder / file
    path.write_bytes(path.read_bytes()[:-50] if damage == "cut" else b"\x00garbage" * 13)
    with pytest.raises(DataError, match=f"{path.name}.*download it again"):
        load_dataset(name)


def test_an_idx_file_of_other_values_is_refused(data_folder: Path) -> None:
    writers.write_mnist(data_folder, "test", LABELS)
    path = data_folder / "mnist" / "t10k-labels-idx1-ubyte.gz"
    path.write_bytes(gzip.compress(bytes([0, 0, 13, 1, 0, 0, 0, 1]) + bytes(4)))
    with pytest.raises(DataError, match="its values are not bytes"):
        load_dataset("mnist")


def test_a_mat_file_without_images_is_refused(data_folder: Path) -> None:
    (data_folder / "svhn").mkdir()
    scipy.io.savemat(data_folder / "svhn" / "test_32x32.mat", {"y": np.zeros((3, 1))})
    with pytest.raises(DataError, match="has no 'X'"):
        load_dataset("svhn")


def test_wrong_label_counts_are_refused(data_folder: Path) -> None:
    writers.write_stl10(data_folder, "test", LABELS)
    (data_folder / "stl10_binary" / "test_y.bin").write_bytes(bytes([1, 2]))
    with pytest.raises(DataError, match="7 images and 2 labels"):
        load_dataset("stl10")


def test_a_bad_line_of_mnist_m_is_shown(data_folder: Path) -> None:
    writers.write_mnist_m(data_folder, "test", LABELS)
    (data_folder / "mnist_m" / "mnist_m_test_labels.txt").write_text("00000000.png two\n")
    with pytest.raises(DataError, match=r"the line '00000000\.png two'"):
        load_dataset("mnist-m")


def test_a_class_of_food_101_that_is_not_listed_is_named(data_folder: Path) -> None:
    writers.write_food101(data_folder, "test", LABELS)
    (data_folder / "food-101" / "meta" / "classes.txt").write_text("apple_pie\nbaklava\n")
    with pytest.raises(DataError, match="names the class 'baby_back_ribs'"):
        load_dataset("food101")


@pytest.mark.parametrize("name", FORMATS)
def test_a_half_unpacked_set_is_missing(name: str, data_folder: Path) -> None:
    FORMATS[name](data_folder, "test", LABELS)
    with pytest.raises(MissingDataError, match=f"{name} is not there: looked for .*{data_folder}.*"):
        load_dataset(name, split="train")
