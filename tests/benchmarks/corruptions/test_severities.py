from collections.abc import Callable

import numpy as np
import pytest

from mixnorm.benchmarks.corruptions import CORRUPTIONS, EXTRA_CORRUPTIONS, SCALES, SEVERITIES, Scale, corrupt
from mixnorm.benchmarks.corruptions.severities import LARGE, SMALL, settings_of
from scripts.compare_corruptions import error, load_network
from tests.benchmarks.corruptions.images import landscapes
from tests.real import REAL, needs_real

ALL = CORRUPTIONS + EXTRA_CORRUPTIONS
SIDES = {"small": 32, "large": 256}

# Severities at which the published constants may bring an image closer to the clean one than the severity before.
QUIRKS = {
    ("small", "glass_blur"): {2, 3, 5},  # the gaussian grows alone, and smooths the noise of the copying away
    ("small", "frost"): {4, 5},  # the image is darkened more than frost is added
    ("small", "elastic_transform"): {2, 3, 4, 5},  # the affine map shrinks while the field grows
    ("small", "spatter"): {4},  # water gives way to mud
    ("small", "saturate"): {3},  # pale gives way to garish
    ("large", "glass_blur"): {2, 4},  # fewer rounds of copying, though farther
    ("large", "fog"): {4},  # only the cloud becomes finer
    ("large", "elastic_transform"): {3},  # the affine map shrinks
    ("large", "saturate"): {3},
}
# The same for the error of a network, whose steps of a few points are noise beside.
ERROR_QUIRKS = {"glass_blur", "elastic_transform", "snow"}


def test_every_corruption_has_five_settings_at_both_scales() -> None:
    assert set(SMALL) == set(LARGE) == set(ALL)
    assert all(len(table[name]) == len(SEVERITIES) for table in (SMALL, LARGE) for name in ALL)


def test_settings_are_found_by_severity_and_scale() -> None:
    assert settings_of("gaussian_noise", 1, "small") == (0.04,)
    assert settings_of("gaussian_noise", 5, "large") == (0.38,)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", ALL)
def test_the_distance_to_the_clean_image_grows_with_severity(name: str, scale: Scale) -> None:
    images = landscapes(128 if scale == "small" else 8, SIDES[scale])
    distances = [float(np.square(corrupt(images, name, s) - images.astype(np.float32)).mean()) for s in SEVERITIES]
    steps = zip(SEVERITIES[1:], distances, distances[1:], strict=False)
    # Random corruptions of few images differ by some percent from draw to draw.
    assert {severity for severity, before, after in steps if after < 0.95 * before} <= QUIRKS.get((scale, name), set())


@pytest.fixture(scope="module")
def error_on() -> Callable[[str, int], float]:
    network = load_network(REAL, "cifar_resnet20")
    test = np.load(REAL / "cifar10_test.npz")
    images, labels = test["x"][:150], test["y"][:150]
    return lambda name, severity: error(network, corrupt(images, name, severity), labels)


@needs_real
@pytest.mark.parametrize("name", [name for name in CORRUPTIONS if name not in ERROR_QUIRKS])
def test_the_error_of_a_network_grows_with_severity(name: str, error_on: Callable[[str, int], float]) -> None:
    low, middle, high = (error_on(name, severity) for severity in (1, 3, 5))
    assert low <= middle + 2
    assert middle <= high + 2
    assert low < high
