"""The metrics again, one sample at a time, as their definitions read."""

import math
from collections.abc import Sequence


def error(labels: Sequence[int], predictions: Sequence[int]) -> float:
    wrong = 0
    for label, prediction in zip(labels, predictions, strict=True):
        if label != prediction:
            wrong += 1
    return 100 * wrong / len(labels)


def softmax(logits: Sequence[float]) -> list[float]:
    largest = max(logits)
    powers = [math.exp(logit - largest) for logit in logits]
    return [power / sum(powers) for power in powers]


def mce(errors: dict[str, float], baseline: dict[str, float]) -> float:
    relative = [errors[name] / baseline[name] for name in errors]
    return 100 * sum(relative) / len(relative)


def ece(confidences: Sequence[float], right: Sequence[bool], bins: int) -> float:
    total = 0.0
    for number in range(bins):
        low, high = number / bins, (number + 1) / bins
        inside = [
            (confidence, answer)
            for confidence, answer in zip(confidences, right, strict=True)
            if low < confidence <= high or (number == 0 and confidence == 0)
        ]
        if inside:
            confidence = sum(each for each, _ in inside) / len(inside)
            accuracy = sum(answer for _, answer in inside) / len(inside)
            total += len(inside) / len(confidences) * abs(accuracy - confidence)
    return total


def nll(logits: Sequence[Sequence[float]], labels: Sequence[int]) -> float:
    return sum(-math.log(softmax(row)[label]) for row, label in zip(logits, labels, strict=True)) / len(labels)
