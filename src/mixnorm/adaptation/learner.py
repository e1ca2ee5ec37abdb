"""Learned affine parameters of one stream, and the optimiser that moves them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from mixnorm.adaptation.methods import Entropy
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

    def step(self, loss: Tensor) -> None:
        """Move the learned values one step downhill."""
        # What the optimiser remembers must be able to change outside of inference mode too.
        with torch.inference_mode(False):
            gradients = torch.autograd.grad(loss, self._values, allow_unused=True)
            for value, gradient in zip(self._values, gradients, strict=True):
                value.grad = gradient
            self._optimizer.step()
            self._optimizer.zero_grad()

    def export(self) -> dict[str, Tensor]:
        """Copy the learned values and the optimiser's state, by name."""
        return {name: tensor.detach().clone() for name, tensor in self._tensors()}

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Replace everything by what `export` wrote."""
        state: dict[int, dict[str, Tensor]] = {}
        with torch.inference_mode(False), torch.no_grad():
            for name, tensor in tensors.items():
                index, key = name.split(".")
                if key == "value":
                    self._values[int(index)].copy_(tensor)
                else:
                    state.setdefault(int(index), {})[key] = tensor.clone()
        self._optimizer.load_state_dict(self._optimizer.state_dict() | {"state": state})

    def _start(self) -> None:
        with torch.inference_mode(False):
            self._values = [source.detach().clone().float().requires_grad_() for source in self._sources]
        self._optimizer = self._settings.make_optimizer(self._values)

    def _tensors(self) -> Iterator[tuple[str, Tensor]]:
        for index, value in enumerate(self._values):
            yield f"{index}.value", value
            for key, tensor in self._optimizer.state.get(value, {}).items():
                yield f"{index}.{key}", tensor
