"""MNIST-M: digits blended over photographs, as files with a list of labels."""

from pathlib import Path

from mixnorm.benchmarks.datasets.digits import DIGITS
from mixnorm.benchmarks.datasets.fetch import find
from mixnorm.benchmarks.datasets.files import FileDataset
from mixnorm.benchmarks.datasets.sizing import Sizing
from mixnorm.errors import DataError


def load_mnist_m(split: str, sizing: Sizing, data_dir: Path | None) -> FileDataset:
    """Return MNIST-M, 32 px colour: `mnist_m_<split>/<file>` with lines `<file> <label>` in a text file beside it."""
    folder = find("mnist-m", "mnist_m", data_dir)
    lines = (folder / f"mnist_m_{split}_labels.txt").read_text().splitlines()
    pairs = [line.split() for line in lines if line.strip()]
    images = folder / f"mnist_m_{split}"
    for pair in pairs:
        if len(pair) != 2 or not pair[1].isdigit():
            raise DataError(f"mnist_m_{split}_labels.txt has the line {' '.join(pair)!r}, not a file and a digit")
    paths = [images / file for file, _ in pairs]
    return FileDataset("mnist-m", folder, paths, [int(label) for _, label in pairs], DIGITS, sizing=sizing)
