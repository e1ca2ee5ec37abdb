from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from mixnorm.benchmarks.models.preprocessing import Preprocess, Preprocessed, Preprocessing, resize_and_crop
from mixnorm.errors import SettingError, UnknownNameError

SETTINGS = Preprocessing(mean=(0.1, 0.2, 0.3), std=(0.5, 0.25, 2.0))


def test_each_channel_is_scaled_with_its_own_constants() -> None:
    images = torch.rand(2, 3, 5, 4)
    scaled = Preprocess(SETTINGS)(images)
    for channel, (mean, std) in enumerate(zip(SETTINGS.mean, SETTINGS.std, strict=True)):
        torch.testing.assert_close(scaled[:, channel], (images[:, channel] - mean) / std)


def test_no_preprocessing_changes_no_bit() -> None:
    images = torch.rand(2, 3, 5, 4)
    assert torch.equal(Preprocess(Preprocessing())(images), images)


def test_it_adds_nothing_to_the_checkpoint() -> None:
    model = Preprocessed(Preprocess(SETTINGS), nn.Conv2d(3, 1, 1))
    assert list(model.state_dict()) == ["network.weight", "network.bias"]
    assert "mean 0.1 0.2 0.3" in repr(model)


@pytest.mark.parametrize("shape", [(32, 32), (300, 260), (224, 500), (96, 64), (225, 224), (214, 107)])
def test_resize_and_crop_is_what_pillow_does(shape: tuple[int, int]) -> None:
    """Pillow rounds to whole grey levels in each of two passes; the rest must agree.

    A side that scales to a whole number of pixels, as 214 of (214, 107) to 448, must not lose one to rounding.
    """
    low = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    picture = Image.fromarray(low).resize((shape[1], shape[0]), Image.Resampling.BICUBIC)
    height, width = (224 * side // min(shape) for side in shape)
    left, top = round((width - 224) / 2), round((height - 224) / 2)
    resized = picture.resize((width, height), Image.Resampling.BICUBIC)
    expected = np.asarray(resized.crop((left, top, left + 224, top + 224)), dtype=np.float32) / 255
    ours = resize_and_crop(torch.from_numpy(np.array(picture)).permute(2, 0, 1)[None].float() / 255, 224)
    assert np.abs(ours[0].permute(1, 2, 0).numpy() - expected).max() < 1.2 / 255


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_precisions_are_resized_too(dtype: torch.dtype) -> None:
    images = torch.rand(2, 3, 5, 4).to(dtype)
    resized = resize_and_crop(images, 8)
    assert resized.dtype == dtype
    torch.testing.assert_close(resized.float(), resize_and_crop(images.float(), 8), rtol=0, atol=0.005)


def test_an_interpolation_that_is_not_known_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="unknown interpolation 'bicubik'; did you mean 'bicubic'"):
        Preprocessing(interpolation="bicubik")  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"std": (0.5, 0.0, 0.5)}, {"size": 0}])
def test_constants_that_scale_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match="must be above zero"):
        Preprocessing(**wrong)


def test_settings_say_what_they_do() -> None:
    assert str(Preprocessing()) == "none"
    assert str(Preprocessing(size=224)).startswith("resize and crop to 224 px, mean")
    assert str(Preprocessing(size=224, interpolation="bilinear")).startswith(
        "resize and crop to 224 px (bilinear), mean"
    )
