import numpy as np
import pytest

from mixnorm.benchmarks.corruptions import blur
from tests.benchmarks.corruptions.images import assert_nearly_equal, draws, scenes
from tests.reference import corruptions as slow


@pytest.mark.parametrize("sigma", [0.05, 0.4, 1, 6])
def test_gaussian_blur(sigma: float) -> None:
    images = scenes(2, 32, 40)
    expected = np.stack([slow.gaussian(image, sigma) for image in images])
    assert_nearly_equal(blur.gaussian_blur(images, draws(2), sigma), expected)


@pytest.mark.parametrize(("radius", "edge_sigma"), [(0.3, 0.4), (1, 0.2), (1.5, 0.1), (3, 0.1), (6, 0.5), (10, 0.5)])
def test_defocus_blur(radius: float, edge_sigma: float) -> None:
    images = scenes(2, 36, 30)
    expected = np.stack([slow.disk_blur(image, radius, edge_sigma) for image in images])
    assert_nearly_equal(blur.defocus_blur(images, draws(2), radius, edge_sigma), expected)


@pytest.mark.parametrize(("largest", "step"), [(1.05, 0.01), (1.25, 0.01), (1.25, 0.02), (1.3, 0.03)])
def test_zoom_blur(largest: float, step: float) -> None:
    images = scenes(2, 33, 33)
    zooms = [float(zoom) for zoom in np.arange(1, largest + 0.01, step)]
    expected = np.stack([slow.zoom_blur(image, zooms) for image in images])
    assert_nearly_equal(blur.zoom_blur(images, draws(2), largest, step), expected)


def test_zoom_blur_of_a_wide_image_blurs_rows_like_a_square_one() -> None:
    wide = scenes(1, 32, 64)
    wide[:] = wide[:, :, :1]
    blurred = blur.zoom_blur(wide, draws(1), 1.25, 0.01)
    assert_nearly_equal(blurred[:, :, :32], blur.zoom_blur(wide[:, :, :32].copy(), draws(1), 1.25, 0.01))


@pytest.mark.parametrize(("radius", "sigma"), [(6, 1), (9, 2.5), (15, 12)])
def test_motion_blur(radius: int, sigma: float) -> None:
    images = scenes(2, 20, 24)
    angles = 90 * draws(2).uniform((1,))[:, 0] - 45
    expected = [slow.truncated(slow.streak(image, a, radius, sigma)) for image, a in zip(images, angles, strict=True)]
    assert_nearly_equal(blur.motion_blur(images, draws(2), radius, sigma), np.stack(expected), share=0.005)


def test_motion_blur_draws_angles_from_the_whole_range() -> None:
    angles = 90 * draws(2000).uniform((1,)) - 45
    assert angles.min() < -44
    assert angles.max() > 44


@pytest.mark.parametrize("reach", [1, 2, 4])
def test_one_round_of_glass_blur_copies_like_the_published_walk(reach: int) -> None:
    images = scenes(3, 24, 20)
    offsets = draws(3).integers(-reach, reach, (2, 24, 20))
    sources = blur._glass_sources(offsets, reach)
    expected = np.stack([slow.glass_round(image, each, reach) for image, each in zip(images, offsets, strict=True)])
    assert (images.reshape(-1, 3)[sources].reshape(images.shape) == expected).all()


@pytest.mark.parametrize(("sigma", "reach", "rounds"), [(0.4, 1, 2), (1, 2, 3), (1.5, 4, 2)])
def test_glass_blur_blurs_before_and_after(sigma: float, reach: int, rounds: int) -> None:
    images = scenes(2)
    same = draws(2)
    walked = [slow.gaussian(image, sigma) for image in images]
    for _ in range(rounds):
        offsets = same.integers(-reach, reach, (2, 32, 32))
        walked = [slow.glass_round(image, each, reach) for image, each in zip(walked, offsets, strict=True)]
    expected = np.stack([slow.gaussian(image, sigma) for image in walked])
    assert_nearly_equal(blur.glass_blur(images, draws(2), sigma, reach, rounds), expected)


def test_zooming_one_by_one_gives_what_all_at_once_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    images = scenes(2, 40, 56)
    at_once = blur.zoom_blur(images, draws(2), 1.3, 0.03)
    monkeypatch.setattr(blur, "_ZOOMED_AT_ONCE", 0)
    assert_nearly_equal(blur.zoom_blur(images, draws(2), 1.3, 0.03), at_once)


def test_a_large_image_is_zoomed_without_a_matrix_of_all_its_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(blur, "_zoom_operator")
    assert blur.zoom_blur(scenes(1, 512, 512), draws(1), 1.05, 0.01).shape == (1, 512, 512, 3)
