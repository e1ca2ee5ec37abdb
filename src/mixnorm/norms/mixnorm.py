"""The layer of MixNorm (Algorithm 1): each sample is normalised with its own mixture of moving and local statistics."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from mixnorm.norms.layer import AdaptiveNorm, Context, Step
from mixnorm.norms.memory import Call
from mixnorm.norms.plan import Block, MovingPlan
from mixnorm.norms.statistics import mix, pool_views


class MixNormLayer(AdaptiveNorm):
    """Global statistics that move with each sample, mixed with the statistics of the sample and its views."""

    def __init__(self, batchnorm: _BatchNorm, context: Context, m: float) -> None:
        super().__init__(batchnorm, context)
        self.m = m

    def estimate(self, rows_2RC: Tensor, positions: int, plan: MovingPlan, call: Call) -> Tensor:
        """Mix the moving statistics after each sample's own update with its local ones, (2, R, C)."""
        self.kept_source = positions == 1
        if self.kept_source:
            # One position has no variance: a moving average of it would decay to zero.
            return self.context.memory.sources[self.name]
        moved = self._move(self.start(call, plan), rows_2RC, plan, call)
        mixed_2BC = mix(moved, pool_views(rows_2RC, plan.groups), self.m)
        return mixed_2BC if plan.groups == 1 else torch.cat([mixed_2BC] * plan.groups, dim=1)

    def _move(self, start_2SC: Tensor, rows_2RC: Tensor, plan: MovingPlan, call: Call) -> Tensor:
        """Update the global statistics with the samples themselves."""
        samples_2BC = rows_2RC[:, : plan.samples] if plan.groups > 1 else rows_2RC
        moved, by_2SC = moving_average(samples_2BC, start_2SC, plan)
        if by_2SC is not None:
            self.context.steps.append(Step(call, by_2SC, by_2SC, rows_2RC.detach()))
        return moved


def moving_average(samples_2BC: Tensor, start_2SC: Tensor, plan: MovingPlan) -> tuple[Tensor, Tensor | None]:
    """Run `g <- (1-tau) g + tau s` through a batch, as it arrives: what each sample sees, and how far streams move.

    Nothing moves where the plan has no blocks.
    """
    if not plan.blocks:
        return _of_samples(start_2SC, plan.stream_B), None
    if len(plan.blocks) == 1:
        return _through(plan.blocks[0], samples_2BC, start_2SC)
    return _through_all(plan.blocks, samples_2BC, start_2SC)


def _through(block: Block, samples_2BC: Tensor, start_2SC: Tensor) -> tuple[Tensor, Tensor]:
    """Run a moving average through a block: what each sample sees, and how far the block's streams move."""
    begin = _of_samples(start_2SC, block.stream_B)
    # g + T (s - g), not d g + T s: the weights need not sum to 1 in float32 for a state to stay where it is.
    by_2BC = torch.bmm(block.weights_2BB, samples_2BC - begin)
    return begin + by_2BC, by_2BC[:, block.last].detach()


def _through_all(blocks: Sequence[Block], samples_2BC: Tensor, start_2SC: Tensor) -> tuple[Tensor, Tensor]:
    """Run a moving average through blocks one after the other; gradients do not reach from one into the next."""
    by_2SC, moved = torch.zeros_like(start_2SC), []
    for block in blocks:
        seen, by = _through(block, samples_2BC[:, block.samples], start_2SC + by_2SC)
        moved.append(seen)
        by_2SC[:, block.streams] += by
    return torch.cat(moved, dim=1), by_2SC


def _of_samples(stats_2SC: Tensor, stream_B: Tensor) -> Tensor:
    """Give each sample the statistics of its stream; those of a single stream are everyone's as they are."""
    return stats_2SC if stats_2SC.shape[1] == 1 else stats_2SC[:, stream_B]
