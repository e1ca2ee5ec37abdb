"""A check before any long run: that a model answers clean samples as well as published."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from mixnorm.benchmarks.datasets import Dataset
from mixnorm.benchmarks.datasets.dataset import Indices
from mixnorm.benchmarks.models.evaluating import evaluating
from mixnorm.errors import ModelError, SettingError

STANDARD_ERRORS = 4.0
MARGIN = 0.02
USUAL_CAUSES = (
    "The usual cause is the input: the model takes RGB in [0, 1] and must normalise it itself, once, as in its "
    "training; also check the order of the classes"
)


@dataclass(frozen=True, kw_only=True)
class CleanAccuracy:
    """The share of clean samples that a model answers right, beside the published one.

    >>> print(CleanAccuracy(measured=0.93, published=0.95, samples=500))
    93.0% of 500 clean samples answered right, published 95.0% ± 5.9%
    """

    measured: float
    published: float
    samples: int

    @property
    def tolerance(self) -> float:
        """How far the two may lie apart: four binomial standard errors of the sample, and two points for the rest."""
        return STANDARD_ERRORS * math.sqrt(self.published * (1 - self.published) / self.samples) + MARGIN

    @property
    def as_published(self) -> bool:
        """Whether chance and small differences between libraries explain the distance."""
        return abs(self.measured - self.published) <= self.tolerance

    def __str__(self) -> str:
        """Say it in one line."""
        return (
            f"{self.measured:.1%} of {self.samples} clean samples answered right, "
            f"published {self.published:.1%} ± {self.tolerance:.1%}"
        )


def check_clean_accuracy(
    model: nn.Module,
    dataset: Dataset,
    published: float | None,
    samples: int = 500,
    *,
    seed: int = 0,
    batch_size: int = 100,
    allow: bool = False,
) -> CleanAccuracy:
    """Measure a model on a few hundred clean samples, and refuse it when it is far from its published accuracy.

    Far is more than four binomial standard errors of the sample plus two points, to either side: the usual cause is an
    input normalised twice, not at all or with other constants. `allow=True` returns the measurement all the same.
    A mistake that costs fewer points than that passes; more `samples` find smaller ones, down to two points.

    >>> from mixnorm.benchmarks.datasets import load_dataset
    >>> from mixnorm.benchmarks.models import find_model, load_model
    >>> check_clean_accuracy(load_model("digits"), load_dataset("digits"), find_model("digits").accuracy).as_published
    True
    """
    published = _share(published)
    _check_counts(samples, batch_size)
    count = min(samples, len(dataset))
    chosen = np.sort(np.random.default_rng(seed).choice(len(dataset), count, replace=False))
    with evaluating(model):
        starts = range(0, count, batch_size)
        right = sum(_right_answers(model, dataset, chosen[start : start + batch_size]) for start in starts)
    result = CleanAccuracy(measured=right / count, published=published, samples=count)
    if not (result.as_published or allow):
        raise ModelError(
            f"{type(model).__name__} on {dataset.name}: {result}. {USUAL_CAUSES}. "
            "To go on all the same, pass allow=True"
        )
    return result


def _share(published: object) -> float:
    if published is None:
        raise SettingError("no accuracy is published for this model (published=None); give the one you expect of it")
    if isinstance(published, bool) or not isinstance(published, int | float) or not 0 <= published <= 1:
        raise SettingError(f"published={published!r} is not a share between 0 and 1")
    return float(published)


def _check_counts(samples: object, batch_size: object) -> None:
    for name, value in (("samples", samples), ("batch_size", batch_size)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise SettingError(f"{name} must be a whole number of at least 1, got {value!r}")


def _right_answers(model: nn.Module, dataset: Dataset, indices: Indices) -> int:
    weights = next(model.parameters(), torch.empty(0))
    device, dtype = weights.device, weights.dtype
    images = (torch.from_numpy(dataset.images(indices)).permute(0, 3, 1, 2).float() / 255).to(device, dtype)
    logits = model(images)
    _check_logits(logits, len(indices), len(dataset.class_names))
    labels = torch.from_numpy(dataset.labels[indices]).to(device)
    return int((logits.argmax(1) == labels).sum())


def _check_logits(logits: object, samples: int, classes: int) -> None:
    if not isinstance(logits, Tensor):
        raise ModelError(f"the model returned a {type(logits).__name__} and not a tensor of logits")
    if logits.ndim != 2 or logits.shape[0] != samples or logits.shape[1] < classes:
        raise ModelError(
            f"the model returned a tensor of shape {tuple(logits.shape)} for {samples} samples of {classes} classes"
        )
