"""Adapting to a target set that is at hand as a whole, before predicting."""

from collections.abc import Iterable, Sequence

from torch import Tensor, nn

from mixnorm.adaptation.adapt import adapt
from mixnorm.adaptation.adapted_model import AdaptedModel
from mixnorm.adaptation.methods import Method


def adapt_offline(
    model: nn.Module,
    batches: Iterable[Tensor],
    method: Method,
    *,
    epochs: int = 1,
    seed: int = 0,
    keep: Sequence[str] = (),
) -> AdaptedModel:
    """Make a copy of a model that has adapted to a target set, seen as often as there are epochs.

    Predict with it under `frozen()`, or let it go on adapting.

    >>> import torch
    >>> from mixnorm.adaptation import Shot
    >>> model = nn.Sequential(nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(48, 10)).eval()
    >>> images = torch.rand(64, 3, 4, 4)
    >>> adapted = adapt_offline(model, images.split(16), Shot(), epochs=3)
    >>> with adapted.frozen():
    ...     adapted(images).shape
    torch.Size([64, 10])
    """
    return adapt(model, method, seed=seed, keep=keep).fit(batches, epochs=epochs)
