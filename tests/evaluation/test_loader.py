import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

import mixnorm as mn
from mixnorm.benchmarks import ZeroShotClassifier
from mixnorm.benchmarks.datasets import Shift, ShiftedDataset
from mixnorm.benchmarks.datasets.dataset import Indices, Pixels
from mixnorm.benchmarks.models.prompts import GENERAL, TEMPLATES
from mixnorm.errors import DataError, NothingToAdaptError, SettingError
from mixnorm.evaluation import RunSpec, run
from mixnorm.evaluation.loader import KeptInMemory, Loader
from tests.benchmarks.datasets.writers import write_cifar10, write_folder
from tests.evaluation.small import small_stream

FOG: Shift = ("fog", 5)


class Counting(ShiftedDataset):
    """Counts how often each image is read."""

    def __init__(self) -> None:
        super().__init__("counting", np.zeros(10, np.int64), ("a",), ("fog", "snow"))
        self.reads: list[tuple[Shift, int]] = []
        self.fingerprints = 0

    def indices_of(self, shift: Shift) -> Indices:
        return np.arange(10)

    def images(self, indices: npt.ArrayLike, shift: Shift) -> Pixels:
        places = np.asarray(indices).tolist()
        self.reads += [(shift, place) for place in places]
        level = 100 if shift == FOG else 0
        return np.stack([np.full((2, 2, 3), place + level, np.uint8) for place in places])

    def fingerprint(self, used: Mapping[Shift, Indices]) -> str:
        self.fingerprints += 1
        return f"{sorted(used)} {[indices.tolist() for indices in used.values()]}"


def test_each_image_is_read_once() -> None:
    data = Counting()
    kept = KeptInMemory(data)
    for indices in ([3, 1], [1, 2, 3], [3, 3]):
        assert kept.images(indices, FOG)[:, 0, 0, 0].tolist() == [100 + index for index in indices]
    assert kept.images([1], ("snow", 5))[0, 0, 0, 0] == 1
    assert data.reads == [(FOG, 3), (FOG, 1), (FOG, 2), (("snow", 5), 1)]


def test_what_has_no_room_is_read_again() -> None:
    data = Counting()
    kept = KeptInMemory(data, room=12)
    for _ in range(2):
        assert kept.images([0, 1], FOG)[:, 0, 0, 0].tolist() == [100, 101]
    assert data.reads == [(FOG, 0), (FOG, 1), (FOG, 1)]


def test_the_fingerprint_is_that_of_the_use() -> None:
    data = Counting()
    kept = KeptInMemory(data)
    uses = [{FOG: np.array([1, 2])}, {FOG: np.array([1, 3])}, {FOG: np.array([1, 2])}]
    assert [kept.fingerprint(use) for use in uses] == [data.fingerprint(use) for use in uses]
    assert data.fingerprints == 2 + 3


@pytest.mark.parametrize("order", ["mixed", "single"])
def test_a_stream_is_the_same_from_memory(order: str) -> None:
    stream = small_stream(order=order)
    kept = dataclasses.replace(stream, data=KeptInMemory(stream.data))
    assert kept.fingerprint() == stream.fingerprint()
    for _ in range(2):
        for ours, theirs in zip(kept.batches(7), stream.batches(7), strict=True):
            assert (ours.images == theirs.images).all()
            assert ours.shifts == theirs.shifts


FACTORIES = """
import mixnorm
from tests.benchmarks.models.clips import small_clip, small_transformer

def clip():
    return small_clip(32)

def transformer():
    return small_transformer()

def classifier():
    return mixnorm.zero_shot(small_clip(32), ["ant", "bee"], ["the {}"])
"""


@pytest.fixture
def models(tmp_path: Path) -> Path:
    path = tmp_path / "models.py"
    path.write_text(FACTORIES)
    return path


def zero_shot_spec(model: str, name: str, *, dtype: str = "float32", **data: Any) -> RunSpec:
    method = mn.MixNorm(m=0.1, tau=0.01).to_dict()
    return RunSpec(model=model, data={"name": name, **data}, method=method, dtype=dtype)


def test_a_clip_model_becomes_the_classifier_of_its_data(models: Path, tmp_path: Path) -> None:
    write_folder(tmp_path / "fruit", {"red_apple": 2, "pear": 1}, side=40)
    loader = Loader()
    spec = zero_shot_spec(f"{models}:clip", str(tmp_path / "fruit"))
    model = loader.model(spec)
    assert isinstance(model, ZeroShotClassifier)
    assert (model.class_names, model.templates) == (("pear", "red apple"), GENERAL)
    assert loader.model(spec) is model
    record = run(spec, loader)
    assert record.results is not None
    assert record.results["count"] == 3
    assert record.fingerprint["templates"] == list(GENERAL)
    assert record.fingerprint["preprocessing"].startswith("resize and crop to 32 px, mean 0.48145466")


def test_a_known_data_set_has_its_own_templates_corrupted_or_not(models: Path, tmp_path: Path) -> None:
    write_cifar10(tmp_path, "test", [0, 1, 2])
    loader = Loader()
    for corruptions in (None, ["fog"]):
        spec = zero_shot_spec(f"{models}:clip", "cifar10", data_dir=str(tmp_path), corruptions=corruptions)
        model = loader.model(spec)
        assert isinstance(model, ZeroShotClassifier)
        assert model.templates == TEMPLATES["cifar10"]
        assert model.class_names[:2] == ("airplane", "automobile")


def test_another_data_set_gets_another_classifier(models: Path, tmp_path: Path) -> None:
    names = [{"apple": 1, "pear": 1}, {"hen": 1, "owl": 1}]
    loader = Loader()
    for number, classes in enumerate(names):
        write_folder(tmp_path / str(number), classes)
        model = loader.model(zero_shot_spec(f"{models}:clip", str(tmp_path / str(number))))
        assert isinstance(model, ZeroShotClassifier)
        assert model.class_names == tuple(classes)


def test_a_factory_may_return_the_classifier_itself(models: Path, tmp_path: Path) -> None:
    write_folder(tmp_path / "insects", {"0": 1, "1": 1}, side=40)
    record = run(zero_shot_spec(f"{models}:classifier", str(tmp_path / "insects")))
    assert record.fingerprint["templates"] == ["the {}"]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_zero_shot_run_in_half_precision(models: Path, tmp_path: Path, dtype: str) -> None:
    write_folder(tmp_path / "fruit", {"apple": 2, "pear": 1}, side=40)
    record = run(zero_shot_spec(f"{models}:clip", str(tmp_path / "fruit"), dtype=dtype))
    assert record.fingerprint["dtype"] == dtype
    assert record.results is not None
    assert record.results["rejected"] == 0


def test_what_cannot_be_classified_is_told_before_any_image_is_read(models: Path, tmp_path: Path) -> None:
    write_folder(tmp_path / "fruit", {"apple": 1, "pear": 1})
    with pytest.raises(NothingToAdaptError, match="has no BatchNorm layer"):
        Loader().model(zero_shot_spec(f"{models}:transformer", str(tmp_path / "fruit")))
    with pytest.raises(SettingError, match="the classes of digits go by numbers"):
        Loader().model(zero_shot_spec(f"{models}:clip", "digits"))


def test_other_models_stay_what_they_are() -> None:
    model = Loader().model(RunSpec(model="digits", data={"name": "digits-c"}, method={"method": "Source"}))
    assert type(model) is type(mn.load_model("digits"))
    assert torch.equal(next(model.parameters()), next(mn.load_model("digits").parameters()))


def test_images_of_different_sizes_are_refused_as_often_as_they_are_asked_for() -> None:
    class Sizes(ShiftedDataset):
        """Two images, of which the second is larger."""

        def __init__(self) -> None:
            super().__init__("sizes", np.zeros(2, np.int64), ("a",), ("fog",))

        def indices_of(self, shift: Shift) -> Indices:
            return np.arange(2)

        def images(self, indices: npt.ArrayLike, shift: Shift) -> Pixels:
            (index,) = np.asarray(indices).tolist()
            return np.zeros((1, 8 + index, 8, 3), np.uint8)

        def fingerprint(self, used: object) -> str:
            return "sizes"

    kept = KeptInMemory(Sizes())
    for index in (0, 1):
        kept.images([index], ("fog", 5))
    with pytest.raises(DataError, match="sizes has images of different sizes"):
        kept.images([0, 1], ("fog", 5))
