"""What the layers of a forward pass found: kept apart from the state until the whole pass has succeeded.

Shapes: 2 for mean and variance, R rows, S streams, C channels of a layer, N channels of all calls side by side.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from mixnorm.norms.memory import Call, Memory
from mixnorm.norms.plan import Plan
from mixnorm.norms.statistics import Stats, full_precision, sums_up

Observe = Callable[["Found", Tensor], Tensor]
"""Says what the statistics of samples, (2, B, N), mean to the state of the calls of a pass."""


@dataclass(slots=True)
class Step:
    """What one call of a layer did."""

    call: Call
    rows: Stats
    """The statistics of each row, (R, C)."""
    pooled: Stats | None = None
    """Statistics that several samples have a part in, where these are not those of the rows."""
    part_S1: Tensor | None = None
    """Which part of its way each stream goes; None where all go all of it."""
    positions: int = 1
    """How many positions the maps had."""
    by_2SC: Tensor | None = None
    """How far it moves the state, where that was worked out at once."""

    def brief(self, plan: Plan, start: Stats) -> "Step":
        """Keep of the statistics how large they are, which tells who spoils them, and work out now how far they move.

        A pass that learns holds all its maps until its end, and would hold the statistics of all rows beside them.
        """
        by_2SC = None
        if plan.update:
            by_2SC = plan.advance(torch.stack(start), torch.stack(self.rows)[:, : plan.samples])
            by_2SC = by_2SC if self.part_S1 is None else by_2SC * self.part_S1
        pooled = None if self.pooled is None else _sizes(self.pooled)
        return Step(self.call, _sizes(self.rows), pooled, positions=self.positions, by_2SC=by_2SC)


@dataclass(slots=True)
class Move:
    """How far the statistics of the calls of a pass move."""

    plan: Plan
    calls: list[Call]
    by_2SN: Tensor

    def commit(self, memory: Memory) -> None:
        """Make it part of the state."""
        memory.move(self.plan.slots, self.calls, self.by_2SN, seen=self.plan.makes_known)


@dataclass(slots=True)
class Found:
    """What all calls of a pass did, side by side: one table in the place of two tensors for each call."""

    calls: list[Call]
    channels: list[int]
    """How many columns each call has."""
    rows_2RN: Tensor
    """The statistics of each row."""
    shared_2RN: Tensor
    """Statistics that several samples have a part in: finite unless a sample spoils them."""
    parts: list[Tensor | None]
    """Which part of its way each stream goes in a call, (S, 1); None where all go all of it."""
    positions: list[int]
    """How many positions the maps of each call had."""
    by_2SN: Tensor | None = None
    """How far the state moves, where that is known already."""

    @classmethod
    def of(cls, steps: Sequence[Step]) -> Self:
        """Put the steps together."""
        rows_2RN = shared_2RN = _joined([step.rows for step in steps])
        if any(step.pooled is not None for step in steps):
            shared_2RN = _joined([step.rows if step.pooled is None else step.pooled for step in steps])
        channels = [step.rows[0].shape[1] for step in steps]
        calls, parts, positions = zip(*((step.call, step.part_S1, step.positions) for step in steps), strict=True)
        moves = [step.by_2SC for step in steps if step.by_2SC is not None]
        by_2SN = torch.cat(moves, dim=2) if moves else None
        return cls(list(calls), channels, rows_2RN, shared_2RN, list(parts), list(positions), by_2SN)

    def spoilt(self, samples: int) -> list[int]:
        """Find the samples that spoilt what others share, in the first call that met any.

        Layers after it may see other samples that are not finite only because they met the first ones. Samples that
        spoil are those that are not finite, else the one of largest values.
        """
        if sums_up(self.shared_2RN):
            return []
        each_shared, each_rows = (
            table.split_with_sizes(self.channels, 2) for table in (self.shared_2RN, self.rows_2RN)
        )
        for shared_2RC, rows_2RC in zip(each_shared, each_rows, strict=True):
            if not shared_2RC.isfinite().all():
                extent_B = rows_2RC.abs().amax((0, 2)).view(-1, samples).amax(0)
                unusable = extent_B.isfinite().logical_not().nonzero().flatten().tolist()
                return unusable or [int(extent_B.argmax())]
        return []

    def move(self, plan: Plan, memory: Memory, start_2SN: Tensor | None, observe: Observe | None = None) -> Move:
        """Say how far the state moves, for all layers at once, since their channels are alike.

        `start_2SN` is what all calls that the memory holds had when the pass began, where that was read; `observe` says
        what the state is made of, where it is not of the statistics as they are.
        """
        if self.by_2SN is not None:
            return Move(plan, self.calls, self.by_2SN)
        if start_2SN is None or not memory.holds(self.calls):
            start_2SN = memory.read_columns(plan.slots, memory.columns(self.calls))
        with full_precision(self.rows_2RN.device):
            rows_2BN = self.rows_2RN[:, : plan.samples]
            by_2SN = plan.advance(start_2SN, rows_2BN if observe is None else observe(self, rows_2BN))
        if any(part_S1 is not None for part_S1 in self.parts):
            whole_S1 = torch.ones_like(by_2SN[0, :, :1])
            parts = [whole_S1 if part_S1 is None else part_S1 for part_S1 in self.parts]
            by_2SN *= torch.cat([part.expand(-1, own) for part, own in zip(parts, self.channels, strict=True)], dim=1)
        return Move(plan, self.calls, by_2SN)


def _sizes(stats: Stats) -> Stats:
    """Say how large the statistics of rows are at most, (R, 1): not finite where any is not."""
    return stats[0].abs().amax(1, keepdim=True), stats[1].abs().amax(1, keepdim=True)


def _joined(stats: Iterable[Stats]) -> Tensor:
    """Put the statistics of all calls side by side, (2, R, N)."""
    means, variances = zip(*stats, strict=True)
    both_R2N = torch.cat(means + variances, dim=1).view(means[0].shape[0], 2, -1)
    return both_R2N.transpose(0, 1)
