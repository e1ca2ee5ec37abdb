import numpy as np
import pytest

from mixnorm.benchmarks.corruptions.spatter import _equalised, spatter
from tests.benchmarks.corruptions.images import draws

GREY = np.full((6, 64, 64, 3), 100, dtype=np.uint8)


def test_water_brightens_drops_towards_its_pale_colour() -> None:
    wet = spatter(GREY, draws(6), 0.65, 0.3, 2, 0.68, 0.5, 0).astype(int) - 100
    assert wet.min() == 0
    for image in wet:
        assert image.max() == pytest.approx(0.5 * 238, abs=1)
        red, green = image[..., 0], image[..., 1]
        np.testing.assert_allclose(red, green * 175 / 238, atol=1)
        assert 0.02 < (green > 0).mean() < 0.6


def test_mud_hides_what_is_behind_it() -> None:
    muddy = spatter(GREY, draws(6), 0.65, 0.3, 1, 0.65, 1.5, 1)
    covered = (muddy != 100).any(axis=-1)
    assert 0.02 < covered.mean() < 0.6
    cover = (100 - muddy[covered].astype(float)) / (100 - np.array([63, 42, 20]))
    assert cover.min() >= 0.79
    assert cover.max() <= 1.03
    assert np.abs(cover - cover.mean(axis=1, keepdims=True)).max() < 0.03


def test_a_dry_lens_changes_nothing() -> None:
    assert (spatter(GREY, draws(6), 0.1, 0.01, 1, 0.9, 0.5, 0) == GREY).all()


def test_equalising_spreads_values_by_their_rank() -> None:
    plane = np.array([[0, 0, 7], [7, 9, 9]], dtype=np.uint8)
    assert _equalised(plane).tolist() == [[0, 0, 128], [128, 255, 255]]
    assert _equalised(np.full((2, 2), 5, np.uint8)).tolist() == [[5, 5], [5, 5]]
