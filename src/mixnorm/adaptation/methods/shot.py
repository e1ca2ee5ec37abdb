"""SHOT: a feature extractor fine-tuned under a fixed classifier, by information maximisation and pseudo-labels.

Shapes: B samples, F features of each (and a constant 1), K classes.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mixnorm.adaptation.methods.batch_statistics import BatchStatistics
from mixnorm.adaptation.methods.entropy import are_distributions, mean_entropy
from mixnorm.adaptation.methods.lesson import Lesson, Seen, parameters_apart_from
from mixnorm.adaptation.methods.optimizer import Steps
from mixnorm.adaptation.methods.presets import SHOT, SHOT_STEPS, Preset
from mixnorm.adaptation.methods.settings import check_kind, check_name, check_number
from mixnorm.adaptation.outputs import find_logits
from mixnorm.adaptation.taps import Tap, head_or_named
from mixnorm.errors import ModelError, SettingError
from mixnorm.norms import AdaptiveNorm

ROUNDS = 2
"""How often centroids and labels are found in turn: first by the predictions, then by the labels of the first round."""
TINY = 1e-5
"""What the authors add to a probability before they take its logarithm."""


@dataclass(frozen=True, kw_only=True)
class Shot(BatchStatistics):
    """Normalise with batch statistics, and learn everything before the classifier head on the unlabelled target.

    The labels to learn from are found by centroids in the space of the features: those of the whole target set in
    `fit`, of the batch otherwise.
    """

    head: str | None = None
    """The classifier head, which stays as it is and whose input are the features; None is the last linear layer."""
    beta: float = 0.3
    """How much the pseudo-labels count beside information maximisation."""
    learn: Steps = field(default_factory=lambda: SHOT_STEPS)

    presets: ClassVar[tuple[Preset, ...]] = SHOT

    def __post_init__(self) -> None:
        check_name("head", self.head)
        check_number("beta", self.beta, 0, sys.float_info.max)
        if self.learn is None:
            raise SettingError("Shot without learning is BatchStatistics(); got learn=None")
        check_kind("learn", self.learn, Steps)

    def lesson(self, model: nn.Module, layers: Sequence[AdaptiveNorm]) -> "ShotLesson":
        """Find the classifier head, and say what is learned before it."""
        return ShotLesson(model, self)


class ShotLesson(Lesson):
    """Everything but the classifier head, information maximisation and pseudo-labels."""

    surveys = True

    def __init__(self, model: nn.Module, method: Shot) -> None:
        super().__init__(model, method.learn)
        name, self._head = head_or_named(model, method.head)
        self.tap = Tap(self._head, name, into=True)
        self._beta = method.beta

    def parameters(self) -> list[nn.Parameter]:
        """List the parameters that move."""
        return parameters_apart_from(self.model, self._head)

    def loss(self, seen: Seen) -> Tensor:
        """Add up what the predictions lack in information, and their distance from the pseudo-labels."""
        features_BF, logits_BK = _finite(seen.features, seen.output)
        loss = information_loss(logits_BK)
        if self._beta:
            given = seen.overview
            centroids_KF = centroids(features_BF.detach(), logits_BK.detach()) if given is None else given
            labels_B = nearest(features_BF.detach(), centroids_KF.to(logits_BK.device))
            loss = loss + self._beta * F.cross_entropy(logits_BK, labels_B)
        return loss

    def survey(self, features: Tensor, logits: Tensor) -> Tensor:
        """Find the centroids of the classes."""
        return centroids(*_finite(features, logits))

    def rate(self, done: float) -> float:
        """Let the learning rate fall as the authors do."""
        return math.pow(1 + 10 * done, -0.75)


def information_loss(logits_BK: Tensor) -> Tensor:
    """Take the entropy of the mean prediction from the mean entropy: low where all are certain, and of all classes.

    >>> certain_and_diverse, certain_of_one = 99 * torch.eye(2), torch.tensor([[99.0, 0.0], [99.0, 0.0]])
    >>> bool(information_loss(certain_and_diverse) < information_loss(certain_of_one))
    True
    """
    mean_K = logits_BK.softmax(1).mean(0)
    return mean_entropy(logits_BK) + (mean_K * (mean_K + TINY).log()).sum()


def centroids(features_BF: Tensor, logits_BK: Tensor) -> Tensor:
    """Find the centroid of each class, weighted by the predictions at first, then by the labels that these give.

    Classes that no sample is predicted to be have none: their row is not a number.
    """
    directions_BF = directions(features_BF)
    weights_BK = logits_BK.softmax(1)
    labels_B = logits_BK.argmax(1)
    for _ in range(ROUNDS):
        centroids_KF = (weights_BK.T @ directions_BF) / (weights_BK.sum(0)[:, None] + 1e-8)
        absent_K = torch.bincount(labels_B, minlength=logits_BK.shape[1]) == 0
        centroids_KF[absent_K] = torch.nan
        labels_B = nearest(features_BF, centroids_KF)
        weights_BK = F.one_hot(labels_B, logits_BK.shape[1]).to(directions_BF)
    return centroids_KF


def nearest(features_BF: Tensor, centroids_KF: Tensor) -> Tensor:
    """Label each sample with the class whose centroid has the nearest direction."""
    likeness_BK = directions(features_BF) @ F.normalize(centroids_KF, dim=1).T
    return likeness_BK.nan_to_num(nan=-torch.inf).argmax(1)


def directions(features_BF: Tensor) -> Tensor:
    """Add a constant feature, as the authors do, and bring the samples to length 1."""
    return F.normalize(F.pad(features_BF.flatten(1).float(), (0, 1), value=1.0), dim=1)


def _finite(features: Tensor | None, output: Any) -> tuple[Tensor, Tensor]:
    """Take the features and logits of the samples where they are what they should be."""
    logits = find_logits(output)
    if logits.dim() != 2 or features is None:
        raise ModelError(f"SHOT needs logits (batch, classes), got shape {tuple(logits.shape)}; use Tent for others")
    good_B = are_distributions(logits) & features.flatten(1).isfinite().all(1)
    return features[good_B], logits[good_B].float()
