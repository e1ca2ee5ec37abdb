"""The plan of a pass for streams that are looked at from time to time.

What samples tell of their stream is gathered with each of them, and becomes known when the stream is looked at. All
samples of a pass see what was known when it began, so that nothing about their streams is worked out layer by layer;
it is the caller's part to end a pass where a look is due.

Shapes: 2 for mean and variance, S streams, C columns of the state, N columns of what is found.
"""

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from mixnorm.norms.plan import CACHED, MovingPlan, Rows

FIRST_LOOK = 8
"""After how many samples a stream is first looked at."""
EARLY = 64
"""Up to so many samples a stream is looked at half-way to the next doubling too."""


def until_look(seen: int, often: int) -> int:
    """Say how many samples are to come before a stream that has had so many is looked at.

    It is whenever their number has doubled, at first half-way to that as well, but no less often than after so many.

    >>> [until_look(seen, often=32) for seen in (0, 7, 8, 12, 31, 32, 63, 64)]
    [8, 1, 4, 4, 1, 32, 1, 32]
    """
    due = FIRST_LOOK
    while due <= seen and due < often:
        doubling = 1 << due.bit_length() - 1
        due += doubling // 2 if due < EARLY else doubling
    return due - seen if seen < due else often - seen % often


@dataclass(frozen=True)
class LookingPlan(MovingPlan):
    """How averages run through a pass where they become known when their stream is looked at.

    The state has pairs of columns: what is gathered, and what is known. What is found is there once.
    """

    looked_at_S1: Tensor | None
    """1 for streams that are looked at when the pass ends, 0 for others; None where none is."""

    @classmethod
    def of(cls, rows: Rows, tau: float, device: torch.device, update: bool) -> "LookingPlan":
        """Make the plan for a moving speed."""
        return _looking_plan(rows, tau, device, update)

    @property
    def makes_known(self) -> bool:
        """Whether the pass changes what the next one sees."""
        return self.looked_at_S1 is not None

    def advance(self, start_2SC: Tensor, rows_2RC: Tensor) -> Tensor:
        """Move what is gathered, and make it known."""
        gathered_2SN, known_2SN = pairs(start_2SC)
        by_2SN = super().advance(gathered_2SN, rows_2RC)
        if self.looked_at_S1 is None:
            return torch.stack([by_2SN, torch.zeros_like(by_2SN)], dim=3).flatten(2)
        return torch.stack([by_2SN, (gathered_2SN + by_2SN - known_2SN) * self.looked_at_S1], dim=3).flatten(2)


def pairs(state_2SC: Tensor) -> tuple[Tensor, Tensor]:
    """Take a state of pairs of columns apart: what is gathered, and what is known.

    >>> pairs(torch.tensor([[[1, 2, 3, 4]]]))
    (tensor([[[1, 3]]]), tensor([[[2, 4]]]))
    """
    return state_2SC[:, :, 0::2], state_2SC[:, :, 1::2]


@lru_cache(maxsize=CACHED)
@torch.inference_mode(False)
def _looking_plan(rows: Rows, tau: float, device: torch.device, update: bool) -> LookingPlan:
    plan = MovingPlan.make(rows, tau, device, update)
    looked_at_S1 = torch.tensor(rows.due, device=device).float()[:, None] if plan.update and any(rows.due) else None
    return LookingPlan(**vars(plan), looked_at_S1=looked_at_S1)
