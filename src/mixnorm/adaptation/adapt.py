"""The one line that adapts a model."""

import copy
from collections.abc import Sequence
from numbers import Integral

import torch
from torch import nn

from mixnorm.adaptation.adapted_model import AdaptedModel
from mixnorm.adaptation.methods import Method, ShrinkNorm
from mixnorm.adaptation.replacement import check_method_type, check_module
from mixnorm.errors import ModelError, SettingError


def adapt(
    model: nn.Module,
    method: Method | None = None,
    *,
    seed: int = 0,
    keep: Sequence[str] = (),
    compile: bool = False,  # noqa: A002 - the word of torch
) -> AdaptedModel:
    """Make a copy of a model that adapts to what it sees; the model itself is left as it is.

    Without a method it is `ShrinkNorm()`, which needs no tuning. BatchNorm layers named in `keep` stay at their source
    statistics. The seed is that of the augmented views. With `compile` the copy runs through `torch.compile`, which
    takes its time at the first batch.

    >>> model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Flatten(), nn.LazyLinear(10)).eval()
    >>> _ = model(torch.rand(1, 3, 8, 8))
    >>> adapted = adapt(model)
    >>> adapted(torch.rand(4, 3, 8, 8)).shape
    torch.Size([4, 10])
    >>> [(layer.kind, layer.status, layer.reason) for layer in adapted.report().layers]
    [('BatchNorm2d', 'replaced', 'adapts')]
    """
    check_module(model)
    method = ShrinkNorm() if method is None else method
    check_method_type(method)
    if isinstance(model, AdaptedModel):
        raise ModelError("the model adapts already; adapt the source model instead")
    return AdaptedModel(_copied(model), method, seed=_whole_number(seed), keep=keep, compile=compile)


def _copied(model: nn.Module) -> nn.Module:
    # Tensors made in inference mode could neither learn nor change later: a copy made outside of it can.
    with torch.inference_mode(False):
        try:
            return copy.deepcopy(model)
        except (RuntimeError, TypeError, ValueError) as error:
            raise ModelError(
                f"{type(model).__name__} cannot be copied: {error}; run lazy modules once, and take off what keeps "
                "tensors with gradients (such as the old weight_norm), before adapting"
            ) from error


def _whole_number(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, Integral):
        raise SettingError(f"seed must be a whole number, got {seed!r}")
    return int(seed)
