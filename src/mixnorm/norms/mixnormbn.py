"""The layer of MixNormBN (Algorithm 2): the samples of a batch are normalised together."""

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from mixnorm.norms.layer import AdaptiveNorm, Context, Step
from mixnorm.norms.memory import Call
from mixnorm.norms.plan import PoolingPlan
from mixnorm.norms.statistics import mix, pool_samples, pool_views


class MixNormBNLayer(AdaptiveNorm):
    """Global statistics that move with each batch, mixed with the statistics of the batch and its views.

    With `m = 1` and no moving speed these are the batch statistics alone: the layer of BN and TENT.
    """

    def __init__(self, batchnorm: _BatchNorm, context: Context, m: float) -> None:
        super().__init__(batchnorm, context)
        self.m = m

    def estimate(self, rows_2RC: Tensor, positions: int, plan: PoolingPlan, call: Call) -> Tensor:
        """Mix each stream's moving statistics with those of its samples in the batch, (2, 1, C) for a single stream."""
        samples_2BC = rows_2RC[:, : plan.samples] if plan.groups > 1 else rows_2RC
        batch_2SC = local_2SC = pool_samples(samples_2BC, plan.shares_SB, plan.stream_B)
        if plan.groups > 1:
            local_2SC = pool_samples(pool_views(rows_2RC, plan.groups), plan.shares_SB, plan.stream_B)
        mixed_2SC, by_2SC = self._mix(batch_2SC, local_2SC, positions, plan, call)
        self.context.steps.append(Step(call, by_2SC, mixed_2SC.detach(), rows_2RC.detach()))
        return mixed_2SC if plan.single else torch.cat([mixed_2SC[:, plan.stream_B]] * plan.groups, dim=1)

    def _mix(
        self, batch_2SC: Tensor, local_2SC: Tensor, positions: int, plan: PoolingPlan, call: Call
    ) -> tuple[Tensor, Tensor | None]:
        """Mix the moving statistics after the batch's update with the local ones, and say how far they move."""
        self.kept_source = positions == 1 and plan.alone
        m: float | Tensor = self.m
        tau_S1 = plan.tau_S1
        if positions == 1:
            # A single value has no variance: such a stream stays where it is.
            m, tau_S1 = m * plan.several_S1, tau_S1 * plan.several_S1
        elif m == 1 and not plan.update:
            return local_2SC, None
        start_2SC = self.start(call, plan)
        if not plan.update:
            return mix(start_2SC, local_2SC, m), None
        moved_2SC = mix(start_2SC, batch_2SC, tau_S1)
        return mix(moved_2SC, local_2SC, m), (tau_S1 * (batch_2SC - start_2SC)).detach()
