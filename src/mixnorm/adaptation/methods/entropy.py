"""Learning the affine parameters by making predictions more certain, as TENT does."""

import dataclasses
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from mixnorm.adaptation.methods.settings import check_number
from mixnorm.errors import SettingError, unknown_name


@dataclass(frozen=True, kw_only=True)
class Entropy:
    """One optimiser step per batch on the affine parameters, downhill the entropy of the predictions.

    `betas` belong to Adam and `momentum` to SGD; the published settings are Adam with `lr=1e-3` for CIFAR-10-C and SGD
    with `lr=2.5e-4` for ImageNet-C.
    """

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

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> "Entropy":
        """Make the settings from plain data."""
        fields = [field.name for field in dataclasses.fields(Entropy)]
        for setting in data:
            if setting not in fields:
                raise unknown_name("setting of Entropy", setting, fields)
        return Entropy(**data)


def mean_entropy(logits: Tensor) -> Tensor:
    """Average the entropy of the predicted distributions: classes lie along dimension 1.

    A logit of minus infinity is a class that cannot be. Samples whose logits are no distribution are left out.

    >>> mean_entropy(torch.zeros(2, 4))  # the logarithm of 4
    tensor(1.3863)
    """
    spoilt_B = (logits.isnan() | logits.isposinf()).flatten(1).any(1)
    log_p = logits.float()[~spoilt_B].log_softmax(1)
    # The logarithm of an impossible class would make 0 * inf of its part, and of the gradients of all.
    return -(log_p.exp() * log_p.masked_fill(log_p.isneginf(), 0)).sum(1).mean()
