"""Test-time adaptation of BatchNorm models in PyTorch: one line, any batch size, any mixture of shifts."""

from mixnorm.adaptation import (
    AdaptedModel,
    BatchStatistics,
    Entropy,
    LayerReport,
    Method,
    MixNorm,
    MixNormBN,
    Preset,
    Report,
    Snapshot,
    Source,
    Tent,
    adapt,
    check_method,
    replace_batchnorm_,
)
from mixnorm.benchmarks import load_dataset, load_model, load_stream
from mixnorm.errors import MixNormError

__version__ = "0.1.0"

__all__ = [
    "AdaptedModel",
    "BatchStatistics",
    "Entropy",
    "LayerReport",
    "Method",
    "MixNorm",
    "MixNormBN",
    "MixNormError",
    "Preset",
    "Report",
    "Snapshot",
    "Source",
    "Tent",
    "adapt",
    "check_method",
    "load_dataset",
    "load_model",
    "load_stream",
    "replace_batchnorm_",
]
