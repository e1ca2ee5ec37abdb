"""A small model and a small stream, so that tests of evaluation take no time."""

import numpy as np
import torch
from torch import nn

from mixnorm.benchmarks import Stream
from mixnorm.benchmarks.datasets.arrays import ArrayDataset
from mixnorm.benchmarks.datasets.shifted import AsStored

CLASSES = ("cat", "dog", "owl")
CORRUPTIONS = ("fog", "snow")


def small_model(classes: int = 3, seed: int = 0) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Conv2d(3, 6, 3),
            nn.BatchNorm2d(6),
            nn.ReLU(),
            nn.Conv2d(6, 8, 3),
            nn.BatchNorm2d(8),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(8, classes),
        ).eval()


def small_stream(count: int = 60, class_names: tuple[str, ...] = CLASSES, **settings: object) -> Stream:
    random = np.random.default_rng(0)
    shifts = tuple((CORRUPTIONS[index % 2], 5) for index in range(count))
    pixels = random.integers(0, 256, (count, 8, 8, 3)).astype(np.uint8)
    labels = random.integers(0, 3, count)
    data = AsStored(ArrayDataset("small", pixels, labels, class_names, shifts=shifts))
    return Stream(data=data, corruptions=CORRUPTIONS, **settings)  # type: ignore[arg-type]
