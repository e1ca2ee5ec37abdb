"""The readers against torchvision's, which are written independently, on the same files."""

import gzip
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from mixnorm.benchmarks.datasets import load_dataset
from mixnorm.benchmarks.torchvision_on_cpu import import_torchvision
from tests.benchmarks.datasets import writers

LABELS = [2, 0, 1, 1, 2]


@pytest.fixture
def datasets(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return torchvision's data sets, which accept other files than the published ones."""
    import_torchvision()
    import torchvision.datasets as module

    for name in ("SVHN", "STL10"):
        monkeypatch.setattr(getattr(module, name), "_check_integrity", lambda _: True)
    return module  # type: ignore[no-any-return]


def compare(name: str, theirs: Any, **sizing: int) -> None:
    ours = load_dataset(name, **sizing)  # type: ignore[arg-type]
    assert len(ours) == len(theirs) == len(LABELS)
    for index in range(len(LABELS)):
        image, label = theirs[index]
        np.testing.assert_array_equal(ours.images([index])[0], np.asarray(image.convert("RGB")))
        assert ours.labels[index] == label


def test_svhn(datasets: ModuleType, data_folder: Path) -> None:
    writers.write_svhn(data_folder, "test", LABELS)
    compare("svhn", datasets.SVHN(data_folder / "svhn", split="test"))


def test_stl10(datasets: ModuleType, data_folder: Path) -> None:
    writers.write_stl10(data_folder, "test", LABELS)
    theirs = datasets.STL10(data_folder, split="test")
    compare("stl10", theirs)
    assert list(load_dataset("stl10").class_names) == theirs.classes


def test_food101(datasets: ModuleType, data_folder: Path) -> None:
    writers.write_food101(data_folder, "test", LABELS)
    # torchvision reads its own copy of the lists, kept as JSON by class.
    names = (data_folder / "food-101" / "meta" / "classes.txt").read_text().split()
    stems = (data_folder / "food-101" / "meta" / "test.txt").read_text().split()
    by_class = {name: [stem for stem in stems if stem.startswith(f"{name}/")] for name in names}
    (data_folder / "food-101" / "meta" / "test.json").write_text(json.dumps(by_class))
    theirs = datasets.Food101(data_folder, split="test")
    ours = load_dataset("food101", crop=224)
    assert list(ours.class_names) == theirs.classes
    expected = {path.stem: theirs[number] for number, path in enumerate(theirs._image_files)}
    for index, stem in enumerate(stems):
        image, label = expected[stem.split("/")[1]]
        np.testing.assert_array_equal(ours.images([index])[0], np.asarray(image))
        assert ours.labels[index] == label


def test_stanford_cars(datasets: ModuleType, data_folder: Path) -> None:
    writers.write_stanford_cars(data_folder, "test", LABELS)
    theirs = datasets.StanfordCars(data_folder, split="test")
    compare("stanford-cars", theirs, crop=224)
    assert list(load_dataset("stanford-cars").class_names) == theirs.classes


def test_mnist(datasets: ModuleType, data_folder: Path, tmp_path: Path) -> None:
    writers.write_mnist(data_folder, "test", LABELS)
    writers.write_mnist(data_folder, "train", LABELS)
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for path in (data_folder / "mnist").iterdir():
        (raw / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
    compare("mnist", datasets.MNIST(tmp_path, train=False))


def test_usps(datasets: ModuleType, data_folder: Path) -> None:
    writers.write_usps(data_folder, "test", LABELS)
    theirs, ours = datasets.USPS(data_folder / "usps", train=False), load_dataset("usps")
    assert ours.labels.tolist() == theirs.targets
    # torchvision cuts the fraction off where this library rounds.
    distance = ours.images(range(5))[..., 0].astype(int) - theirs.data
    assert set(np.unique(distance)) <= {0, 1}


def test_image_folder(datasets: ModuleType, tmp_path: Path) -> None:
    writers.write_folder(tmp_path / "own", {"b": 2, "a": 3})
    ours, theirs = load_dataset(tmp_path / "own"), datasets.ImageFolder(tmp_path / "own")
    assert list(ours.class_names) == theirs.classes
    assert ours.labels.tolist() == theirs.targets
    for index in range(5):
        np.testing.assert_array_equal(ours.images([index])[0], np.asarray(theirs[index][0]))
