import io

import numpy as np
import pytest
import torch
from PIL import Image

from mixnorm.evaluation.png import LARGEST_SIDE, encode_png


@pytest.mark.parametrize("shape", [(3, 5, 7), (3, 32, 32), (3, LARGEST_SIDE, 1)])
def test_pillow_reads_the_same_pixels(shape: tuple[int, int, int]) -> None:
    pixels = torch.from_numpy(np.random.default_rng(0).integers(0, 256, shape))
    with Image.open(io.BytesIO(encode_png(pixels / 255))) as picture:
        assert (picture.format, picture.mode) == ("PNG", "RGB")
        assert np.array_equal(np.asarray(picture), pixels.permute(1, 2, 0).numpy())


def test_large_pictures_become_small_ones() -> None:
    with Image.open(io.BytesIO(encode_png(torch.full((3, 224, 448), 0.4)))) as picture:
        assert picture.size == (LARGEST_SIDE, LARGEST_SIDE // 2)
        assert set(np.asarray(picture).ravel().tolist()) == {102}
