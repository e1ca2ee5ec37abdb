"""The layer of MixNorm (Algorithm 1): each sample is normalised with its own mixture of moving and local statistics."""

from torch import Tensor

from mixnorm.norms.layer import AdaptiveNorm
from mixnorm.norms.memory import Call
from mixnorm.norms.plan import MovingPlan


class MixNormLayer(AdaptiveNorm):
    """Global statistics that move with each sample, mixed with the statistics of the sample and its views."""

    def estimate(self, rows_2RC: Tensor, positions: int, plan: MovingPlan, call: Call) -> Tensor:
        """Mix the moving statistics after each sample's own update with its local ones, (2, B, C)."""
        self.keeps_source(positions == 1)
        if positions == 1:
            # One position has no variance: a moving average of it would decay to zero.
            return self.context.memory.sources[self.name]
        start_2SC = self.start(call, plan)
        if plan.blocks:
            self.note(call, rows_2RC, rows_2RC)
        return plan.mixed(start_2SC, rows_2RC)
