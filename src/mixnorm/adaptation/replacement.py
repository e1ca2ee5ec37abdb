"""Putting adapting layers in the place of a model's BatchNorm layers, and taking them out again."""

from collections.abc import Collection, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from mixnorm.adaptation.methods import Method, MixNorm
from mixnorm.errors import InputError, ModelError, NothingToAdaptError, unknown_name
from mixnorm.norms import DIMENSIONS, AdaptiveNorm, Context


def replace_batchnorm_(model: nn.Module, method: Method | None = None, *, keep: Sequence[str] = ()) -> nn.Module:
    """Replace the BatchNorm layers of a model in place, and return it.

    The layers then adapt on their own whenever the model runs: rows are the samples of one stream, followed by their
    views where the method has any. A model that is itself a BatchNorm cannot be changed in place: use what is returned.

    >>> model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8))
    >>> type(replace_batchnorm_(model, MixNorm(views=0))[1]).__name__
    'MixNormLayer'
    """
    method = MixNorm() if method is None else method
    return replace_all_(model, method, Context(method.plan, views=1 + method.augmentations), keep)


def replace_all_(model: nn.Module, method: Method, context: Context, keep: Sequence[str] = ()) -> nn.Module:
    """Replace every BatchNorm layer that is not to be kept; nothing is changed unless all of it can be."""
    check_module(model)
    found = batchnorms(model)
    kept = _kept(found, keep)
    for layer, names in found.items():
        if layer not in kept:
            _check_replaceable(layer, names[0])
    new: dict[nn.Module, nn.Module] = {}
    for layer, names in found.items():
        if layer not in kept and isinstance(layer, _BatchNorm):
            replacement = new[layer] = method.layer(layer, context)
            replacement.name = names[0]
    if not new:
        raise NothingToAdaptError(_nothing_to_adapt(model, kept))
    return swap_modules_(model, new)


def batchnorms(model: nn.Module) -> dict[nn.Module, tuple[str, ...]]:
    """Find all layers with a BatchNorm's statistics, each with the names of all places where it stands."""
    found: dict[nn.Module, tuple[str, ...]] = {}
    for name, module in model.named_modules(remove_duplicate=False):
        if isinstance(module, _BatchNorm | AdaptiveNorm) or _has_running_statistics(module):
            found[module] = (*found.get(module, ()), name)
    return found


def swap_modules_(model: nn.Module, new: Mapping[nn.Module, nn.Module]) -> nn.Module:
    """Put other modules in the place of some, wherever these stand; the model itself may be one of them."""
    for parent in list(model.modules()):
        for name, child in parent._modules.items():
            if child is not None and child in new:
                parent._modules[name] = new[child]
    return new.get(model, model)


def check_module(model: object) -> None:
    """Refuse what is no module."""
    if not isinstance(model, nn.Module):
        raise ModelError(f"the model must be a torch.nn.Module, got {type(model).__name__}: {model!r:.80}")


def check_images(images: object) -> None:
    """Refuse what is no batch of floating-point samples."""
    if not isinstance(images, Tensor):
        raise InputError(f"the input must be a tensor with a batch of samples, got {type(images).__name__}")
    if not images.is_floating_point():
        raise InputError(
            f"the input must be floating point, got {images.dtype}; convert it, such as images.float() / 255"
        )
    if images.dim() < 2 or images.shape[0] == 0:
        raise InputError(f"the input must hold at least one sample, (batch, ...), got shape {tuple(images.shape)}")


def _has_running_statistics(module: nn.Module) -> bool:
    """Recognise layers that do what a BatchNorm does without being one, such as a frozen BatchNorm."""
    if isinstance(module, nn.modules.instancenorm._InstanceNorm):
        return False
    return all(isinstance(getattr(module, name, None), Tensor) for name in ("running_mean", "running_var"))


def _kept(found: Mapping[nn.Module, tuple[str, ...]], keep: Sequence[str]) -> set[nn.Module]:
    by_name = {name: layer for layer, names in found.items() for name in names}
    for name in [keep] if isinstance(keep, str) else keep:
        if name not in by_name:
            raise unknown_name("BatchNorm layer to keep", name, by_name)
    return {by_name[name] for name in ([keep] if isinstance(keep, str) else keep)}


def _check_replaceable(layer: nn.Module, name: str) -> None:
    advice = f"leave it as it is with keep=[{name!r}]"
    if isinstance(layer, AdaptiveNorm):
        raise ModelError(f"layer {name!r} adapts already; adapt the source model instead")
    if type(layer) not in DIMENSIONS:
        known = ", ".join(kind.__name__ for kind in DIMENSIONS)
        raise ModelError(
            f"layer {name!r} is a {type(layer).__name__}, which may do more than normalise (known kinds: {known}); "
            f"rewrite it with one of these, or {advice}"
        )
    if layer.running_mean is None:
        raise ModelError(
            f"layer {name!r} ({type(layer).__name__}) has no running statistics, so there is nothing to start from; "
            f"train it with track_running_stats=True, or {advice}"
        )


def _nothing_to_adapt(model: nn.Module, kept: Collection[nn.Module]) -> str:
    if kept:
        return f"all {len(kept)} BatchNorm layers of {type(model).__name__} are to be kept; leave at least one to adapt"
    hint = " (a scripted model cannot be adapted: adapt it first)" if isinstance(model, torch.jit.ScriptModule) else ""
    return (
        f"{type(model).__name__} has no BatchNorm layer{hint}; MixNorm, BN and TENT adapt BatchNorm1d, 2d, 3d and "
        "SyncBatchNorm. Use Source() to run it as it is"
    )
