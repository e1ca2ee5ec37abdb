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
        batch_SC = local_SC = pool_samples(rows_RC.first(plan.rows.samples), plan.shares_SB, plan.stream_B)
        if plan.rows.groups > 1:
            local_SC = pool_samples(pool_views(rows_RC, plan.rows.groups), plan.shares_SB, plan.stream_B)
        # A single value has no variance: such a stream stays where it is.
        enough_S1 = (plan.sizes_S1 * positions(x) > 1).float()
        self.kept_source = positions(x) == 1 and len(plan.rows.slots) == plan.rows.samples
        start_SC, tau_S1 = self.memory.read(call, plan.slots_S), plan.tau_S1 * enough_S1
        mixed_SC = mix(mix(start_SC, batch_SC, tau_S1), local_SC, self.m * enough_S1)
        by_SC = Statistics(*(tau_S1 * (new - old).detach() for old, new in zip(start_SC, batch_SC, strict=True)))
        step = by_SC if plan.update else None
        self.context.steps.append(Step(self.memory, call, plan.slots_S, step, mixed_SC.detach(), rows_RC.detach()))
        if len(plan.slots_S) == 1:
            return mixed_SC
        return mixed_SC.at(plan.stream_B).repeated(plan.rows.groups)
