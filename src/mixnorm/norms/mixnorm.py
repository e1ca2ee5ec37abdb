"""The layer of MixNorm (Algorithm 1): each sample is normalised with its own mixture of moving and local statistics."""

from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from mixnorm.norms.layer import AdaptiveNorm, Context, Step
from mixnorm.norms.plan import MovingPlan
from mixnorm.norms.statistics import mix, pool_views, positions, row_statistics


class MixNormLayer(AdaptiveNorm):
    """Global statistics that move with each sample, mixed with the statistics of the sample and its views."""

    def __init__(self, batchnorm: _BatchNorm, context: Context, m: float) -> None:
        super().__init__(batchnorm, context)
        self.m = m

    def estimate(self, x: Tensor, plan: MovingPlan, call: int) -> Tensor:
        """Mix the moving statistics after each sample's own update with its local ones, (2, R, C)."""
        self.kept_source = positions(x) == 1
        if self.kept_source:
            # One position has no variance: a moving average of it would decay to zero.
            return self.memory.source_21C
        rows_2RC = row_statistics(x)
        start = self.memory.read(call, plan.slots)
        if len(plan.rows.slots) > 1:
            start = start[:, plan.stream_B]
        mixed_2BC = mix(self._move(start, rows_2RC, plan, call), pool_views(rows_2RC, plan.rows.groups), self.m)
        return mixed_2BC if plan.rows.groups == 1 else mixed_2BC.repeat(1, plan.rows.groups, 1)

    def _move(self, start: Tensor, rows_2RC: Tensor, plan: MovingPlan, call: int) -> Tensor:
        """Update the global statistics with the samples themselves, `g <- (1-tau) g + tau s` in order of arrival."""
        if plan.weights_BB is None:
            return start
        # g + T (s - g) rather than d g + T s: the weights need not sum to 1 in float32 for a state to stay where it is.
        by_2BC = plan.weights_BB @ (rows_2RC[:, : plan.rows.samples] - start)
        by_2SC = by_2BC[:, plan.last_S].detach()
        self.context.steps.append(Step(self.memory, call, plan.slots, by_2SC, by_2SC, rows_2RC.detach()))
        return start + by_2BC
