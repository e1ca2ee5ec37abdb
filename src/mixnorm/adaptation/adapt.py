"""The one line that adapts a model."""

import copy
from collections.abc import Sequence

import torch
from torch import nn

from mixnorm.adaptation.adapted_model import AdaptedModel
from mixnorm.adaptation.methods import Method, MixNorm
from mixnorm.adaptation.replacement import check_module
from mixnorm.errors import ModelError, SettingError


def adapt(model: nn.Module, method: Method | None = None, *, seed: int = 0, keep: Sequence[str] = ()) -> AdaptedModel:
    """Make a copy of a model that adapts to what it sees; the model itself is left as it is.

    BatchNorm layers named in `keep` stay at their source statistics. The seed is that of the augmented views.

    >>> model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Flatten(), nn.LazyLinear(10)).eval()
    >>> _ = model(torch.rand(1, 3, 8, 8))
    >>> adapted = adapt(model)
    >>> adapted(torch.rand(4, 3, 8, 8)).shape
    torch.Size([4, 10])
    >>> print(adapted.report())
    MixNorm(m=0.05, tau=0.001, views=1, learn=None): 1 BatchNorm layers replaced, 0 kept
    layer  kind         channels  status    why
    1      BatchNorm2d  8         replaced  adapts
    """
    check_module(model)
    if method is None:
        method = MixNorm()
    if not isinstance(method, Method):
        hint = f"; make one with {method.__name__}()" if isinstance(method, type) else ""
        raise SettingError(f"the method must be one of mixnorm's, such as mixnorm.MixNorm(), got {method!r}{hint}")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise SettingError(f"seed must be a whole number, got {seed!r}")
    if isinstance(model, AdaptedModel):
        raise ModelError("the model adapts already; adapt the source model instead")
    # Tensors made in inference mode could neither learn nor change later: a copy made outside of it can.
    with torch.inference_mode(False):
        return AdaptedModel(copy.deepcopy(model), method, seed=seed, keep=keep)
