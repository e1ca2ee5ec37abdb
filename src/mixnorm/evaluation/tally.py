"""The tally of a run: what was answered to each sample, in the order of arrival, and the results made from it."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mixnorm.benchmarks import Batch
from mixnorm.evaluation.metrics import (
    calibration_error,
    error_by_group,
    error_over_time,
    error_percent,
    mean_corruption_error,
    negative_log_likelihood,
)
from mixnorm.evaluation.png import encode_png
from mixnorm.evaluation.record import Example, Results

NO_ANSWER = -1
"""The prediction for a sample whose logits are no distribution: always wrong."""


@dataclass(frozen=True)
class Answers:
    """What a model answered to some samples, one entry each."""

    prediction: npt.NDArray[np.int64]
    confidence: npt.NDArray[np.float64]
    """The probability of the predicted class; 0 where there is no answer."""
    log_probability: npt.NDArray[np.float64]
    """The logarithm of the probability of the right class; not a number where there is no answer."""


def answers_of(logits: Tensor, labels: Tensor) -> Answers:
    """Turn logits (N, classes) into answers, in double precision."""
    logits = logits.detach().to("cpu", torch.float64)
    log_probabilities = logits.log_softmax(1)
    # A logit of minus infinity is a class that cannot be; with any other that is not finite there is no distribution.
    nothing = log_probabilities.isnan().any(1)
    confidence, prediction = log_probabilities.exp().max(1)
    return Answers(
        prediction.masked_fill(nothing, NO_ANSWER).numpy(),
        confidence.masked_fill(nothing, 0).numpy(),
        log_probabilities.gather(1, labels[:, None])[:, 0].masked_fill(nothing, torch.nan).numpy(),
    )


@dataclass
class Tally:
    """Collects answers batch by batch."""

    class_names: tuple[str, ...]
    corruptions: tuple[str, ...]
    """The corruptions that may come, in the order in which they are listed."""
    _wrong: list[npt.NDArray[np.bool_]] = field(default_factory=list)
    _mistakes: int = 0
    _answers: list[Answers] = field(default_factory=list)
    _corruptions: list[str] = field(default_factory=list)
    _examples: dict[str, Example] = field(default_factory=dict)

    def add(self, batch: Batch, logits: Tensor) -> None:
        """Take in what was answered to a batch."""
        answers = answers_of(logits, batch.labels)
        self._answers.append(answers)
        wrong = answers.prediction != batch.labels.numpy()
        self._wrong.append(wrong)
        # Kept beside: joining all batches after each of them would cost the square of their number.
        self._mistakes += int(wrong.sum())
        for place, (corruption, _) in enumerate(batch.shifts):
            self._corruptions.append(corruption)
            if corruption not in self._examples:
                self._examples[corruption] = self._example(batch, answers, place)

    @property
    def count(self) -> int:
        """How many samples were answered so far."""
        return len(self._corruptions)

    @property
    def error(self) -> float:
        """The error so far."""
        return 100 * (self._mistakes / self.count)

    def results(
        self, *, window: int, baseline: Mapping[str, float] | None, rejected: int, skipped_steps: int
    ) -> Results:
        """Compute all metrics."""
        wrong = np.concatenate(self._wrong)
        answered = np.concatenate([each.prediction for each in self._answers]) != NO_ANSWER
        confidence = np.concatenate([each.confidence for each in self._answers])[answered]
        log_probability = np.concatenate([each.log_probability for each in self._answers])[answered]
        by_group = error_by_group(wrong, self._corruptions)
        by_corruption = {name: by_group[name] for name in self.corruptions if name in by_group}
        errors = {name: share["error"] for name, share in by_corruption.items()}
        return {
            "count": self.count,
            "error": error_percent(wrong),
            "by_corruption": by_corruption,
            "over_time": error_over_time(wrong, window),
            "mce": None if baseline is None else mean_corruption_error(errors, baseline),
            "ece": calibration_error(confidence, wrong[answered]),
            "nll": negative_log_likelihood(log_probability),
            "rejected": rejected,
            "skipped_steps": skipped_steps,
            "examples": [self._examples[name] for name in by_corruption],
        }

    def _example(self, batch: Batch, answers: Answers, place: int) -> Example:
        corruption, severity = batch.shifts[place]
        label, prediction = int(batch.labels[place]), int(answers.prediction[place])
        return {
            "index": int(batch.indices[place]),
            "corruption": corruption,
            "severity": severity,
            "label": label,
            "prediction": prediction,
            "confidence": float(answers.confidence[place]),
            "class_names": [self._name(label), self._name(prediction)],
            "png": base64.b64encode(encode_png(batch.images[place])).decode(),
        }

    def _name(self, number: int) -> str:
        if number == NO_ANSWER:
            return "no answer"
        return self.class_names[number] if number < len(self.class_names) else str(number)
