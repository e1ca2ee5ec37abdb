"""The layer of MixNormBN (Algorithm 2): the samples of a batch are normalised together."""

from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from mixnorm.norms.layer import AdaptiveNorm, Context, Step
from mixnorm.norms.plan import PoolingPlan
from mixnorm.norms.statistics import mix, pool_samples, pool_views, positions, row_statistics


class MixNormBNLayer(AdaptiveNorm):
    """Global statistics that move with each batch, mixed with the statistics of the batch and its views.

    With `m = 1` and no moving speed these are the batch statistics alone: the layer of BN and TENT.
    """

    def __init__(self, batchnorm: _BatchNorm, context: Context, m: float) -> None:
        super().__init__(batchnorm, context)
        self.m = m

    def estimate(self, x: Tensor, plan: PoolingPlan, call: int) -> Tensor:
        """Mix each stream's moving statistics with those of its samples in the batch, (2, 1, C) for a single stream."""
        rows_2RC = row_statistics(x)
        batch = local = pool_samples(rows_2RC[:, : plan.rows.samples], plan.shares_SB, plan.stream_B)
        if plan.rows.groups > 1:
            local = pool_samples(pool_views(rows_2RC, plan.rows.groups), plan.shares_SB, plan.stream_B)
        # A single value has no variance: such a stream stays where it is.
        enough_S1 = (plan.sizes_S1 * positions(x) > 1).float()
        self.kept_source = positions(x) == 1 and len(plan.rows.slots) == plan.rows.samples
        start, tau_S1 = self.memory.read(call, plan.slots), plan.tau_S1 * enough_S1
        mixed_2SC = mix(mix(start, batch, tau_S1), local, self.m * enough_S1)
        by_2SC = tau_S1 * (batch - start).detach() if plan.update else None
        self.context.steps.append(Step(self.memory, call, plan.slots, by_2SC, mixed_2SC.detach(), rows_2RC.detach()))
        if len(plan.rows.slots) == 1:
            return mixed_2SC
        return mixed_2SC[:, plan.stream_B].repeat(1, plan.rows.groups, 1)
