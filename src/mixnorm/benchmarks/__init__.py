"""What adaptation is measured on: corruptions, data sets, streams and source models, knowing nothing of methods."""

from mixnorm.benchmarks.cache import data_dir
from mixnorm.benchmarks.corruptions import CORRUPTIONS, EXTRA_CORRUPTIONS, corrupt
from mixnorm.benchmarks.datasets import Dataset, download_dataset, load_dataset
from mixnorm.benchmarks.models import (
    SourceModel,
    ZeroShotClassifier,
    check_clean_accuracy,
    download_model,
    list_models,
    load_model,
    zero_shot,
)
from mixnorm.benchmarks.streams import Batch, Stream, load_stream

__all__ = [
    "CORRUPTIONS",
    "EXTRA_CORRUPTIONS",
    "Batch",
    "Dataset",
    "SourceModel",
    "Stream",
    "ZeroShotClassifier",
    "check_clean_accuracy",
    "corrupt",
    "data_dir",
    "download_dataset",
    "download_model",
    "list_models",
    "load_dataset",
    "load_model",
    "load_stream",
    "zero_shot",
]
