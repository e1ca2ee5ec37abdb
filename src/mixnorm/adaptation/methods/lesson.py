"""What a method learns on one model: which parameters move, and the loss that they go down."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from mixnorm.adaptation.methods.optimizer import Optimizer
from mixnorm.adaptation.taps import Tap
from mixnorm.norms import AdaptiveNorm


@dataclass(frozen=True)
class Seen:
    """What there is to learn from after a prediction."""

    images: Tensor
    """The samples themselves."""
    output: Any
    """What the model answered for them."""
    features: Tensor | None
    """What the lesson's tap read while the model answered."""
    overview: Tensor | None
    """What the lesson found out about the whole target set; None where only the batch is at hand."""
    read: Callable[[Tensor, int], Tensor]
    """Run the model on other rows, in that many groups of a row for each sample, and read the features from its tap.

    The layers normalise these rows among themselves, and stay ready for modules that are called on the features.
    """


class Lesson(ABC):
    """Parameters to move, and a loss, for one model."""

    tap: Tap | None = None
    """Where features are read, for a loss that needs any."""
    needs_answer: bool = True
    """Whether the loss goes through the answer, so that the model must run with gradients."""
    surveys: bool = False
    """Whether the lesson first looks at a whole target set, where there is one."""

    def __init__(self, model: nn.Module, settings: Optimizer) -> None:
        self.model = model
        self.settings = settings

    @abstractmethod
    def parameters(self) -> list[nn.Parameter]:
        """List the parameters that move."""

    @abstractmethod
    def loss(self, seen: Seen) -> Tensor:
        """Say how bad things are."""

    def check(self, images: Tensor) -> None:
        """Refuse images that nothing can be learned from, before the model runs on them."""
        return

    def survey(self, features: Tensor, logits: Tensor) -> Tensor:
        """Find out what a whole target set tells, for a lesson that surveys."""
        raise NotImplementedError

    def rate(self, done: float) -> float:
        """Say which part of the learning rate is left when this share of a target set's epochs is done."""
        return 1.0


def affine_parameters(layers: Sequence[AdaptiveNorm]) -> list[nn.Parameter]:
    """List the weights and biases of the layers, each once however many layers share it."""
    return _once(parameter for layer in layers for parameter in (layer.weight, layer.bias) if parameter is not None)


def parameters_apart_from(model: nn.Module, *parts: nn.Module) -> list[nn.Parameter]:
    """List the parameters of a model that belong to none of some of its parts, each once."""
    excluded = {id(parameter) for part in parts for parameter in part.parameters()}
    found = (each for each in model.parameters() if each.is_floating_point() and id(each) not in excluded)
    return _once(found)


def _once(parameters: Iterable[nn.Parameter]) -> list[nn.Parameter]:
    return list({id(parameter): parameter for parameter in parameters}.values())
