"""Adapting to a whole segment of a stream before any of it is answered, and what that costs."""

import math
import time
from collections.abc import Iterator

import torch
from torch import Tensor

from mixnorm.adaptation import AdaptedModel
from mixnorm.benchmarks import Stream
from mixnorm.evaluation.record import FitCost


class SegmentImages:
    """The images of a segment, batch by batch, again each time it is iterated; it notes how long reading took."""

    def __init__(self, stream: Stream, segment: int, batch_size: int, device: torch.device, dtype: torch.dtype) -> None:
        self._stream, self._segment, self.batch_size = stream, segment, batch_size
        self._device, self._dtype = device, dtype
        self.count = int((stream.samples.segments == segment).sum())
        self.seconds = 0.0

    def __len__(self) -> int:
        return math.ceil(self.count / self.batch_size)

    def __iter__(self) -> Iterator[Tensor]:
        asked = time.perf_counter()
        for batch in self._stream.batches(self.batch_size, segment=self._segment):
            images = batch.images.to(self._device, self._dtype)
            self.seconds += time.perf_counter() - asked
            yield images
            asked = time.perf_counter()


class FitMeter:
    """Adapts a model to segments and takes the time, that of reading left out."""

    def __init__(self, adapted: AdaptedModel) -> None:
        self._adapted = adapted
        self._seconds = 0.0
        self._images = 0
        self.seen = 0
        """How many images were seen so far, each time counted."""

    def fit(self, target: SegmentImages, epochs: int) -> Iterator[None]:
        """Let the model see a target as often as there are epochs; yield after each batch."""
        whole, start, reading = epochs * target.count, time.perf_counter(), target.seconds
        for done, _ in self._adapted.iter_fit(target, epochs=epochs):
            self.seen = self._images + min(done * target.batch_size, whole)
            yield
        self._seconds += time.perf_counter() - start - (target.seconds - reading)
        self._images += whole
        self.seen = self._images

    def cost(self) -> FitCost:
        """Sum up."""
        return {"seconds": self._seconds, "images_per_second": self._images / self._seconds}
