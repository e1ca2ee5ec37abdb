"""The layer of MixNormBN (Algorithm 2): the samples of a batch are normalised together."""

from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from mixnorm.norms.layer import AdaptiveNorm, Context, Step, positions
from mixnorm.norms.plan import PoolingPlan
from mixnorm.norms.statistics import Statistics, mix, pool_samples, pool_views, row_statistics


class MixNormBNLayer(AdaptiveNorm):
    """Global statistics that move with each batch, mixed with the statistics of the batch and its views.

    With `m = 1` and no moving speed these are the batch statistics alone: the layer of BN and TENT.
    """

    def __init__(self, batchnorm: _BatchNorm, context: Context, m: float) -> None:
        super().__init__(batchnorm, context)
        self.m = m

    def estimate(self, x: Tensor, plan: PoolingPlan, call: int) -> Statistics:
        """Mix each stream's moving statistics with those of its samples in the batch, (1, C) for a single stream."""
        rows_RC = row_statistics(x)
        samples_BC = Statistics(*(stat[: plan.rows.samples] for stat in rows_RC))
        batch_SC = pool_samples(samples_BC, plan.shares_SB, plan.stream_B)
        local_SC = batch_SC
        if plan.rows.views > 1:
            local_SC = pool_samples(pool_views(rows_RC, plan.rows.views), plan.shares_SB, plan.stream_B)
        # A single value has no variance: such a stream stays where it is.
        enough_S1 = (plan.sizes_S1 * positions(x) > 1).float()
        self.kept_source = positions(x) == 1 and plan.rows.samples == 1
        moved_SC = mix(self.memory.read(call, plan.slots_S), batch_SC, plan.tau_S1 * enough_S1)
        mixed_SC = mix(moved_SC, local_SC, self.m * enough_S1)
        state = moved_SC.detach() if plan.update else None
        self.context.steps.append(Step(self.memory, call, plan.slots_S, state, mixed_SC.detach(), rows_RC.detach()))
        if len(plan.slots_S) == 1:
            return mixed_SC
        return Statistics(*(stat.repeat(plan.rows.views, 1) for stat in mixed_SC.at(plan.stream_B)))
