"""Arrays in `.npy` files: opening one, and a user's own images and labels in two of them."""

import tokenize
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mixnorm.benchmarks.datasets.arrays import ArrayDataset
from mixnorm.benchmarks.datasets.dataset import numbered_classes
from mixnorm.benchmarks.datasets.sizing import Sizing
from mixnorm.errors import DataError, MissingDataError

# What numpy and zipfile raise for bytes that are no array, cut short, or whose header is damaged.
UNREADABLE = (ValueError, OSError, EOFError, SyntaxError, RuntimeError, tokenize.TokenError, MemoryError)


def open_npy(path: Path) -> npt.NDArray[np.uint8]:
    """Return the array of an `.npy` file, memory-mapped; its type is for the caller to check."""
    try:
        array: npt.NDArray[np.uint8] = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError as error:
        raise MissingDataError(f"there is nothing at {path}; give the path of an .npy file that exists") from error
    except UNREADABLE as error:
        raise DataError(f"{path} cannot be read as an .npy file of plain numbers: {error}; make it again") from error
    if not isinstance(array, np.ndarray):
        raise DataError(f"{path} cannot be read as an .npy file of plain numbers: it holds several arrays")
    return array


def load_npy(path: Path, labels: Path, sizing: Sizing) -> ArrayDataset:
    """Return the images of one `.npy` file with the labels of another; classes go by their numbers."""
    numbers = open_npy(labels)
    return ArrayDataset(path.name, open_npy(path), numbers, numbered_classes(str(labels), numbers), sizing=sizing)
