"""Learned affine parameters of one stream, and the optimiser that moves them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from mixnorm.adaptation.methods import Entropy
from mixnorm.errors import ModelError, StateError
from mixnorm.norms import AdaptiveNorm


def affine_parameters(layers: Sequence[AdaptiveNorm]) -> list[nn.Parameter]:
    """List the weights and biases of the layers, each once however many layers share it."""
    parameters = [parameter for layer in layers for parameter in (layer.weight, layer.bias) if parameter is not None]
    return list({id(parameter): parameter for parameter in parameters}.values())


class AffineLearner:
    """Copies of the affine parameters in float32 that an optimiser moves; the model's own never change."""

    def __init__(self, layers: Sequence[AdaptiveNorm], settings: Entropy) -> None:
        self._layers = layers
        self._settings = settings
        self._sources = affine_parameters(layers)
        self._start()

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Let the layers use the learned values for a while, on the device where the layers are."""
        if self._values[0].device != self._sources[0].device:
            tensors = self.export()
            self._start()
            self.load(tensors)
        learned = {id(source): value for source, value in zip(self._sources, self._values, strict=True)}
        for layer in self._layers:
            layer.learned = (learned.get(id(layer.weight)), learned.get(id(layer.bias)))
        try:
            yield
        finally:
            for layer in self._layers:
                layer.learned = None

    def gradients(self, loss: Tensor) -> list[Tensor | None] | None:
        """Find the way downhill; None where it is not finite."""
        if not loss.requires_grad:
            raise ModelError(
                "the logits do not depend on the affine parameters of any replaced BatchNorm, so there is nothing to "
                "learn (is part of the model run without gradients?); use learn=None"
            )
        gradients = torch.autograd.grad(loss, self._values, allow_unused=True)
        finite = all(bool(gradient.isfinite().all()) for gradient in (loss, *gradients) if gradient is not None)
        return list(gradients) if finite else None

    def step(self, gradients: Sequence[Tensor | None]) -> None:
        """Move the learned values one step downhill."""
        # What the optimiser remembers must be able to change outside of inference mode too.
        with torch.inference_mode(False):
            for value, gradient in zip(self._values, gradients, strict=True):
                value.grad = gradient
            self._optimizer.step()
            self._optimizer.zero_grad()

    def export(self) -> dict[str, Tensor]:
        """Copy the learned values and the optimiser's state, by name."""
        return {name: tensor.detach().clone() for name, tensor in self._tensors()}

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Replace everything by what `export` wrote."""
        state: dict[int, dict[str, Tensor]] = {index: {} for index in range(len(self._values))}
        for name, tensor in tensors.items():
            index, _, key = name.partition(".")
            if not index.isdecimal() or int(index) not in state:
                raise StateError(f"the state has a learned parameter {name!r}, the model has {len(state)} of them")
            state[int(index)][key] = tensor.clone()
        with torch.inference_mode(False), torch.no_grad():
            for value, loaded in zip(self._values, state.values(), strict=True):
                value.copy_(self._fitting(loaded.pop("value", None), value))
        self._optimizer.load_state_dict(self._optimizer.state_dict() | {"state": {i: s for i, s in state.items() if s}})

    @staticmethod
    def _fitting(loaded: Tensor | None, value: Tensor) -> Tensor:
        if loaded is None or loaded.shape != value.shape or not loaded.isfinite().all():
            raise StateError(f"the state has no fitting value for a learned parameter of shape {tuple(value.shape)}")
        return loaded

    def _start(self) -> None:
        with torch.inference_mode(False):
            self._values = [source.detach().clone().float().requires_grad_() for source in self._sources]
        self._optimizer = self._settings.make_optimizer(self._values)

    def _tensors(self) -> Iterator[tuple[str, Tensor]]:
        for index, value in enumerate(self._values):
            yield f"{index}.value", value
            for key, tensor in self._optimizer.state.get(value, {}).items():
                yield f"{index}.{key}", tensor
