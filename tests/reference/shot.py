"""SHOT in numpy, number by number: its two losses, and the pseudo-labels by centroids."""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def softmax(logits: Floats) -> Floats:
    """Turn the logits of each sample into probabilities."""
    return np.array([[math.exp(z) / sum(math.exp(other) for other in row) for z in row] for row in logits])


def information_loss(logits: Floats) -> float:
    """Mean entropy of the predictions less the entropy of their mean."""
    p = softmax(logits)
    samples, classes = p.shape
    entropy = -sum(p[b, k] * math.log(p[b, k]) for b in range(samples) for k in range(classes)) / samples
    mean = [sum(p[b, k] for b in range(samples)) / samples for k in range(classes)]
    return float(entropy - -sum(q * math.log(q + 1e-5) for q in mean))


def cosine_distance(a: Floats, b: Floats) -> float:
    """One less the cosine of the angle between two vectors."""
    return float(1 - sum(a * b) / math.sqrt(sum(a * a) * sum(b * b)))


def centroids(features: Floats, logits: Floats) -> dict[int, Floats]:
    """Find the centroids of the classes that some sample is predicted to be: weighted at first, then by label."""
    p = softmax(logits)
    vectors = [np.append(row, 1.0) / math.sqrt(sum(row * row) + 1) for row in features]
    weights, labels = p, [int(np.argmax(row)) for row in logits]
    for _ in range(2):
        present = sorted(set(labels))
        found = {
            k: sum(weights[b, k] * vectors[b] for b in range(len(vectors))) / (1e-8 + sum(weights[:, k]))
            for k in present
        }
        labels = nearest(features, found)
        weights = np.array([[float(label == k) for k in range(p.shape[1])] for label in labels])
    return found


def nearest(features: Floats, found: dict[int, Floats]) -> list[int]:
    """Label each sample with the class of the nearest centroid."""
    vectors = [np.append(row, 1.0) for row in features]
    return [min(found, key=lambda k: cosine_distance(vector, found[k])) for vector in vectors]


def shot_loss(features: Floats, logits: Floats, labels: list[int], beta: float) -> float:
    """Add up the two losses."""
    p = softmax(logits)
    cross_entropy = -sum(math.log(p[b, label]) for b, label in enumerate(labels)) / len(labels)
    return information_loss(logits) + beta * cross_entropy
