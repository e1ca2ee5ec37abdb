"""ShrinkNorm: this project's own method, one setting for every model and stream."""

import sys
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from mixnorm.adaptation.methods.method import Method
from mixnorm.adaptation.methods.settings import check_number
from mixnorm.errors import SettingError
from mixnorm.norms import Context, MovingPlan, Rows, Shrinkage, ShrinkageLayer


@dataclass(frozen=True, kw_only=True)
class ShrinkNorm(Method):
    """Move the source statistics by what is shift rather than content, found out for each sample and layer.

    It is no method of the paper. Without views it costs one forward pass, with one view two.

    >>> ShrinkNorm().batch_invariant
    True
    """

    views: int = 0
    """With 1, each sample's mirror image goes through the model too, and the two answers are averaged."""
    content: float = 0.1
    """How far the means of clean samples are from the source's: mean square, in source variances."""
    spread: float = 0.2
    """How far the logarithms of the variances of clean samples are from the source's: mean square."""
    doubt: float = 0.6
    """How many times what content shows is taken off what a sample shows."""
    stream_doubt: float = 0.7
    """How many times the scatter of a stream's samples is taken off what they have in common."""
    cap: float = 0.4
    """The largest weight of a sample's own statistics."""
    prior: float = 32
    """How many positions the source statistics count for beside a sample's."""
    tau: float = 3e-3
    """How fast what is known of a stream follows its samples; 0 looks at each sample alone."""

    averages: ClassVar[bool] = True
    keeps_first: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.views, bool) or self.views not in (0, 1):
            raise SettingError(f"views must be 0, or 1 for the mirror image, got {self.views!r}")
        for name in ("content", "spread"):
            check_number(name, getattr(self, name), 1e-6, sys.float_info.max)
        for name in ("doubt", "stream_doubt", "prior"):
            check_number(name, getattr(self, name), 0, sys.float_info.max)
        check_number("cap", self.cap, 0, 1)
        check_number("tau", self.tau, 0, 1)

    def replacement(self, batchnorm: _BatchNorm, context: Context) -> ShrinkageLayer:
        """Make the layer that takes the place of a BatchNorm."""
        return ShrinkageLayer(batchnorm, context, self._rule())

    def plan(self, rows: Rows, device: torch.device, update: bool) -> MovingPlan:
        """Make the plan of a forward pass for the method's layers."""
        return MovingPlan.make(rows, self.tau, device, update)

    def _rule(self) -> Shrinkage:
        return Shrinkage(
            content=float(self.content),
            spread=float(self.spread),
            doubt=float(self.doubt),
            stream_doubt=float(self.stream_doubt),
            cap=float(self.cap),
            prior=float(self.prior),
            tau=float(self.tau),
        )
