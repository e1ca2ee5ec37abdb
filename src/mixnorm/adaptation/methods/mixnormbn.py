"""MixNormBN, Algorithm 2 of the paper."""

import sys
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from mixnorm.adaptation.methods.entropy import Entropy
from mixnorm.adaptation.methods.method import Method
from mixnorm.adaptation.methods.presets import MIXNORMBN, Preset
from mixnorm.adaptation.methods.settings import check_count, check_kind, check_number
from mixnorm.norms import Context, MixNormBNLayer, PoolingPlan, Rows


@dataclass(frozen=True, kw_only=True)
class MixNormBN(Method):
    """Normalise each batch with a mixture of moving statistics and the batch's own; the defaults are Algorithm 2's."""

    m: float = 0.05
    """How much of the mixture is the batch's own (local) statistics, views included."""
    tau_max: float = 0.9
    """How fast the moving (global) statistics follow large batches: `tau = min(1, tau_max * 10^(-3/B))`."""
    views: int = 1
    """How many augmented views of each sample join in the local statistics."""
    learn: Entropy | None = None
    """How the affine parameters are learned; None keeps them fixed."""

    presets: ClassVar[tuple[Preset, ...]] = MIXNORMBN
    per_sample: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_number("m", self.m, 0, 1)
        check_number("tau_max", self.tau_max, 0, sys.float_info.max)
        check_count("views", self.views)
        check_kind("learn", self.learn, Entropy)

    def replacement(self, batchnorm: _BatchNorm, context: Context) -> MixNormBNLayer:
        """Make the layer that takes the place of a BatchNorm."""
        return MixNormBNLayer(batchnorm, context)

    def plan(self, rows: Rows, device: torch.device, update: bool) -> PoolingPlan:
        """Make the plan of a forward pass for the method's layers."""
        return PoolingPlan.make(rows, self.tau_max, device, update, float(self.m))
