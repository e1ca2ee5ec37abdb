"""The methods of test-time adaptation: one frozen dataclass per file."""

from mixnorm.adaptation.methods.batch_statistics import BatchStatistics
from mixnorm.adaptation.methods.entropy import Entropy, mean_entropy
from mixnorm.adaptation.methods.lesson import Lesson, Seen
from mixnorm.adaptation.methods.method import Method
from mixnorm.adaptation.methods.mixnorm import MixNorm
from mixnorm.adaptation.methods.mixnormbn import MixNormBN
from mixnorm.adaptation.methods.optimizer import Optimizer, Steps
from mixnorm.adaptation.methods.presets import Preset
from mixnorm.adaptation.methods.shot import Shot
from mixnorm.adaptation.methods.shrinknorm import ShrinkNorm
from mixnorm.adaptation.methods.source import Source
from mixnorm.adaptation.methods.tent import Tent
from mixnorm.adaptation.methods.ttt import Ttt

__all__ = [
    "BatchStatistics",
    "Entropy",
    "Lesson",
    "Method",
    "MixNorm",
    "MixNormBN",
    "Optimizer",
    "Preset",
    "Seen",
    "Shot",
    "ShrinkNorm",
    "Source",
    "Steps",
    "Tent",
    "Ttt",
    "mean_entropy",
]
