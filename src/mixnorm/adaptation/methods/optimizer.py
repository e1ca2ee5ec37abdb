"""How learned parameters move: one step of an optimiser after each prediction."""

import dataclasses
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import torch
from torch import Tensor

from mixnorm.adaptation.methods.settings import check_number
from mixnorm.errors import SettingError, unknown_name


@dataclass(frozen=True, kw_only=True)
class Optimizer:
    """The settings of Adam (`betas`) or SGD (`momentum`)."""

    optimizer: Literal["adam", "sgd"] = "adam"
    lr: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    momentum: float = 0.9

    def __post_init__(self) -> None:
        if self.optimizer not in ("adam", "sgd"):
            raise SettingError(f"optimizer must be 'adam' or 'sgd', got {self.optimizer!r}")
        check_number("lr", self.lr, 0, sys.float_info.max)
        check_number("momentum", self.momentum, 0, 1)
        if not isinstance(self.betas, Sequence) or len(self.betas) != 2:
            raise SettingError(f"betas must be two numbers, got {self.betas!r}")
        for beta in self.betas:
            check_number("betas", beta, 0, math.nextafter(1, 0))
        object.__setattr__(self, "betas", tuple(self.betas))

    def make_optimizer(self, parameters: Sequence[Tensor]) -> torch.optim.Optimizer:
        """Make the optimiser for some parameters."""
        if self.optimizer == "adam":
            return torch.optim.Adam(parameters, lr=self.lr, betas=self.betas)
        return torch.optim.SGD(parameters, lr=self.lr, momentum=self.momentum)

    def changed(self, settings: Mapping[str, Any]) -> Self:
        """Make the same with some settings changed, given as plain data."""
        fields = [field.name for field in dataclasses.fields(self)]
        for setting in settings:
            if setting not in fields:
                raise unknown_name(f"setting of {type(self).__name__}", setting, fields)
        return dataclasses.replace(self, **settings)


@dataclass(frozen=True, kw_only=True)
class Steps(Optimizer):
    """The optimiser of a method with a loss of its own, such as SHOT and TTT.

    >>> Steps(lr=0.01, momentum=0.9, weight_decay=1e-3).optimizer
    'sgd'
    """

    optimizer: Literal["adam", "sgd"] = "sgd"
    momentum: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("weight_decay", self.weight_decay, 0, sys.float_info.max)
        if not isinstance(self.nesterov, bool) or (self.nesterov and not self._has_momentum()):
            raise SettingError(f"nesterov must be False, or True for SGD with a momentum, got {self.nesterov!r}")

    def make_optimizer(self, parameters: Sequence[Tensor]) -> torch.optim.Optimizer:
        """Make the optimiser for some parameters."""
        optimizer = super().make_optimizer(parameters)
        for group in optimizer.param_groups:
            group["weight_decay"] = self.weight_decay
            if self.nesterov:
                group["nesterov"] = True
        return optimizer

    def _has_momentum(self) -> bool:
        return self.optimizer == "sgd" and self.momentum > 0
