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
    Shot,
    ShrinkNorm,
    Snapshot,
    Source,
    Steps,
    Tent,
    Ttt,
    adapt,
    adapt_offline,
    check_method,
    find_head,
    replace_batchnorm_,
)
from mixnorm.benchmarks import load_dataset, load_model, load_stream, zero_shot
from mixnorm.errors import MixNormError
from mixnorm.evaluation import Protocol, Record, evaluate, iter_evaluate

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
    "Protocol",
    "Record",
    "Report",
    "Shot",
    "ShrinkNorm",
    "Snapshot",
    "Source",
    "Steps",
    "Tent",
    "Ttt",
    "adapt",
    "adapt_offline",
    "check_method",
    "evaluate",
    "find_head",
    "iter_evaluate",
    "load_dataset",
    "load_model",
    "load_stream",
    "replace_batchnorm_",
    "zero_shot",
]
