"""Putting adapting layers in the place of a model's BatchNorm layers, and taking them out again."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from mixnorm.adaptation.methods import Method, MixNorm
from mixnorm.errors import InputError, ModelError, NothingToAdaptError, SettingError, unknown_name
from mixnorm.norms import DIMENSIONS, AdaptiveNorm, Context


def replace_batchnorm_(model: nn.Module, method: Method | None = None, *, keep: Sequence[str] = ()) -> nn.Module:
    """Replace the BatchNorm layers of a model in place, and return it; the default method is `MixNorm(views=0)`.

    The layers then adapt on their own whenever the model runs, each row a sample of one stream. What takes more than a
    layer is for `adapt`: views, learning, streams, and that a sample which is not finite leaves its batch alone (here
    it only leaves the state alone). A model that is itself a BatchNorm cannot be changed: use what is returned.

    >>> model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8))
    >>> type(replace_batchnorm_(model)[1]).__name__
    'MixNormLayer'
    """
    method = MixNorm(views=0) if method is None else method
    check_method_type(method)
    if method.augmentations or method.learning or not method.adapts:
        raise SettingError(f"layers alone can neither make views nor learn, as {method} asks; use adapt(model, method)")
    return replace_all_(model, method, Context(method.plan), keep)


def replace_all_(model: nn.Module, method: Method, context: Context, keep: Sequence[str] = ()) -> nn.Module:
    """Replace every BatchNorm layer that is not to be kept; nothing is changed unless all of it can be."""
    check_module(model)
    found = batchnorms(model)
    kept = kept_layers(found, keep)
    for layer, names in found.items():
        if layer not in kept:
            _check_replaceable(layer, names[0])
    new: dict[nn.Module, nn.Module] = {}
    for place, (layer, names) in enumerate(found.items()):
        if layer not in kept and isinstance(layer, _BatchNorm):
            replacement = new[layer] = method.replacement(layer, context)
            replacement.settle(names[0], first=place == 0)
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


def check_method_type(method: object) -> None:
    """Refuse what is no method."""
    if not isinstance(method, Method):
        hint = f"; make one with {method.__name__}()" if isinstance(method, type) else ""
        raise SettingError(f"the method must be one of mixnorm's, such as mixnorm.ShrinkNorm(), got {method!r}{hint}")


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


def kept_layers(found: Mapping[nn.Module, tuple[str, ...]], keep: Sequence[str]) -> set[nn.Module]:
    """Look up the layers to keep by the names of any of their places."""
    if not isinstance(keep, Iterable):
        raise SettingError(f"keep must be the names of BatchNorm layers, got {keep!r}")
    by_name = {name: layer for layer, names in found.items() for name in names}
    wanted = [keep] if isinstance(keep, str) else list(keep)
    for name in wanted:
        if name not in by_name:
            raise unknown_name("BatchNorm layer to keep", name, by_name)
    return {by_name[name] for name in wanted}


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
    if layer._forward_hooks or layer._forward_pre_hooks or layer._backward_hooks or layer._backward_pre_hooks:
        raise ModelError(
            f"layer {name!r} has hooks, which would be lost with it; remove them before, and register them again on "
            f"the adapted model's own layers, or {advice}"
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
