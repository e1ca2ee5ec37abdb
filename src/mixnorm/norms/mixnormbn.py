"""The layer of MixNormBN (Algorithm 2): the samples of a batch are normalised together."""

from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from mixnorm.norms.layer import AdaptiveNorm, Context
from mixnorm.norms.memory import Call
from mixnorm.norms.plan import PoolingPlan
from mixnorm.norms.statistics import mix, of_samples, pool_views


class MixNormBNLayer(AdaptiveNorm):
    """Global statistics that move with each batch, mixed with the statistics of the batch and its views.

    With `m = 1` and no moving speed these are the batch statistics alone: the layer of BN and TENT.
    """

    def __init__(self, batchnorm: _BatchNorm, context: Context, m: float) -> None:
        super().__init__(batchnorm, context)
        self.m = m

    def estimate(self, rows_2RC: Tensor, positions: int, plan: PoolingPlan, call: Call) -> Tensor:
        """Mix each stream's moving statistics with those of its samples in the batch, (2, 1, C) for a single stream."""
        self.kept_source = positions == 1 and plan.alone
        start_2SC = self.start(call, plan)
        # A single value has no variance: such a stream stays where it is.
        part_S1 = plan.several_S1 if positions == 1 else None
        mixed_2SC = self._mix(start_2SC, rows_2RC, plan, part_S1)
        self.note(call, start_2SC, rows_2RC, mixed_2SC, part_S1)
        return of_samples(mixed_2SC, plan.stream_B)

    def _mix(self, start_2SC: Tensor, rows_2RC: Tensor, plan: PoolingPlan, part_S1: Tensor | None) -> Tensor:
        """Mix the moving statistics after the batch's update with the local ones, (2, S, C)."""
        batch_2SC = local_2SC = plan.pool(rows_2RC if plan.groups == 1 else rows_2RC[:, : plan.samples])
        if plan.groups > 1:
            local_2SC = plan.pool(pool_views(rows_2RC, plan.groups))
        m, tau_S1 = (self.m, plan.tau_S1) if part_S1 is None else (self.m * part_S1, plan.tau_S1 * part_S1)
        moved_2SC = mix(start_2SC, batch_2SC, tau_S1) if plan.update else start_2SC
        return local_2SC if isinstance(m, float) and m == 1 else mix(moved_2SC, local_2SC, m)
