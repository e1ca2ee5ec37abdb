"""ShrinkNorm: this project's own method, one setting for every model and stream."""

import sys
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from mixnorm.adaptation.methods.method import Method
from mixnorm.adaptation.methods.settings import check_count, check_number
from mixnorm.errors import SettingError
from mixnorm.norms import (
    LEAST_CONTENT,
    LEAST_REACH,
    MOST_ALIKE,
    Context,
    LookingPlan,
    Rows,
    Shrinkage,
    ShrinkageLayer,
    until_look,
)


@dataclass(frozen=True, kw_only=True)
class ShrinkNorm(Method, Shrinkage):
    """Move the source statistics by what is shift rather than content, found out for each sample and layer.

    It is no method of the paper. Without views it costs one forward pass, with one view two.

    >>> ShrinkNorm().batch_invariant
    True
    """

    views: int = 0
    """With 1, each sample's mirror image goes through the model too, and the two answers are averaged."""

    averages: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.views, bool) or self.views not in (0, 1):
            raise SettingError(f"views must be 0, or 1 for the mirror image, got {self.views!r}")
        for name in ("content", "spread", "first_content", "first_spread"):
            check_number(name, getattr(self, name), LEAST_CONTENT, sys.float_info.max)
        for name in (
            "doubt",
            "view_doubt",
            "stream_doubt",
            "usual_scatter",
            "one_shift",
            "several_shifts",
            "far_doubt",
        ):
            check_number(name, getattr(self, name), 0, sys.float_info.max)
        if self.several_shifts <= self.one_shift:
            raise SettingError(
                f"several_shifts must be more than one_shift, got {self.several_shifts!r} and {self.one_shift!r}"
            )
        check_number("alike", self.alike, 1, MOST_ALIKE)
        for name in ("reach", "stream_reach"):
            check_number(name, getattr(self, name), LEAST_REACH, sys.float_info.max)
        check_count("often", self.often, least=1)
        check_number("cap", self.cap, 0, 1)
        check_number("stream_cap", self.stream_cap, 0, 1)
        check_number("tau", self.tau, 0, 1)

    def replacement(self, batchnorm: _BatchNorm, context: Context) -> ShrinkageLayer:
        """Make the layer that takes the place of a BatchNorm."""
        return ShrinkageLayer(batchnorm, context, self)

    def plan(self, rows: Rows, device: torch.device, update: bool) -> LookingPlan:
        """Make the plan of a forward pass for the method's layers."""
        return LookingPlan.of(rows, self.tau, device, update)

    def until_look(self, seen: int) -> float:
        """Say how many samples are to come before a stream that has had so many is looked at."""
        return until_look(seen, self.often) if self.tau > 0 else inf
