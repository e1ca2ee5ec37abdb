import numpy as np
import pytest
from scipy import stats

from mixnorm.benchmarks.corruptions import noise
from tests.benchmarks.corruptions.images import Bytes, draws


def grey(value: int) -> Bytes:
    return np.full((4, 128, 128, 3), value, dtype=np.uint8)


def test_gaussian_noise_has_the_stated_deviation_and_loses_half_a_step_by_truncation() -> None:
    added = noise.gaussian_noise(grey(128), draws(4), 0.1).astype(float) - 128
    assert added.mean() == pytest.approx(-0.5, abs=0.2)
    assert added.std() == pytest.approx(25.5, rel=0.01)
    assert abs(np.corrcoef(added[..., 0].ravel(), added[..., 1].ravel())[0, 1]) < 0.02


@pytest.mark.parametrize("photons", [3, 60, 500])
@pytest.mark.parametrize("value", [0, 1, 90, 255])
def test_shot_noise_follows_the_poisson_distribution(photons: int, value: int) -> None:
    found = noise.shot_noise(grey(value), draws(4), photons)
    bytes_of_counts = (np.arange(photons + 1) * (255 / photons) + 1e-3).astype(np.uint8)
    most_photons = np.searchsorted(bytes_of_counts, np.arange(256), side="right") - 1
    # More photons than white are white.
    expected = np.where(most_photons == photons, 1, stats.poisson.cdf(most_photons, value / 255 * photons))
    actual = [(found <= byte).mean() for byte in range(256)]
    # The largest gap between the distributions of 196,608 draws: above 0.0044 with a chance of 1 in 1,000.
    assert np.abs(actual - expected).max() < 0.0044


def test_impulse_noise_replaces_single_values_by_black_and_white_alike() -> None:
    found = noise.impulse_noise(grey(100), draws(4), 0.27)
    assert (found == 0).mean() == pytest.approx(0.135, abs=0.003)
    assert (found == 255).mean() == pytest.approx(0.135, abs=0.003)
    assert (found == 100).mean() == pytest.approx(0.73, abs=0.004)


def test_speckle_noise_grows_with_the_value() -> None:
    dark, bright = (noise.speckle_noise(grey(value), draws(4), 0.2).astype(float) for value in (40, 120))
    assert dark.std() == pytest.approx(8, rel=0.01)
    assert bright.std() == pytest.approx(24, rel=0.01)
    assert (noise.speckle_noise(grey(0), draws(4), 0.2) == 0).all()
