"""Adapting a model: replacing its BatchNorm layers, running the replaced model, keeping its state."""

from mixnorm.adaptation.adapt import adapt
from mixnorm.adaptation.adapted_model import AdaptedModel
from mixnorm.adaptation.checks import check_method
from mixnorm.adaptation.methods import (
    BatchStatistics,
    Entropy,
    Method,
    MixNorm,
    MixNormBN,
    Preset,
    Shot,
    ShrinkNorm,
    Source,
    Steps,
    Tent,
    Ttt,
)
from mixnorm.adaptation.offline import adapt_offline
from mixnorm.adaptation.replacement import replace_batchnorm_
from mixnorm.adaptation.report import LayerReport, Report
from mixnorm.adaptation.state_file import Snapshot
from mixnorm.adaptation.taps import find_head

__all__ = [
    "AdaptedModel",
    "BatchStatistics",
    "Entropy",
    "LayerReport",
    "Method",
    "MixNorm",
    "MixNormBN",
    "Preset",
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
    "find_head",
    "replace_batchnorm_",
]
