"""Adapting a model: replacing its BatchNorm layers, running the replaced model, keeping its state."""

from mixnorm.adaptation.adapt import adapt
from mixnorm.adaptation.adapted_model import AdaptedModel
from mixnorm.adaptation.checks import check_method
from mixnorm.adaptation.methods import BatchStatistics, Entropy, Method, MixNorm, MixNormBN, Preset, Source, Tent
from mixnorm.adaptation.replacement import replace_batchnorm_
from mixnorm.adaptation.report import LayerReport, Report
from mixnorm.adaptation.state_file import Snapshot

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
    "Snapshot",
    "Source",
    "Tent",
    "adapt",
    "check_method",
    "replace_batchnorm_",
]
