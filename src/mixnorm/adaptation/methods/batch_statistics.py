"""BN: the statistics of the current batch in the place of the source's."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from mixnorm.adaptation.methods.method import Method
from mixnorm.norms import Context, MixNormBNLayer, PoolingPlan, Rows


@dataclass(frozen=True, kw_only=True)
class BatchStatistics(Method):
    """Normalise each batch with its own statistics, in every mode of the model; nothing is remembered."""

    per_sample: ClassVar[bool] = False
    bakeable: ClassVar[bool] = False

    def replacement(self, batchnorm: _BatchNorm, context: Context) -> MixNormBNLayer:
        """Make the layer that takes the place of a BatchNorm."""
        return MixNormBNLayer(batchnorm, context)

    def plan(self, rows: Rows, device: torch.device, update: bool) -> PoolingPlan:
        """Make the plan of a forward pass: nothing moves."""
        return PoolingPlan.make(rows, 0.0, device, update, m=1.0)
