"""What a layout of corrupted copies offers: where they go, which are there already, how they are written."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mixnorm.benchmarks.datasets import Dataset


class Unit(NamedTuple):
    """A piece of work: one corruption of the kept images from `start` to `stop`."""

    name: str
    start: int
    stop: int


class CopyLayout(ABC):
    """Where the copies of a data set go; `kept` are the indices of the images that are copied."""

    def __init__(self, output: Path, dataset: Dataset, kept: npt.NDArray[np.int64]) -> None:
        self.output = output
        self.dataset = dataset
        self.kept = kept

    @abstractmethod
    def begin(self, name: str) -> None:
        """Prepare for the copies of a corruption."""

    @abstractmethod
    def has(self, unit: Unit, severity: int) -> bool:
        """Whether all copies of a unit are there."""

    @abstractmethod
    def write(self, unit: Unit, severity: int, images: npt.NDArray[np.uint8]) -> None:
        """Store the copies of a unit."""

    @abstractmethod
    def finish(self, name: str, *, complete: bool) -> None:
        """Publish the copies of a corruption, or drop what is of no use because some failed."""
