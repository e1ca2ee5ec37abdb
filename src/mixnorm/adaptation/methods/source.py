"""The model as it came: the baseline of all comparisons."""

from dataclasses import dataclass
from typing import ClassVar

from mixnorm.adaptation.methods.method import Method


@dataclass(frozen=True, kw_only=True)
class Source(Method):
    """Change nothing."""

    adapts: ClassVar[bool] = False
