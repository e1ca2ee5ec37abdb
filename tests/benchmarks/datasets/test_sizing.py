from typing import Any

import numpy as np
import pytest
from PIL import Image

from mixnorm.benchmarks.datasets.sizing import ClipSizing, Sizing, resized, to_rgb
from mixnorm.benchmarks.models.from_open_clip import import_open_clip
from mixnorm.errors import DataError, SettingError
from tests.benchmarks.datasets.writers import random_images


@pytest.mark.parametrize(
    ("size", "sizing", "expected"),
    [
        ((40, 30), Sizing(), (40, 30)),
        ((40, 30), Sizing(resize=15), (15, 15)),
        ((30, 41), Sizing(resize=60, crop=50), (50, 50)),
        ((40, 30), Sizing(crop=20), (20, 20)),
        ((3, 1000), Sizing(resize=7), (7, 7)),
    ],
)
def test_the_shorter_side_is_scaled_and_the_centre_kept(
    size: tuple[int, int], sizing: Sizing, expected: tuple[int, int]
) -> None:
    assert sizing.apply(Image.new("RGB", size)).size == expected


def test_the_crop_is_the_centre() -> None:
    pixels = random_images(1, 9, 11, 3)
    np.testing.assert_array_equal(resized(pixels, Sizing(crop=5)), pixels[:, 2:7, 3:8])


def test_upscaling_is_bilinear() -> None:
    ramp = np.zeros((1, 2, 2, 3), np.uint8)
    ramp[:, :, 1] = 100
    # Centres of 4 output pixels lie at 0.25, 0.75, 1.25, 1.75 of the input, whose centres are 0.5 and 1.5.
    np.testing.assert_array_equal(resized(ramp, Sizing(resize=4))[0, 0, :, 0], [0, 25, 75, 100])


@pytest.mark.parametrize("size", [(300, 261), (261, 300), (224, 333), (225, 224), (107, 214), (512, 384), (40, 31)])
def test_the_sizing_for_clip_is_the_one_of_open_clip_pixel_for_pixel(size: tuple[int, int]) -> None:
    picture = Image.fromarray(random_images(1, size[1], size[0], 3)[0])
    ours = np.asarray(ClipSizing(resize=224, crop=224).apply(picture))
    transform = import_open_clip().image_transform(224, is_train=False, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0))
    theirs = (transform(picture) * 255).round().byte().permute(1, 2, 0).numpy()
    np.testing.assert_array_equal(ours, theirs)


def test_the_sizing_for_clip_is_not_taken_for_another() -> None:
    assert repr(ClipSizing(resize=224, crop=224)) != repr(Sizing(resize=224, crop=224))
    assert ClipSizing(crop=20).apply(Image.new("RGB", (40, 30))).size == (20, 20)


def test_no_sizing_returns_the_pixels() -> None:
    pixels = random_images(2, 5, 7, 3)
    assert resized(pixels, Sizing()) is pixels


def test_grey_and_rgba_become_rgb() -> None:
    grey, rgba = random_images(2, 4, 4), random_images(2, 4, 4, 4)
    for channel in range(3):
        np.testing.assert_array_equal(to_rgb(grey)[..., channel], grey)
        np.testing.assert_array_equal(to_rgb(grey[..., None])[..., channel], grey)
    np.testing.assert_array_equal(to_rgb(rgba), rgba[..., :3])


@pytest.mark.parametrize(
    ("field", "value"), [("resize", 0), ("crop", -3), ("resize", "32"), ("crop", 2.5), ("crop", True)]
)
def test_impossible_sides_are_refused(field: str, value: Any) -> None:
    with pytest.raises(SettingError, match=f"{field} must be a whole number of 1 or more, got {value!r}"):
        Sizing(**{field: value})


def test_a_crop_larger_than_the_picture_is_refused() -> None:
    with pytest.raises(SettingError, match="resize=100000 is more than the 65536 pixels"):
        Sizing(resize=100_000)
    with pytest.raises(SettingError, match="crop=9 is larger than resize=8"):
        Sizing(resize=8, crop=9)
    with pytest.raises(DataError, match="a picture of 8 x 6 has no centre square of side 7"):
        Sizing(crop=7).apply(Image.new("RGB", (8, 6)))
