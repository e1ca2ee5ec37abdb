"""scikit-learn's bundled handwritten digits at 32 px: the data set that needs no download."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from mixnorm.benchmarks.datasets.arrays import ArrayDataset
from mixnorm.benchmarks.datasets.sizing import Sizing, resized, to_rgb
from mixnorm.errors import require

DIGITS = tuple("0123456789")
SIDE = 32
TRAINING_IMAGES = 1197  # of 1,797; the last 600 are the test set, some 60 of each digit


def load_digits(split: str, sizing: Sizing, _data_dir: Path | None = None) -> ArrayDataset:
    """Return the handwritten digits, 8 px upscaled to 32 px RGB: the first 1,197 to train, the last 600 to test."""
    bundled = require("sklearn.datasets", "benchmarks").load_digits()
    rows = slice(None, TRAINING_IMAGES) if split == "train" else slice(TRAINING_IMAGES, None)
    pixels = _upscaled(bundled.images[rows])
    # Drawings of 8 px enlarged four times, which the corruptions' constants for 32 px hardly touch.
    return ArrayDataset("digits", pixels, bundled.target[rows], DIGITS, sizing=sizing, preferred_scale="large")


def _upscaled(images: npt.NDArray[np.float64]) -> npt.NDArray[np.uint8]:
    bytes_of_16_levels = np.rint(images * (255 / 16)).astype(np.uint8)
    return resized(to_rgb(bytes_of_16_levels), Sizing(resize=SIDE))
