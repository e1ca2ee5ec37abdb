"""The methods of test-time adaptation: one frozen dataclass per file."""

from mixnorm.adaptation.methods.batch_statistics import BatchStatistics
from mixnorm.adaptation.methods.entropy import Entropy, mean_entropy
from mixnorm.adaptation.methods.method import Method
from mixnorm.adaptation.methods.mixnorm import MixNorm
from mixnorm.adaptation.methods.mixnormbn import MixNormBN
from mixnorm.adaptation.methods.presets import Preset
from mixnorm.adaptation.methods.source import Source
from mixnorm.adaptation.methods.tent import Tent

__all__ = [
    "BatchStatistics",
    "Entropy",
    "Method",
    "MixNorm",
    "MixNormBN",
    "Preset",
    "Source",
    "Tent",
    "mean_entropy",
]
