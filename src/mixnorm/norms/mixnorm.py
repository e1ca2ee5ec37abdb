"""The layer of MixNorm (Algorithm 1): each sample is normalised with its own mixture of moving and local statistics."""

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from mixnorm.norms.layer import AdaptiveNorm, Context
from mixnorm.norms.memory import Call
from mixnorm.norms.plan import Block, MovingPlan
from mixnorm.norms.statistics import mix, of_samples, pool_views


class MixNormLayer(AdaptiveNorm):
    """Global statistics that move with each sample, mixed with the statistics of the sample and its views."""

    def __init__(self, batchnorm: _BatchNorm, context: Context, m: float) -> None:
        super().__init__(batchnorm, context)
        self.m = m

    def estimate(self, rows_2RC: Tensor, positions: int, plan: MovingPlan, call: Call) -> Tensor:
        """Mix the moving statistics after each sample's own update with its local ones, (2, B, C)."""
        self.kept_source = positions == 1
        if self.kept_source:
            # One position has no variance: a moving average of it would decay to zero.
            return self.context.memory.sources[self.name]
        start_2SC, local_2BC = self.start(call, plan), pool_views(rows_2RC, plan.groups)
        if not plan.blocks:
            return mix(of_samples(start_2SC, plan.stream_B), local_2BC, self.m)
        samples_2BC = rows_2RC if plan.groups == 1 else rows_2RC[:, : plan.samples]
        self.note(call, start_2SC, rows_2RC, samples_2BC)
        if len(plan.blocks) == 1:
            return self._through(plan.blocks[0], start_2SC, samples_2BC, local_2BC)
        return mix(plan.follow(start_2SC, samples_2BC), local_2BC, self.m)

    def _through(self, block: Block, start_2SC: Tensor, samples_2BC: Tensor, local_2BC: Tensor) -> Tensor:
        """Run a moving average through a block, `(1-m) (g + T (s - g)) + m local` in as few operations as can be."""
        begin = of_samples(start_2SC, block.stream_B)
        return torch.baddbmm(mix(begin, local_2BC, self.m), block.weights_2BB, samples_2BC - begin, alpha=1 - self.m)
