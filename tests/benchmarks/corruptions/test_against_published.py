"""Our corruptions beside images that the published generator made from the same CIFAR-10 test images."""

from statistics import mean

import numpy as np
import pytest
import torch

from mixnorm.benchmarks.corruptions import CORRUPTIONS
from mixnorm.benchmarks.corruptions.frost_pictures import frost_source
from scripts.compare_corruptions import Comparison, comparisons, differences, load_network, row
from tests.real import REAL, needs_real

IMAGES = 400
WITHOUT_RANDOMNESS = ("defocus_blur", "zoom_blur", "brightness", "contrast", "pixelate", "jpeg_compression")


@pytest.fixture(scope="module")
def network() -> torch.nn.Module:
    return load_network(REAL)


@pytest.fixture(scope="module")
def pairs() -> dict[str, Comparison]:
    return {pair.name: pair for pair in comparisons(REAL, IMAGES)}


@needs_real
@pytest.mark.parametrize("name", CORRUPTIONS)
def test_the_network_errs_as_much_on_ours(name: str, pairs: dict[str, Comparison], network: torch.nn.Module) -> None:
    """On average over the draws: what a single one adds by chance says nothing about the generator."""
    pair = pairs[name]
    if name in WITHOUT_RANDOMNESS:
        first, *others = pair.draws
        assert all((other == first).all() for other in others)
        differing = first != pair.reference
        assert differing.mean() < 0.01
        # Only the images that differ at all can change the error.
        pair = pair.only(differing.any(axis=(1, 2, 3)))
    tolerance = 8 if name == "frost" and frost_source() == "drawn" else 4
    assert abs(mean(differences(network, pair))) * len(pair.labels) / IMAGES <= tolerance


@needs_real
@pytest.mark.parametrize("name", CORRUPTIONS)
def test_brightness_and_contrast_of_the_images_agree_on_average(name: str, pairs: dict[str, Comparison]) -> None:
    """Over 400 images the random parts average out: within one step of 255 (fog and frost, which vary most: 4)."""
    pair = pairs[name]
    ours = np.concatenate(pair.draws)
    tolerance = 4 if name in ("fog", "frost", "snow") else 1
    assert abs(ours.mean() - pair.reference.mean()) < tolerance
    assert abs(ours.std(axis=(1, 2, 3)).mean() - pair.reference.std(axis=(1, 2, 3)).mean()) < tolerance


def test_a_difference_is_that_of_each_draw() -> None:
    """A network that sees brightness alone answers 0 in the dark and 1 in the light."""
    images = np.zeros((4, 1, 1, 3), dtype=np.uint8)
    bright = np.full_like(images, 255)
    pair = Comparison(name="fog", draws=(images, bright), reference=images, labels=np.array([0, 0, 0, 1]))
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3, 2, bias=False))
    # Bright pixels are of class 1; dark ones make two equal logits, of which the first counts.
    network.load_state_dict({"1.weight": torch.tensor([[0.0, 0, 0], [1, 1, 1]])})
    assert differences(network, pair) == [0, 50]
    assert row(network, pair).startswith("| fog | 4 | 50.0 | 25.0 | +25.0 | 35.4 | +50.0 |")
