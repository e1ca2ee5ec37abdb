"""Reading features inside a model while it runs, and finding the modules to read them at."""

import difflib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from mixnorm.errors import ModelError, UnknownNameError

ROTATION_HEAD = "rotation_head"
"""The usual name of a second head that tells how an image is turned; the model's normal answer does not use it."""


class Tap:
    """A place to read features: what goes into a module, or what comes out of it."""

    def __init__(self, module: nn.Module, name: str, *, into: bool) -> None:
        self.module = module
        self.name = name
        self.into = into

    @contextmanager
    def reading(self) -> Iterator[list[Tensor]]:
        """Collect what passes, call by call, while the model runs."""
        passed: list[Tensor] = []
        if self.into:
            handle = self.module.register_forward_pre_hook(lambda _, inputs: passed.extend(inputs[:1]))
        else:
            handle = self.module.register_forward_hook(lambda _, __, output: passed.append(output))
        try:
            yield passed
        finally:
            handle.remove()

    def last(self, passed: Sequence[Any], rows: int) -> Tensor:
        """Give the features of the last call, which must have a row for each row that went into the model."""
        if not passed:
            raise ModelError(f"layer {self.name!r} did not run with the model; name one that its answer depends on")
        features = passed[-1]
        if not isinstance(features, Tensor) or features.dim() < 2 or len(features) != rows:
            shape = tuple(features.shape) if isinstance(features, Tensor) else type(features).__name__
            raise ModelError(f"layer {self.name!r} has features {shape} for {rows} rows; name one that has (rows, ...)")
        return features


def find_head(model: nn.Module, *, apart_from: Sequence[str] = (ROTATION_HEAD,)) -> str:
    """Name the last linear layer of a model: its classifier head, whose input are the features.

    Layers in modules named in `apart_from`, heads for other tasks, do not count.

    >>> find_head(nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Flatten(), nn.Linear(8, 10)))
    '3'
    """
    names: list[str] = [name for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    names = [name for name in names if not any(_is_part(name, other) for other in apart_from)]
    if not names:
        raise ModelError(
            f"{type(model).__name__} has no linear layer, so no classifier head whose input are features; "
            "name the layer that makes the logits of features with head=..."
        )
    return names[-1]


def find_module(model: nn.Module, name: str, kind: str) -> tuple[str, nn.Module]:
    """Find the one module whose name is the given one, or ends with it after a dot."""
    modules = {known: module for known, module in model.named_modules() if known}
    matching = [known for known in modules if known == name] or [k for k in modules if k.endswith(f".{name}")]
    if not matching:
        nearest = difflib.get_close_matches(name, modules, n=8, cutoff=0)
        raise UnknownNameError(
            f"{type(model).__name__} has no {kind} {name!r}; its nearest names are {', '.join(nearest) or 'none'}"
        )
    if len(matching) > 1:
        raise UnknownNameError(f"{kind} {name!r} may be any of {', '.join(matching)}; give the whole name")
    return matching[0], modules[matching[0]]


def head_or_named(model: nn.Module, head: str | None) -> tuple[str, nn.Module]:
    """Find the classifier head: the one that is named, or else the last linear layer."""
    name = find_head(model) if head is None else head
    return find_module(model, name, "classifier head")


def _is_part(name: str, module: str) -> bool:
    return f".{module}." in f".{name}."
