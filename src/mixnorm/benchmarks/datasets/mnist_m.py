"""MNIST-M: digits blended over photographs, as files with a list of labels."""

from pathlib import Path

from mixnorm.benchmarks.datasets.digits import DIGITS
from mixnorm.benchmarks.datasets.fetch import find
from mixnorm.benchmarks.datasets.files import FileDataset
from mixnorm.benchmarks.datasets.sizing import Sizing
from mixnorm.errors import DataError


def load_mnist_m(split: str, sizing: Sizing, data_dir: Path | None) -> FileDataset:
    """Return MNIST-M, 32 px colour: `mnist_m_<split>/<file>` with lines `<file> <label>` in a text file beside it."""
    folder = find("mnist-m", f"mnist_m/mnist_m_{split}", data_dir)
    listing = find("mnist-m", f"mnist_m/mnist_m_{split}_labels.txt", data_dir)
    pairs = [line.split() for line in listing.read_text().splitlines() if line.strip()]
    for pair in pairs:
        if len(pair) != 2 or not pair[1].isdigit():
            raise DataError(f"{listing} has the line {' '.join(pair)!r}, not a file and a digit")
    paths = [folder / file for file, _ in pairs]
    return FileDataset("mnist-m", folder, paths, [int(label) for _, label in pairs], DIGITS, sizing=sizing)
