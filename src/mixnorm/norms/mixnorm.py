"""The layer of MixNorm (Algorithm 1): each sample is normalised with its own mixture of moving and local statistics."""

from functools import partial

from mixnorm.norms.layer import AdaptiveNorm
from mixnorm.norms.memory import Call
from mixnorm.norms.plan import MovingPlan
from mixnorm.norms.statistics import Estimate


class MixNormLayer(AdaptiveNorm):
    """Global statistics that move with each sample, mixed with the statistics of the sample and its views."""

    def estimate(self, positions: int, plan: MovingPlan, call: Call) -> Estimate:
        """Mix the moving statistics after each sample's own update with its local ones, (B, C)."""
        if positions == 1:
            self.context.kept.append(self.name)
            # One position has no variance: a moving average of it would decay to zero.
            mean_1C, var_1C = self.context.memory.sources[self.name]
            return lambda _: (mean_1C, var_1C)
        return partial(plan.mixed, self.start(call, plan))
