"""MixNorm, Algorithm 1 of the paper."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from mixnorm.adaptation.methods.entropy import Entropy
from mixnorm.adaptation.methods.method import Method
from mixnorm.adaptation.methods.presets import MIXNORM, Preset
from mixnorm.adaptation.methods.settings import check_count, check_kind, check_number
from mixnorm.norms import Context, MixNormLayer, MovingPlan, Rows


@dataclass(frozen=True, kw_only=True)
class MixNorm(Method):
    """Normalise each sample with a mixture of moving statistics and its own; the defaults are Algorithm 1's.

    >>> MixNorm(m=0.2)
    MixNorm(m=0.2, tau=0.001, views=1, learn=None)
    """

    m: float = 0.05
    """How much of the mixture is the sample's own (local) statistics."""
    tau: float = 1e-3
    """How fast the moving (global) statistics follow the samples."""
    views: int = 1
    """How many augmented views of the sample join in its local statistics."""
    learn: Entropy | None = None
    """How the affine parameters are learned; None keeps them fixed."""

    presets: ClassVar[tuple[Preset, ...]] = MIXNORM

    def __post_init__(self) -> None:
        check_number("m", self.m, 0, 1)
        check_number("tau", self.tau, 0, 1)
        check_count("views", self.views)
        check_kind("learn", self.learn, Entropy)

    def replacement(self, batchnorm: _BatchNorm, context: Context) -> MixNormLayer:
        """Make the layer that takes the place of a BatchNorm."""
        return MixNormLayer(batchnorm, context)

    def plan(self, rows: Rows, device: torch.device, update: bool) -> MovingPlan:
        """Make the plan of a forward pass for the method's layers."""
        return MovingPlan.make(rows, self.tau, device, update, float(self.m))
