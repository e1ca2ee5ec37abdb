"""Learned parameters of one stream, and the optimiser that moves them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from mixnorm.adaptation.methods import Lesson
from mixnorm.errors import ModelError, StateError
from mixnorm.norms import AdaptiveNorm


class Learner:
    """Copies of the parameters, in float32 at least, that an optimiser moves; the model's own never change."""

    def __init__(self, lesson: Lesson) -> None:
        self._settings = lesson.settings
        self._sources = lesson.parameters()
        number = {id(source): index for index, source in enumerate(self._sources)}
        self._places = [
            (module, name, number[id(parameter)])
            for module in lesson.model.modules()
            for name, parameter in module._parameters.items()
            if id(parameter) in number
        ]
        self._start()

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Let the model use the learned values for a while, on the device where its parameters are."""
        if self._values[0].device != self._sources[0].device:
            tensors = self.export()
            self._start()
            self.load(tensors)
        try:
            for module, name, index in self._places:
                # A normalising layer computes in float32 at least. Others want their own precision, and not a leaf:
                # autocast would remember how it rounded it, and go on with that after a step.
                value = self._values[index]
                own = isinstance(module, AdaptiveNorm)
                module._parameters[name] = value if own else self._as_source(value, index)  # type: ignore[assignment]
            yield
        finally:
            for module, name, index in self._places:
                module._parameters[name] = self._sources[index]

    def write_(self) -> None:
        """Write the learned values into the model for good."""
        with torch.inference_mode(False), torch.no_grad():
            for source, value in zip(self._sources, self._values, strict=True):
                source.copy_(value)

    def gradients(self, loss: Tensor) -> list[Tensor | None] | None:
        """Find the way downhill; None where it is not finite."""
        if not loss.requires_grad:
            raise ModelError(
                "the loss does not depend on any of the parameters to learn, so there is nothing to learn (is part of "
                "the model run without gradients?); use a method that does not learn, or learn=None"
            )
        gradients = torch.autograd.grad(loss, self._values, allow_unused=True)
        finite = all(bool(gradient.isfinite().all()) for gradient in (loss, *gradients) if gradient is not None)
        return list(gradients) if finite else None

    def step(self, gradients: Sequence[Tensor | None], rate: float = 1.0) -> None:
        """Move the learned values one step downhill, at some part of the learning rate."""
        # What the optimiser remembers must be able to change outside of inference mode too.
        with torch.inference_mode(False):
            for value, gradient in zip(self._values, gradients, strict=True):
                value.grad = gradient
            for group in self._optimizer.param_groups:
                group["lr"] = rate * self._settings.lr
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

    def _as_source(self, value: Tensor, index: int) -> Tensor:
        return value.view_as(value).to(self._sources[index].dtype)

    def _start(self) -> None:
        with torch.inference_mode(False):
            self._values = [_copied(source).requires_grad_() for source in self._sources]
        self._optimizer = self._settings.make_optimizer(self._values)

    def _tensors(self) -> Iterator[tuple[str, Tensor]]:
        for index, value in enumerate(self._values):
            yield f"{index}.value", value
            for key, tensor in self._optimizer.state.get(value, {}).items():
                yield f"{index}.{key}", tensor


def _copied(source: Tensor) -> Tensor:
    return source.detach().to(torch.promote_types(source.dtype, torch.float32), copy=True)
