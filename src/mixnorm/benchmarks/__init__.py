"""What adaptation is measured on: corruptions, data sets, streams and source models, knowing nothing of methods."""

from mixnorm.benchmarks.cache import data_dir
from mixnorm.benchmarks.datasets import Dataset, download_dataset, load_dataset
from mixnorm.benchmarks.streams import Batch, Stream, load_stream

__all__ = ["Batch", "Dataset", "Stream", "data_dir", "download_dataset", "load_dataset", "load_stream"]
