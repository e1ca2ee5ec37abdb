"""TENT: batch statistics, and affine parameters learned by entropy minimisation."""

from dataclasses import dataclass, field
from typing import ClassVar

from mixnorm.adaptation.methods.batch_statistics import BatchStatistics
from mixnorm.adaptation.methods.entropy import Entropy
from mixnorm.adaptation.methods.presets import TENT, Preset
from mixnorm.adaptation.methods.settings import check_kind
from mixnorm.errors import SettingError


@dataclass(frozen=True, kw_only=True)
class Tent(BatchStatistics):
    """Normalise with batch statistics and take one step on the affine parameters after each prediction."""

    learn: Entropy = field(default_factory=Entropy)

    presets: ClassVar[tuple[Preset, ...]] = TENT

    def __post_init__(self) -> None:
        if self.learn is None:
            raise SettingError("Tent without learning is BatchStatistics(); got learn=None")
        check_kind("learn", self.learn, Entropy)
