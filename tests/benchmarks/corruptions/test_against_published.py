"""Our corruptions beside images that the published generator made from the same CIFAR-10 test images."""

import pytest
import torch

from mixnorm.benchmarks.corruptions import CORRUPTIONS, corrupt
from mixnorm.benchmarks.corruptions.frost_pictures import frost_source
from scripts.compare_corruptions import Comparison, comparisons, error, load_network
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
@pytest.mark.parametrize("name", [name for name in CORRUPTIONS if name != "frost"])
def test_the_network_errs_as_much_on_ours(name: str, pairs: dict[str, Comparison], network: torch.nn.Module) -> None:
    pair = pairs[name]
    if name in WITHOUT_RANDOMNESS:
        differing = pair.ours != pair.reference
        assert differing.mean() < 0.01
        # Only the images that differ at all can change the error.
        pair = pair.only(differing.any(axis=(1, 2, 3)))
    ours, reference = (error(network, images, pair.labels) for images in (pair.ours, pair.reference))
    assert abs(ours - reference) * len(pair.labels) / IMAGES <= 4


@needs_real
def test_the_network_errs_as_much_on_our_frost(pairs: dict[str, Comparison], network: torch.nn.Module) -> None:
    """Whether a pane is pale or dark decides over many images, so the average of three draws is compared."""
    pair = pairs["frost"]
    ours = [error(network, corrupt(pair.clean, "frost", 5, seed=seed), pair.labels) for seed in range(3)]
    tolerance = 8 if frost_source() == "drawn" else 4
    assert abs(sum(ours) / 3 - error(network, pair.reference, pair.labels)) <= tolerance


@needs_real
@pytest.mark.parametrize("name", CORRUPTIONS)
def test_brightness_and_contrast_of_the_images_agree_on_average(name: str, pairs: dict[str, Comparison]) -> None:
    """Over 400 images the random parts average out: within one step of 255 (fog and frost, which vary most: 4)."""
    pair = pairs[name]
    tolerance = 4 if name in ("fog", "frost", "snow") else 1
    assert abs(pair.ours.mean() - pair.reference.mean()) < tolerance
    assert abs(pair.ours.std(axis=(1, 2, 3)).mean() - pair.reference.std(axis=(1, 2, 3)).mean()) < tolerance
