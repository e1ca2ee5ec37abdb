import numpy as np
import pytest

from mixnorm.benchmarks.corruptions.elastic import elastic_transform
from tests.benchmarks.corruptions.images import draws, scenes
from tests.reference import corruptions as slow


@pytest.mark.parametrize("settings", [(0, 0, 0.08), (0.05, 0.2, 0.07), (0.1, 0.03, 0.03), (2, 0.7, 0.1)])
def test_elastic_transform_resamples_like_scipy(settings: tuple[float, float, float]) -> None:
    images = scenes(2, 32, 40)
    amplitude, sigma, shift = (32 * fraction for fraction in settings)
    same = draws(2)
    shifts = shift * (2 * same.uniform((3, 2)) - 1)
    fields = 2 * same.uniform((32, 40, 2)) - 1
    expected = [
        slow.elastic(image, corners, field, amplitude=amplitude, sigma=sigma)
        for image, corners, field in zip(images, shifts, fields, strict=True)
    ]
    difference = np.abs(elastic_transform(images, draws(2), *settings).astype(int) - np.stack(expected))
    # Places are float32: at a sharp edge a ten-thousandth of a pixel moves the interpolated byte by one.
    assert difference.max() <= 1
    assert (difference > 0).mean() < 0.01
