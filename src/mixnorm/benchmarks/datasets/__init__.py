"""Data sets by name: labelled RGB images by index, with their source, checksum and content hash."""

from mixnorm.benchmarks.datasets.catalogue import load_dataset
from mixnorm.benchmarks.datasets.dataset import CLEAN, Dataset, Shift
from mixnorm.benchmarks.datasets.fetch import download_dataset
from mixnorm.benchmarks.datasets.shifted import ShiftedDataset

__all__ = ["CLEAN", "Dataset", "Shift", "ShiftedDataset", "download_dataset", "load_dataset"]
