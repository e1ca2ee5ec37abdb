"""The layer of MixNorm (Algorithm 1): each sample is normalised with its own mixture of moving and local statistics."""

from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from mixnorm.norms.layer import AdaptiveNorm, Context, Step, positions
from mixnorm.norms.plan import MovingPlan
from mixnorm.norms.statistics import Statistics, mix, pool_views, row_statistics


class MixNormLayer(AdaptiveNorm):
    """Global statistics that move with each sample, mixed with the statistics of the sample and its views."""

    def __init__(self, batchnorm: _BatchNorm, context: Context, m: float) -> None:
        super().__init__(batchnorm, context)
        self.m = m

    def estimate(self, x: Tensor, plan: MovingPlan, call: int) -> Statistics:
        """Mix the moving statistics after each sample's own update with its local ones, (R, C)."""
        self.kept_source = positions(x) == 1
        if self.kept_source:
            # One position has no variance: a moving average of it would decay to zero.
            return Statistics(*(stat[None] for stat in self.memory.source))
        rows_RC = row_statistics(x)
        start = self.memory.read(call, plan.slots_S)
        start = start if len(plan.slots_S) == 1 else start.at(plan.stream_B)
        moved = self._move(start, rows_RC, plan, call)
        mixed_BC = mix(moved, pool_views(rows_RC, plan.rows.views), self.m)
        return Statistics(*(stat.repeat(plan.rows.views, 1) for stat in mixed_BC))

    def _move(self, start: Statistics, rows_RC: Statistics, plan: MovingPlan, call: int) -> Statistics:
        """Update the global statistics with the samples themselves, `g <- (1-tau) g + tau s` in order of arrival."""
        if plan.weights_BB is None:
            return start
        samples_BC = Statistics(*(stat[: plan.rows.samples] for stat in rows_RC))
        # g + T (s - g) rather than d g + T s: the weights need not sum to 1 in float32 for a state to stay where it is.
        moved_BC = Statistics(*(g + plan.weights_BB @ (s - g) for g, s in zip(start, samples_BC, strict=True)))
        last_SC = moved_BC.at(plan.last_S).detach()
        self.context.steps.append(Step(self.memory, call, plan.slots_S, last_SC, last_SC, rows_RC.detach()))
        return moved_BC
