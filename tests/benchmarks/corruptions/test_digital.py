from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from mixnorm.benchmarks.corruptions import digital
from tests.benchmarks.corruptions.images import Bytes, assert_nearly_equal, draws, scenes
from tests.reference import corruptions as slow


def colours() -> Bytes:
    """Random colours, all greys, and the corners of the colour cube."""
    random = np.random.default_rng(0).integers(0, 256, (1, 32, 32, 3)).astype(np.uint8)
    random[0, :8] = np.arange(256).reshape(8, 32, 1)
    random[0, 8, :8] = [[255 * (i >> c & 1) for c in range(3)] for i in range(8)]
    return random


@pytest.mark.parametrize("added", [0.05, 0.5])
def test_brightness_adds_to_the_value_of_hsv(added: float) -> None:
    images = colours()
    expected = slow.in_hsv(images[0], lambda h, s, v: (h, s, min(v + added, 1)))
    assert_nearly_equal(digital.brightness(images, draws(1), added), expected[None])


@pytest.mark.parametrize(("factor", "added"), [(0.3, 0), (2.5, 0.2), (20, 0.2)])
def test_saturate_scales_the_saturation_of_hsv(factor: float, added: float) -> None:
    images = colours()
    expected = slow.in_hsv(images[0], lambda h, s, v: (h, min(max(s * factor + added, 0), 1), v))
    assert_nearly_equal(digital.saturate(images, draws(1), factor, added), expected[None])


def test_contrast_scales_each_channel_about_its_mean() -> None:
    images = scenes(2)
    expected = [
        [(channel - channel.mean()) * 0.3 + channel.mean() for channel in image.T.astype(float)] for image in images
    ]
    assert_nearly_equal(
        digital.contrast(images, draws(2), 0.3), slow.truncated(np.array(expected)).transpose(0, 3, 2, 1)
    )


@pytest.mark.parametrize("fraction", [0.95, 0.65, 0.25])
def test_pixelate_is_a_box_resize_there_and_back(fraction: float) -> None:
    images = scenes(2, 32, 40)
    box = Image.Resampling.BOX
    small = (int(40 * fraction), int(32 * fraction))
    expected = [np.asarray(Image.fromarray(i).resize(small, box).resize((40, 32), box)) for i in images]
    assert (digital.pixelate(images, draws(2), fraction) == np.stack(expected)).all()


@pytest.mark.parametrize("quality", [80, 7])
def test_jpeg_compression_gives_what_a_file_gives(quality: int) -> None:
    images = scenes(2, 30, 41)
    for image, found in zip(images, digital.jpeg_compression(images, draws(2), quality), strict=True):
        file = BytesIO()
        Image.fromarray(image).save(file, "JPEG", quality=quality)
        assert (found == np.asarray(Image.open(file))).all()
