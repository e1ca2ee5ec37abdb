"""USPS digits in LIBSVM's text format."""

import bz2
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mixnorm.benchmarks.datasets.arrays import ArrayDataset
from mixnorm.benchmarks.datasets.digits import DIGITS
from mixnorm.benchmarks.datasets.fetch import find
from mixnorm.benchmarks.datasets.sizing import Sizing
from mixnorm.errors import DataError

FILES = {"test": "usps.t.bz2", "train": "usps.bz2"}
SIDE = 16


def load_usps(split: str, sizing: Sizing, data_dir: Path | None) -> ArrayDataset:
    """Return USPS: 7,291 training and 2,007 test digits of 16 px."""
    path = find("usps", f"usps/{FILES[split]}", data_dir)
    try:
        rows = [_read_row(line) for line in bz2.decompress(path.read_bytes()).decode().splitlines()]
    except (OSError, ValueError, IndexError) as error:
        raise DataError(f"{path} cannot be read as a LIBSVM file: {error}; download it again") from error
    pixels = np.array([picture for picture, _ in rows], dtype=np.uint8).reshape(-1, SIDE, SIDE)
    return ArrayDataset("usps", pixels, [label for _, label in rows], DIGITS, sizing=sizing)


def _read_row(line: str) -> tuple[npt.NDArray[np.uint8], int]:
    """Read `label position:value ...`: labels and positions count from 1, values lie in [-1, 1], absent ones are 0."""
    label, *entries = line.split()
    values = np.zeros(SIDE * SIDE)
    for entry in entries:
        position, value = entry.split(":")
        values[int(position) - 1] = float(value)
    return np.rint((values + 1) / 2 * 255).astype(np.uint8), int(label) - 1
