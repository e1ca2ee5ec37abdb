"""What a run costs: the time of each call of the adapted model, beside the source model's on the same batches."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mixnorm.adaptation import AdaptedModel
from mixnorm.evaluation.memory import forget_peak_memory, peak_memory_mb
from mixnorm.evaluation.record import Cost

COMPARED_BATCHES = 8


class CostMeter:
    """Calls an adapted model and takes the time.

    On the first few batches the source model (the adapted one, paused) answers the same batch as well, now before, now
    after, so that what else the machine does meets both. Its answers are thrown away.
    """

    def __init__(self, adapted: AdaptedModel, device: torch.device) -> None:
        self._adapted = adapted
        self._device = device
        self._seconds: list[float] = []
        self._ratios: list[float] = []
        self._images = 0
        forget_peak_memory(device)

    def call(self, images: Tensor) -> Any:
        """Give the adapted model's answer."""
        number = len(self._seconds)
        before = self._source_seconds(images) if number < COMPARED_BATCHES and number % 2 else None
        output, seconds = self._timed(self._adapted, images)
        after = self._source_seconds(images) if number < COMPARED_BATCHES and not number % 2 else None
        source = before or after
        if source:
            self._ratios.append(seconds / source)
        self._seconds.append(seconds)
        self._images += len(images)
        return output

    def cost(self) -> Cost:
        """Sum up; the first comparison is left out if there are others, since it also pays for one-time work."""
        p50, p95 = np.percentile(self._seconds, [50, 95])
        return {
            "images_per_second": self._images / sum(self._seconds),
            "latency_p50_ms": 1000 * float(p50),
            "latency_p95_ms": 1000 * float(p95),
            "peak_memory_mb": peak_memory_mb(self._device),
            "ratio_to_source": float(np.median(self._ratios[1:] or self._ratios)),
        }

    def _source_seconds(self, images: Tensor) -> float:
        with self._adapted.paused():
            return self._timed(self._adapted, images)[1]

    def _timed(self, function: Callable[[Tensor], Any], images: Tensor) -> tuple[Any, float]:
        self._wait()
        start = time.perf_counter()
        output = function(images)
        self._wait()
        return output, time.perf_counter() - start

    def _wait(self) -> None:
        """Let a GPU finish what it was asked to do."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
