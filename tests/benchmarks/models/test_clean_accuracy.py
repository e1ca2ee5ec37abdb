import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from mixnorm.benchmarks.datasets import Dataset, load_dataset
from mixnorm.benchmarks.datasets.arrays import ArrayDataset
from mixnorm.benchmarks.models import CleanAccuracy, check_clean_accuracy, find_model, load_model
from mixnorm.errors import ModelError, SettingError
from tests.real import REAL, needs_real


class Answers(nn.Module):
    """Answers with the class that the first pixel's red names, in steps of 1/255."""

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.classes = classes

    def forward(self, images: Tensor) -> Tensor:
        assert not self.training
        red = (images[:, 0, 0, 0] * 255).round().long()
        return torch.nn.functional.one_hot(red, self.classes).float()


def dataset(right: int, wrong: int) -> Dataset:
    labels = np.arange(right + wrong) % 10
    pixels = np.zeros((right + wrong, 4, 4, 3), np.uint8)
    pixels[:, 0, 0, 0] = (labels + (np.arange(right + wrong) >= right)) % 10
    return ArrayDataset("made", pixels, labels, tuple("0123456789"))


def test_it_measures_the_share_of_right_answers() -> None:
    result = check_clean_accuracy(Answers(), dataset(90, 10), published=0.9, samples=100, batch_size=7)
    assert result == CleanAccuracy(measured=0.9, published=0.9, samples=100)
    assert str(result) == "90.0% of 100 clean samples answered right, published 90.0% ± 14.0%"


def test_the_tolerance_is_four_standard_errors_and_two_points() -> None:
    result = CleanAccuracy(measured=0.5, published=0.8, samples=400)
    assert result.tolerance == pytest.approx(4 * math.sqrt(0.8 * 0.2 / 400) + 0.02)
    edge = 0.8 - result.tolerance
    assert CleanAccuracy(measured=edge + 1e-9, published=0.8, samples=400).as_published
    assert not CleanAccuracy(measured=edge - 1e-9, published=0.8, samples=400).as_published


def test_more_samples_find_smaller_mistakes() -> None:
    """RobustBench once listed 91.15 % for a network of 95.08 % whose normalisation had been left out."""
    found = [
        not CleanAccuracy(measured=0.9115, published=0.9508, samples=samples).as_published for samples in (500, 4000)
    ]
    assert found == [False, True]


@pytest.mark.parametrize("published", [0.6, 1.0])
def test_far_off_to_either_side_is_refused_unless_allowed(published: float) -> None:
    data = dataset(90, 10)
    with pytest.raises(ModelError, match=r"Answers on made: 90\.0% of 100 .* normalise it itself, once"):
        check_clean_accuracy(Answers(), data, published)
    assert not check_clean_accuracy(Answers(), data, published, allow=True).as_published


def test_the_samples_depend_on_the_seed_alone() -> None:
    data = dataset(500, 500)
    measured = {check_clean_accuracy(Answers(), data, 0.5, 100, batch_size=size).measured for size in (1, 33, 100)}
    assert len(measured) == 1
    others = {check_clean_accuracy(Answers(), data, 0.5, 100, seed=seed).measured for seed in range(5)}
    assert len(others) > 1


def test_the_model_is_left_as_it_was() -> None:
    model = nn.Sequential(nn.Conv2d(3, 10, 1), nn.BatchNorm2d(10), nn.AdaptiveAvgPool2d(1), nn.Flatten()).train()
    model[1].eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    check_clean_accuracy(model, dataset(20, 0), 0.1, allow=True)
    assert [module.training for module in model] == [True, False, True, True]
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize(
    "model",
    [nn.Flatten(0), nn.Identity(), nn.Sequential(nn.Flatten(), nn.LazyLinear(3)), nn.RNN(4, 10)],
    ids=lambda model: type(model).__name__,
)
def test_an_output_that_is_no_logits_is_refused(model: nn.Module) -> None:
    if isinstance(model, nn.RNN):
        model.forward = lambda images: (images, images)  # type: ignore[method-assign, assignment]
    with pytest.raises(ModelError, match="the model returned a"):
        check_clean_accuracy(model, dataset(20, 0), 0.1)


@pytest.mark.parametrize(("published", "samples"), [(93.4, 10), (-0.1, 10), ("0.9", 10), (True, 10), (math.nan, 10)])
def test_a_published_accuracy_out_of_range_is_refused(published: float, samples: int) -> None:
    with pytest.raises(SettingError, match=f"published={published!r} is not a share between 0 and 1"):
        check_clean_accuracy(Answers(), dataset(20, 0), published, samples)


@pytest.mark.parametrize("value", [0, -3, 2.5, "10", None, True])
@pytest.mark.parametrize("setting", ["samples", "batch_size"])
def test_counts_that_are_none_are_refused(setting: str, value: object) -> None:
    with pytest.raises(SettingError, match=f"{setting} must be a whole number of at least 1, got {value!r}"):
        check_clean_accuracy(Answers(), dataset(20, 0), 0.5, **{setting: value})  # type: ignore[arg-type]


def test_an_accuracy_that_is_not_published_is_no_surprise_deep_inside() -> None:
    assert find_model("clip-rn50").accuracy is None
    with pytest.raises(SettingError, match=r"no accuracy is published for this model.*give the one you expect"):
        check_clean_accuracy(Answers(), dataset(20, 0), find_model("clip-rn50").accuracy)


def test_a_model_of_half_precision_is_measured_in_it() -> None:
    model = load_model("digits").bfloat16()
    assert check_clean_accuracy(model, load_dataset("digits"), find_model("digits").accuracy, 100).as_published


def test_the_shipped_model_passes_and_a_wrong_normalisation_does_not() -> None:
    model, data, accuracy = load_model("digits"), load_dataset("digits"), find_model("digits").accuracy
    assert accuracy is not None
    assert check_clean_accuracy(model, data, accuracy).as_published
    with pytest.raises(ModelError, match="WideResNet on digits"):
        check_clean_accuracy(model.network, data, accuracy)  # type: ignore[arg-type]


class Wrong(nn.Module):
    def __init__(self, model: nn.Module, mean: float, std: float) -> None:
        super().__init__()
        self.model, self.mean, self.std = model, mean, std

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.model((images - self.mean) / self.std)
        return logits


@needs_real
def test_a_real_network_passes_and_its_wrong_normalisations_are_refused() -> None:
    content = np.load(REAL / "cifar10_test.npz")
    data = ArrayDataset("cifar10", content["x"], content["y"].reshape(-1).astype(np.int64), tuple("0123456789"))
    model = load_model(f"{REAL}/models.py:cifar_resnet56")
    assert check_clean_accuracy(model, data, published=0.934, samples=300).as_published
    for mean, std in ((0.45, 0.225), (0.0, 1 / 255)):  # normalised twice, and as bytes instead of [0, 1]
        with pytest.raises(ModelError, match="Wrong on cifar10"):
            check_clean_accuracy(Wrong(model, mean, std), data, published=0.934, samples=300)
    network = model[1]  # type: ignore[index]
    with pytest.raises(ModelError, match="CifarResNet on cifar10"):  # not normalised at all
        check_clean_accuracy(network, data, published=0.934, samples=300)
