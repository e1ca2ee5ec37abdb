import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mixnorm.adaptation.views import ATTEMPTS, crop_boxes, random_views, uniform
from mixnorm.errors import InputError
from tests.reference.crops import resized_crop

DRAWS = 2 * ATTEMPTS + 3


@pytest.mark.parametrize("size", [(32, 32), (7, 19), (224, 150), (1, 1), (2, 40)])
def test_views_are_resized_crops(size: tuple[int, int]) -> None:
    images = torch.rand(6, 3, *size)
    views = random_views(images, 1, seed=3, places=range(6))
    draws = uniform(3, range(6), 0, DRAWS)
    boxes = crop_boxes(draws[:, :-1], *size)
    for image, view, box, flip in zip(images, views, boxes, draws[:, -1] < 0.5, strict=True):
        expected = resized_crop(image, tuple(map(int, box)), flip=bool(flip))
        torch.testing.assert_close(view, expected, rtol=1e-4, atol=1e-4)


@given(
    st.integers(1, 70),
    st.integers(1, 70),
    st.integers(0, 2**64 - 1),
)
def test_crops_lie_within_the_image(height: int, width: int, seed: int) -> None:
    top, left, crop_height, crop_width = crop_boxes(uniform(seed, range(20), 0, DRAWS)[:, :-1], height, width).T
    assert (crop_height >= 1).all()
    assert (crop_width >= 1).all()
    assert (top >= 0).all()
    assert (left >= 0).all()
    assert (top + crop_height <= height).all()
    assert (left + crop_width <= width).all()


def test_crops_have_the_published_areas_and_aspects() -> None:
    boxes = crop_boxes(uniform(0, range(20000), 0, DRAWS)[:, :-1], 1000, 1000)
    area, aspect = boxes[:, 2] * boxes[:, 3] / 1e6, boxes[:, 3] / boxes[:, 2]
    assert area.min() == pytest.approx(0.08, abs=2e-3)
    assert area.max() == pytest.approx(1, abs=0.02)
    assert aspect.min() == pytest.approx(3 / 4, abs=5e-3)
    assert aspect.max() == pytest.approx(4 / 3, abs=5e-3)
    # Large crops of a far aspect do not fit and are drawn again, so areas lean towards the small.
    assert 0.45 < area.mean() < 0.54
    assert np.median(aspect) == pytest.approx(1, abs=0.02)
    assert (boxes[:, 0] / (1001 - boxes[:, 2])).mean() == pytest.approx(0.5, abs=0.02)


def test_draws_are_uniform_and_independent() -> None:
    draws = uniform(5, range(20000), 0, 8)
    histogram = np.histogram(draws, bins=20, range=(0, 1))[0]
    assert ((histogram - 8000) ** 2 / 8000).sum() < 45  # chi-squared with 19 degrees of freedom, p about 0.001
    correlations = np.corrcoef(
        np.concatenate([draws, uniform(6, range(20000), 0, 8), uniform(5, range(20000), 1, 8)], 1).T
    )
    assert np.abs(correlations - np.eye(24)).max() < 0.035


def test_views_do_not_depend_on_the_batch() -> None:
    images = torch.rand(9, 3, 16, 16)
    together = random_views(images, 2, seed=1, places=range(9))
    for sample in range(9):
        alone = random_views(images[sample : sample + 1], 2, seed=1, places=[sample])
        assert torch.equal(alone, together[sample::9])


def test_more_views_begin_with_the_same_ones() -> None:
    images = torch.rand(4, 3, 16, 16)
    assert torch.equal(random_views(images, 3, 0, range(4))[:4], random_views(images, 1, 0, range(4)))


def test_another_seed_or_place_is_another_view() -> None:
    image = torch.rand(1, 3, 16, 16)
    views = [random_views(image, 1, seed, [place]) for seed in (0, 1, -1) for place in (0, 1)]
    assert len({tuple(view.flatten().tolist()) for view in views}) == 6


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_views_keep_the_dtype(dtype: torch.dtype) -> None:
    assert random_views(torch.rand(2, 3, 8, 8).to(dtype), 1, 0, [0, 1]).dtype == dtype


def test_views_of_what_is_no_image_are_refused() -> None:
    with pytest.raises(InputError, match=r"got shape \(2, 3, 8\); ask for none with views=0"):
        random_views(torch.rand(2, 3, 8), 1, 0, [0, 1])
