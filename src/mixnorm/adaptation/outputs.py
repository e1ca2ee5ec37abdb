"""What a model returns, whatever its type: cutting it to some rows, putting it together, finding the logits."""

import copy
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
    if hasattr(first, "__dict__") and not isinstance(first, type):
        changed = copy.copy(first)
        for name in vars(first):
            value = map_tensors(function, *(getattr(output, name) for output in outputs))
            object.__setattr__(changed, name, value)
        return changed
    return first


def first_rows(output: Any, rows: int, of: int) -> Any:
    """Cut what has a row for each of the pass's rows, tensors and lists, to the first ones."""
    _check_rows(output, of)
    if isinstance(output, list) and len(output) == of:
        return output[:rows]
    return map_tensors(lambda tensor: tensor[:rows] if _has_rows(tensor, of) else tensor, output)


def average_mirrored(output: Any, rows: int, of: int) -> Any:
    """Average what has a row for each of the pass's rows over the images and their mirror images.

    Answers about a whole image, (rows, ...) of at most two dimensions, are averaged as they are. Maps of four
    dimensions are mirrored back before.
    """
    _check_rows(output, of)

    def average(tensor: Tensor) -> Tensor:
        if not _has_rows(tensor, of):
            return tensor
        if tensor.dim() not in (1, 2, 4) or not tensor.is_floating_point():
            raise ModelError(
                f"an answer of {tensor.dtype} and shape {tuple(tensor.shape)} cannot be averaged over an image and its "
                "mirror image, only floating-point (rows, classes) and (rows, channels, height, width); use views=0"
            )
        seen, mirrored = tensor[:rows], tensor[rows:]
        return (seen + (mirrored.flip(3) if tensor.dim() == 4 else mirrored)) / 2

    return map_tensors(average, output)


def merge(parts: Sequence[tuple[Sequence[int], Any]]) -> Any:
    """Put together outputs of parts of a batch, each with the places of its rows in the whole."""
    outputs = [output for _, output in parts]
    if len(parts) == 1 and list(parts[0][0]) == list(range(len(parts[0][0]))):
        return outputs[0]
    places = [torch.tensor(index) for index, _ in parts]
    order = torch.cat(places).argsort()
    sorted_already = order.tolist() == list(range(len(order)))
    for output, index in zip(outputs, places, strict=True):
        _check_rows(output, len(index))
    if all(
        isinstance(output, list) and len(output) == len(index) for output, index in zip(outputs, places, strict=True)
    ):
        together = [row for output in outputs for row in output]
        return [together[place] for place in order.tolist()]

    def scatter(*tensors: Tensor) -> Tensor:
        if not all(_has_rows(tensor, len(index)) for tensor, index in zip(tensors, places, strict=True)):
            return tensors[0]
        together = torch.cat(tensors)
        return together if sorted_already else together[order.to(together.device)]

    return map_tensors(scatter, *outputs)


def _check_rows(output: Any, rows: int) -> None:
    """Refuse an output that has nothing with a row for each row that went in."""
    if isinstance(output, list) and len(output) == rows:
        return
    shapes: list[tuple[int, ...]] = []
    map_tensors(lambda tensor: shapes.append(tuple(tensor.shape)) or tensor, output)  # type: ignore[func-returns-value]
    if not any(shape[:1] == (rows,) for shape in shapes):
        raise ModelError(
            f"{rows} rows went into the model, and nothing in its output has a row for each of them: "
            f"{type(output).__name__} with tensors of shapes {shapes}; return (rows, ...), or use views=0, one stream"
        )


def find_logits(output: Any) -> Tensor:
    """Find the logits: the output itself, its `logits`, or its first tensor; classes lie along dimension 1."""
    named = output.get("logits") if isinstance(output, Mapping) else getattr(output, "logits", None)
    candidates = [output, named, *(output.values() if isinstance(output, Mapping) else ())]
    if isinstance(output, tuple | list):
        candidates.extend(output)
    for candidate in candidates:
        if isinstance(candidate, Tensor) and candidate.dim() >= 2 and candidate.is_floating_point():
            if candidate.shape[1] < 2:
                raise ModelError(
                    f"learning by entropy needs logits of two classes or more, got shape {tuple(candidate.shape)}; "
                    "return logits (0, z) for a single one z, or use learn=None"
                )
            return candidate
    raise ModelError(
        f"learning needs logits (batch, classes, ...), found none in the model's output of type "
        f"{type(output).__name__}; return them as the output, its first item, or under the name 'logits'"
    )


def _has_rows(tensor: Tensor, rows: int) -> bool:
    return tensor.dim() > 0 and tensor.shape[0] == rows
