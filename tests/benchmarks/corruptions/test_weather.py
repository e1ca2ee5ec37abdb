from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mixnorm.benchmarks.corruptions import frost_pictures as pictures
from mixnorm.benchmarks.corruptions import weather
from mixnorm.benchmarks.corruptions.plasma import plasma
from tests.benchmarks.corruptions.images import assert_nearly_equal, draws, scenes
from tests.reference import corruptions as slow


@pytest.mark.parametrize("decay", [1.4, 3])
def test_plasma_fills_every_point_as_the_slow_version_does(decay: float) -> None:
    noise = np.random.default_rng(0).uniform(-1, 1, (3, 16, 16)).astype(np.float32)
    expected = np.stack([slow.plasma(each.astype(float), decay) for each in noise])
    np.testing.assert_allclose(plasma(noise, decay), expected, atol=1e-5)


def test_fog_adds_a_cloud_and_keeps_the_brightest_value_in_range() -> None:
    images = scenes(2, 24, 32)
    clouds = plasma(2 * draws(2).uniform((32, 32)) - 1, 2.0)[:, :24, :, None]
    brightest = images.max(axis=(1, 2, 3), keepdims=True) / 255
    expected = slow.truncated(255 * (images / 255 + 1.5 * clouds) * brightest / (brightest + 1.5))
    assert_nearly_equal(weather.fog(images, draws(2), 1.5, 2.0), expected)


def test_fog_leaves_a_black_image_black() -> None:
    assert not weather.fog(np.zeros((1, 32, 32, 3), np.uint8), draws(1), 1.5, 2.0).any()


def test_snow_adds_flakes_and_their_half_turn_over_a_whitened_image() -> None:
    images, same = scenes(2, 20, 24), draws(2)
    mean, std, threshold, radius, sigma, keep = 0.3, 0.3, 0.65, 14, 12, 0.8
    noise = mean + std * same.normal((20, 24))
    flakes = slow.truncated(255 * np.where(noise < threshold, 0, noise))[..., None]
    angles = -45 - 90 * same.uniform((1,))[:, 0]
    falling = np.rint([slow.streak(each, a, radius, sigma) for each, a in zip(flakes, angles, strict=True)])
    grey = (images * np.array([0.299, 0.587, 0.114])).sum(axis=3, keepdims=True)
    whitened = np.maximum(images, 1.5 * grey + 127.5)
    expected = slow.truncated(keep * images + (1 - keep) * whitened + falling + np.rot90(falling, 2, axes=(1, 2)))
    assert_nearly_equal(weather.snow(images, draws(2), mean, std, 1, threshold, radius, sigma, keep), expected, 0.01)


def test_drawn_frost_covers_pale_and_dark_pictures_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "_photograph_paths", list)
    pictures.frost_pictures.cache_clear()
    small, huge = pictures.frost_pictures(5, 32, 32), pictures.frost_pictures(1, 700, 300)
    pictures.frost_pictures.cache_clear()
    assert pictures.frost_source() == "drawn"
    means = [picture.mean() for picture in small]
    assert min(means) < 150 < 190 < max(means)
    assert all(10 < picture.std() < 60 for picture in small)
    assert all(picture.shape[0] >= 700 and picture.shape[1] >= 300 for picture in huge)


@pytest.fixture
def photographs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package `imagecorruptions` whose import fails and whose photographs are flat, with alpha channels."""
    folder = tmp_path / "imagecorruptions" / "frost"
    folder.mkdir(parents=True)
    (tmp_path / "imagecorruptions" / "__init__.py").write_text("raise RuntimeError('must not be imported')")
    for number, suffix in enumerate(("png", "png", "png", "jpg", "jpg"), start=1):
        mode, colour = ("RGBA", (200, 100, 50, 7)) if suffix == "png" else ("RGB", (200, 100, 50))
        Image.new(mode, (300, 200), colour).save(folder / f"frost{number}.{suffix}")
    monkeypatch.syspath_prepend(tmp_path)
    pictures.frost_pictures.cache_clear()
    yield folder
    pictures.frost_pictures.cache_clear()


def test_frost_mixes_in_photographs_where_they_are_installed(photographs: Path) -> None:
    assert pictures.frost_source() == "photographs"
    images = scenes(8)
    expected = slow.truncated(0.75 * images + 0.45 * np.array([200, 100, 50]))
    found = weather.frost(images, draws(8), 0.75, 0.45, 5)
    # JPEG photographs are not quite flat.
    assert np.abs(found.astype(int) - expected).max() <= 2


def test_frost_draws_its_own_pictures_when_photographs_are_missing(photographs: Path) -> None:
    (photographs / "frost3.png").unlink()
    assert pictures.frost_source() == "drawn"
