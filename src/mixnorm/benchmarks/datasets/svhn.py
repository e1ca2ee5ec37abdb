"""SVHN, cropped house numbers of 32 px, as MATLAB files."""

from pathlib import Path

import numpy as np

from mixnorm.benchmarks.datasets.arrays import ArrayDataset
from mixnorm.benchmarks.datasets.digits import DIGITS
from mixnorm.benchmarks.datasets.fetch import find
from mixnorm.benchmarks.datasets.matlab import read_mat
from mixnorm.benchmarks.datasets.sizing import Sizing


def load_svhn(split: str, sizing: Sizing, data_dir: Path | None) -> ArrayDataset:
    """Return SVHN: 73,257 training and 26,032 test images; the file's label 10 is the digit 0."""
    content = read_mat(find("svhn", f"svhn/{split}_32x32.mat", data_dir), "X", "y")
    pixels = content["X"].transpose(3, 0, 1, 2)  # stored as rows, columns, channels, images
    labels = content["y"].reshape(-1).astype(np.int64) % 10
    return ArrayDataset("svhn", pixels, labels, DIGITS, sizing=sizing)
