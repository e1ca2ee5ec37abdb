"""Data sets by name: labelled RGB images by index, with their source, checksum and content hash."""

from mixnorm.benchmarks.datasets.catalogue import load_dataset
from mixnorm.benchmarks.datasets.dataset import CLEAN, Dataset, Shift

__all__ = ["CLEAN", "Dataset", "Shift", "load_dataset"]
