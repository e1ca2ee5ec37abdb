"""Learning the affine parameters by making predictions more certain, as TENT does."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from mixnorm.adaptation.methods.lesson import Lesson, Seen, affine_parameters
from mixnorm.adaptation.methods.optimizer import Optimizer
from mixnorm.adaptation.outputs import find_logits
from mixnorm.errors import NothingToAdaptError
from mixnorm.norms import AdaptiveNorm


@dataclass(frozen=True, kw_only=True)
class Entropy(Optimizer):
    """One optimiser step per batch on the affine parameters, downhill the entropy of the predictions.

    `betas` belong to Adam and `momentum` to SGD; the published settings are Adam with `lr=1e-3` for CIFAR-10-C and SGD
    with `lr=2.5e-4` for ImageNet-C.
    """


class EntropyLesson(Lesson):
    """Affine parameters of the replaced layers, and the entropy of the predictions."""

    def __init__(self, model: nn.Module, settings: Optimizer, layers: Sequence[AdaptiveNorm]) -> None:
        super().__init__(model, settings)
        self._layers = layers
        if not self.parameters():
            raise NothingToAdaptError("no replaced BatchNorm has affine parameters to learn; use learn=None")

    def parameters(self) -> list[nn.Parameter]:
        """List the parameters that move."""
        return affine_parameters(self._layers)

    def loss(self, seen: Seen) -> Tensor:
        """Average the entropy of the predictions."""
        return mean_entropy(find_logits(seen.output))


def mean_entropy(logits: Tensor) -> Tensor:
    """Average the entropy of the predicted distributions: classes lie along dimension 1.

    A logit of minus infinity is a class that cannot be. Samples whose logits are no distribution are left out.

    >>> import torch
    >>> mean_entropy(torch.zeros(2, 4))  # the logarithm of 4
    tensor(1.3863)
    """
    log_p = distributions(logits).log_softmax(1)
    # The logarithm of an impossible class would make 0 * inf of its part, and of the gradients of all.
    return -(log_p.exp() * log_p.masked_fill(log_p.isneginf(), 0)).sum(1).mean()


def distributions(logits: Tensor) -> Tensor:
    """Give the logits in float32, without the samples whose logits are no distribution."""
    return logits.float()[are_distributions(logits)]


def are_distributions(logits: Tensor) -> Tensor:
    """Say for each sample whether its logits are those of a distribution."""
    return ~(logits.isnan() | logits.isposinf()).flatten(1).any(1)
