"""The plan of a pass for averages that leave the most recent samples out.

Averages over recent samples alone are known beside those over all, and are taken off them: both are linear.

Shapes: 2 for mean and variance, B samples, S streams, C columns of the state, N columns of what is found.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from mixnorm.norms.plan import CACHED, Block, MovingPlan, Rows
from mixnorm.norms.statistics import of_samples


class Speeds(NamedTuple):
    """How fast averages follow samples, and how much of that over recent ones is taken off that over all."""

    every: float
    recent: float
    part: float


@dataclass(frozen=True)
class LaggedPlan(MovingPlan):
    """How averages run through a batch where those of recent samples are known beside those of all, and taken off them.

    The state has pairs of columns: what is known of all samples, and of recent ones. What is found is there once.
    """

    recent: MovingPlan
    """How the averages of recent samples run."""
    part: float
    """How much of these is taken off."""
    at_once: "LaggedWeights | None"
    """What each sample sees of both, where all are in one block."""

    @classmethod
    def of(cls, rows: Rows, speeds: Speeds, device: torch.device, update: bool) -> "LaggedPlan":
        """Make the plan for two moving speeds."""
        return _lagged_plan(rows, speeds, device, update)

    def advance(self, start_2SC: Tensor, rows_2RC: Tensor) -> Tensor:
        """Move both."""
        start_2SN, recent_2SN = pairs(start_2SC)
        by = super().advance(start_2SN, rows_2RC), self.recent.advance(recent_2SN, rows_2RC)
        return torch.stack(by, dim=3).flatten(2)

    def lengths(self) -> list[tuple[Tensor, int]]:
        """Add those of recent samples, and what each sample sees of both."""
        each = super().lengths() + self.recent.lengths()
        if self.at_once is not None:
            each += [(self.at_once.weights_2BB, 1), (self.at_once.weights_2BB, 2), (self.at_once.arrived_B1, 0)]
            each += [(self.at_once.kept_B1, 0), (self.at_once.recent_kept_B1, 0)]
        return each

    def known_before(self, state_2SC: Tensor, samples_2BN: Tensor) -> tuple[Tensor, Tensor]:
        """Say what was known of its stream before each sample, as `less_recent` does; of the second the last column.

        In that one every sample has 1.
        """
        if self.at_once is None:
            every_2SN, recent_2SN = pairs(state_2SC)
            every_2BN = self.before(every_2SN, samples_2BN)
            recent_2BN = self.recent.before(recent_2SN, samples_2BN)
            return torch.sub(every_2BN, recent_2BN, alpha=self.part), every_2BN[:, :, -1:]
        every_2BN, recent_2BN = pairs(of_samples(state_2SC, self.stream_B))
        kept_B1, recent_kept_B1 = self.at_once.kept_B1, self.at_once.recent_kept_B1
        begin_2BN = torch.addcmul(every_2BN * kept_B1, recent_2BN, recent_kept_B1, value=-1)
        weight_2B1 = torch.addcmul(self.at_once.arrived_B1, every_2BN[:, :, -1:], kept_B1)
        return torch.baddbmm(begin_2BN, self.at_once.weights_2BB, samples_2BN), weight_2B1


@dataclass(frozen=True)
class LaggedWeights:
    """What each sample sees of those before it in its block, and of what was known of its stream when that began."""

    weights_2BB: Tensor
    """What it sees of others, less what it sees of them as recent ones."""
    kept_B1: Tensor
    """What it sees of what was known of all samples."""
    recent_kept_B1: Tensor
    """What it sees, and takes off, of what was known of recent ones."""
    arrived_B1: Tensor
    """What it sees of others, all of them together."""

    @classmethod
    def of(cls, every: Block, recent: Block, part: float) -> "LaggedWeights":
        """Put the weights of both averages together."""
        arrived_B1, recent_B1 = (block.before_2BB[0].sum(1, keepdim=True) for block in (every, recent))
        weights_2BB = torch.sub(every.before_2BB, recent.before_2BB, alpha=part)
        return cls(weights_2BB, 1 - arrived_B1, part * (1 - recent_B1), arrived_B1)


def pairs(state_2SC: Tensor) -> tuple[Tensor, Tensor]:
    """Take a state of pairs of columns apart: what is known of all samples, and of recent ones.

    >>> pairs(torch.tensor([[[1, 2, 3, 4]]]))
    (tensor([[[1, 3]]]), tensor([[[2, 4]]]))
    """
    return state_2SC[:, :, 0::2], state_2SC[:, :, 1::2]


def less_recent(state_2SC: Tensor, part: float) -> tuple[Tensor, Tensor]:
    """Take a part of what is known of recent samples off what is known of all, and give that as it is, too.

    >>> less_recent(torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]), part=0.5)
    (tensor([[[0., 1.]]]), tensor([[[1., 3.]]]))
    """
    every_2SN, recent_2SN = pairs(state_2SC)
    return torch.sub(every_2SN, recent_2SN, alpha=part), every_2SN


@lru_cache(maxsize=CACHED)
@torch.inference_mode(False)
def _lagged_plan(rows: Rows, speeds: Speeds, device: torch.device, update: bool) -> LaggedPlan:
    plan = MovingPlan.make(rows, speeds.every, device, update)
    recent = MovingPlan.make(rows, speeds.recent, device, plan.update)
    at_once = LaggedWeights.of(plan.blocks[0], recent.blocks[0], speeds.part) if len(plan.blocks) == 1 else None
    return LaggedPlan(**vars(plan), recent=recent, part=speeds.part, at_once=at_once)
