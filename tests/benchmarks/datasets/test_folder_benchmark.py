from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mixnorm.benchmarks.datasets.folder_benchmark import FolderBenchmark, is_folder_benchmark, load_imagenet_c
from mixnorm.errors import DataError
from tests.benchmarks.datasets.writers import write_folder

CLASSES = {"n01": 2, "n02": 1}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for corruption in ("snow", "fog"):
        for severity in (3, 5):
            write_folder(tmp_path / corruption / str(severity), CLASSES, suffix=".jpeg")
    (tmp_path / "notes.txt").touch()
    return tmp_path


def test_each_image_is_found_under_each_shift(folder: Path) -> None:
    benchmark = FolderBenchmark("own", folder)
    assert benchmark.corruptions == ("snow", "fog")
    assert benchmark.labels.tolist() == [0, 0, 1]
    assert benchmark.class_names == ("n01", "n02")
    assert benchmark.indices_of(("fog", 3)).tolist() == [0, 1, 2]
    expected = np.asarray(Image.open(folder / "fog" / "3" / "n02" / "0.jpeg"))
    np.testing.assert_array_equal(benchmark.images([2], ("fog", 3))[0], expected)


def test_a_tree_that_lacks_an_image_is_named_before_any_work(folder: Path) -> None:
    (folder / "fog" / "5" / "n01" / "1.jpeg").unlink()
    benchmark = FolderBenchmark("own", folder)
    benchmark.indices_of(("snow", 5))
    with pytest.raises(DataError, match=r"fog/5 does not hold the images of the other corruptions: see n01/1\.jpeg"):
        benchmark.indices_of(("fog", 5))
    with pytest.raises(DataError, match="own has no fog of severity 1: there is no folder"):
        benchmark.indices_of(("fog", 1))


def test_the_fingerprint_is_that_of_the_files_used(folder: Path) -> None:
    benchmark, used = FolderBenchmark("own", folder), {("fog", 5): np.array([0, 2])}
    before = benchmark.fingerprint(used)
    (folder / "fog" / "5" / "n01" / "1.jpeg").write_bytes(b"not used")
    assert benchmark.fingerprint(used) == before
    (folder / "fog" / "5" / "n01" / "0.jpeg").write_bytes(b"used")
    assert benchmark.fingerprint(used) != before


def test_an_ordinary_image_folder_is_not_taken_for_one(folder: Path, tmp_path: Path) -> None:
    assert is_folder_benchmark(folder)
    write_folder(tmp_path / "mnist" / "train", {"1": 1, "2": 1})
    assert not is_folder_benchmark(tmp_path / "mnist")
    with pytest.raises(DataError, match="no folders <corruption>/<severity>/<class>"):
        FolderBenchmark("own", tmp_path / "mnist" / "train")


def test_imagenet_c_needs_all_its_classes(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    folder.joinpath("fog").rename(tmp_path / "data" / "fog")
    (tmp_path / "data").rename(tmp_path / "ImageNet-C")
    with pytest.raises(DataError, match="2 class folders, not ImageNet's 1,000"):
        load_imagenet_c(tmp_path)
