"""The mixing plan: what one forward pass tells every layer about its rows, computed once and used by all of them.

Shapes: B samples, S streams in this batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mixnorm.norms.memory import Slots


@dataclass(frozen=True)
class Rows:
    """Which sample, view and stream each row belongs to.

    Rows come in groups: the samples themselves, then the first view of each, and so on.
    """

    samples: int
    groups: int
    slots: tuple[int, ...]
    """For each stream of the batch, in order of appearance, where the layers keep its state."""
    stream_of: tuple[int, ...]
    """For each sample, the position of its stream in `slots`."""

    @classmethod
    def of(cls, slot_of_sample: Sequence[int], groups: int) -> "Rows":
        """Lay out samples whose streams keep their state in the given slots.

        >>> Rows.of([4, 7, 4], groups=1)
        Rows(samples=3, groups=1, slots=(4, 7), stream_of=(0, 1, 0))
        """
        slots = tuple(dict.fromkeys(slot_of_sample))
        position = {slot: index for index, slot in enumerate(slots)}
        return cls(len(slot_of_sample), groups, slots, tuple(position[slot] for slot in slot_of_sample))

    @property
    def count(self) -> int:
        """The number of rows of a forward pass."""
        return self.samples * self.groups


@dataclass(frozen=True)
class Plan:
    """The rows of a forward pass and their streams as tensors on the model's device."""

    rows: Rows
    slots: Slots
    """Where the layers keep the state of the streams of the batch."""
    stream_B: Tensor
    update: bool
    """Whether the pass moves the state; a frozen model reads it only."""


@dataclass(frozen=True)
class MovingPlan(Plan):
    """How per-sample moving averages run through a batch, in the order of arrival.

    The update is linear, so sample `b` of a stream that starts at `g` sees `g + sum_k weights[b, k] * (s_k - g)`.
    """

    weights_BB: Tensor | None
    """None where nothing moves."""
    last_S: Tensor
    """The last sample of each stream: what it sees is what the stream keeps."""

    @classmethod
    def make(cls, rows: Rows, tau: float, device: torch.device, update: bool) -> "MovingPlan":
        """Make the plan for a moving speed; a pass that does not update has nothing that moves."""
        last = {stream: sample for sample, stream in enumerate(rows.stream_of)}
        weights_BB = moving_weights(torch.tensor(rows.stream_of), tau).to(device) if update and tau > 0 else None
        last_S = _index([last[stream] for stream in range(len(rows.slots))], device)
        return cls(rows, _slots(rows, device), _index(rows.stream_of, device), update, weights_BB, last_S)


@dataclass(frozen=True)
class PoolingPlan(Plan):
    """How the samples of each stream are pooled to batch statistics, and how fast these move the stream's state."""

    shares_SB: Tensor
    sizes_S1: Tensor
    """The number of samples of each stream in the batch."""
    tau_S1: Tensor

    @classmethod
    def make(cls, rows: Rows, tau_max: float, device: torch.device, update: bool) -> "PoolingPlan":
        """Make the plan; `tau = tau_max * 10^(-3/B)` (Algorithm 2), never above 1, with B counted per stream."""
        stream_B = _index(rows.stream_of, device)
        members_SB = torch.arange(len(rows.slots), device=device)[:, None] == stream_B
        sizes_S1 = members_SB.sum(1, keepdim=True).float()
        update = update and tau_max > 0
        tau_S1 = (tau_max * 10 ** (-3 / sizes_S1)).clamp(max=1) if update else torch.zeros_like(sizes_S1)
        return cls(rows, _slots(rows, device), stream_B, update, members_SB / sizes_S1, sizes_S1, tau_S1)


def moving_weights(stream_B: Tensor, tau: float) -> Tensor:
    """Weigh what sample `b` sees of sample `k`: `tau * (1-tau)^(samples of the stream after k, up to b)`.

    It is zero for later samples and for those of other streams.

    >>> moving_weights(torch.tensor([0, 1, 0]), tau=0.5)
    tensor([[0.5000, 0.0000, 0.0000],
            [0.0000, 0.5000, 0.0000],
            [0.2500, 0.0000, 0.5000]])
    """
    arrived_BB = (stream_B[:, None] == stream_B).tril()
    # The n-th sample of its stream has n arrivals in its row, itself included.
    position_B = arrived_BB.sum(1)
    age_BB = (position_B[:, None] - position_B).clamp(min=0)
    # In float64: powers of a rounded 1 - tau would be off by as many roundings as there are samples.
    return (arrived_BB * (tau * (1 - tau) ** age_BB.double())).float()


def _slots(rows: Rows, device: torch.device) -> Slots:
    first = rows.slots[0]
    return slice(first, first + 1) if len(rows.slots) == 1 else _index(rows.slots, device)


def _index(values: Sequence[int], device: torch.device) -> Tensor:
    return torch.tensor(values, dtype=torch.long, device=device)
