"""Measuring on clean images how far content alone moves the statistics of each layer."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from mixnorm.errors import InputError
from mixnorm.norms import LEAST_CONTENT, ShrinkageLayer


@torch.no_grad()
def measure_content(
    run: Callable[[Tensor], object], layers: Mapping[str, ShrinkageLayer], batches: Iterable[Tensor]
) -> dict[str, tuple[float, float]]:
    """Run the source model on clean images and say what content and spread each layer sees.

    A layer with one position per sample has no variances to look at, and is left out.
    """
    squares: dict[str, list[Tensor]] = {}
    with _watched(layers, squares):
        for images in batches:
            if not images.isfinite().all():
                raise InputError("the clean images have values that are not finite; leave these images out")
            run(images)
    measured = {}
    for name, batches_2B in squares.items():
        content, spread = torch.cat(batches_2B, dim=1).mean(1).clamp(min=LEAST_CONTENT).tolist()
        measured[name] = (content, spread)
    return measured


@contextmanager
def _watched(layers: Mapping[str, ShrinkageLayer], squares: dict[str, list[Tensor]]) -> Iterator[None]:
    """Note the squares of what each layer is shown, while the model runs."""

    def note(layer: ShrinkageLayer, inputs: tuple[Any, ...]) -> None:
        if inputs[0].shape[2:].numel() > 1:
            squares.setdefault(layer.name, []).append(layer.shown(inputs[0]))

    hooks = [layer.register_forward_pre_hook(note) for layer in layers.values()]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
