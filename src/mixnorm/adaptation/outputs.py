"""What a model returns, whatever its type: cutting it to some rows, putting it together, finding the logits."""

import copy
import dataclasses
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

import torch
from torch import Tensor

from mixnorm.errors import ModelError


def map_tensors(function: Callable[..., Tensor], *outputs: Any) -> Any:
    """Apply a function to the tensors of one output, or to the corresponding ones of several, keeping the type.

    >>> map_tensors(lambda tensor: tensor[:1], {"logits": torch.ones(2), "step": 3})
    {'logits': tensor([1.]), 'step': 3}
    """
    first = outputs[0]
    if isinstance(first, Tensor):
        return function(*outputs)
    if isinstance(first, MutableMapping):
        new = copy.copy(first)
        for key in first:
            new[key] = map_tensors(function, *(output[key] for output in outputs))
        return new
    if isinstance(first, tuple | list):
        items = [map_tensors(function, *items) for items in zip(*outputs, strict=True)]
        return type(first)(*items) if hasattr(first, "_fields") else type(first)(items)
    if dataclasses.is_dataclass(first):
        changed = copy.copy(first)
        for field in dataclasses.fields(first):
            value = map_tensors(function, *(getattr(output, field.name) for output in outputs))
            object.__setattr__(changed, field.name, value)
        return changed
    return first


def first_rows(output: Any, rows: int, of: int) -> Any:
    """Cut the tensors that have a row for each of the pass's rows to the first ones."""
    return map_tensors(lambda tensor: tensor[:rows] if _has_rows(tensor, of) else tensor, output)


def merge(parts: Sequence[tuple[Sequence[int], Any]]) -> Any:
    """Put together outputs of parts of a batch, each with the places of its rows in the whole."""
    if len(parts) == 1:
        return parts[0][1]
    places = [torch.tensor(index) for index, _ in parts]
    total = sum(map(len, places))

    def scatter(*tensors: Tensor) -> Tensor:
        if not all(_has_rows(tensor, len(index)) for tensor, index in zip(tensors, places, strict=True)):
            return tensors[0]
        whole = tensors[0].new_empty((total, *tensors[0].shape[1:]))
        for tensor, index in zip(tensors, places, strict=True):
            whole[index.to(whole.device)] = tensor
        return whole

    return map_tensors(scatter, *(output for _, output in parts))


def find_logits(output: Any) -> Tensor:
    """Find the logits: the output itself, its `logits`, or its first tensor; classes lie along dimension 1."""
    named = output.get("logits") if isinstance(output, Mapping) else getattr(output, "logits", None)
    candidates = [output, named, *(output.values() if isinstance(output, Mapping) else ())]
    if isinstance(output, tuple | list):
        candidates.extend(output)
    for candidate in candidates:
        if isinstance(candidate, Tensor) and candidate.dim() >= 2 and candidate.is_floating_point():
            return candidate
    raise ModelError(
        f"learning needs logits (batch, classes, ...), found none in the model's output of type "
        f"{type(output).__name__}; return them as the output, its first item, or under the name 'logits'"
    )


def _has_rows(tensor: Tensor, rows: int) -> bool:
    return tensor.dim() > 0 and tensor.shape[0] == rows
