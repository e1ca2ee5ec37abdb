"""Evaluating an adapted model on a stream.

Online each sample comes once, and is answered before the model learns from it. With epochs, the model first sees a
whole segment as often as asked, and then answers it without learning any more.
"""

import dataclasses
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import torch
from torch import Tensor

from mixnorm.adaptation import AdaptedModel
from mixnorm.adaptation.outputs import find_logits
from mixnorm.benchmarks import Stream
from mixnorm.errors import ModelError
from mixnorm.evaluation.cost import CostMeter
from mixnorm.evaluation.environment import commit, hardware
from mixnorm.evaluation.fingerprint import fingerprint
from mixnorm.evaluation.fitting import FitMeter, SegmentImages
from mixnorm.evaluation.plain import stable_id
from mixnorm.evaluation.protocol import Protocol
from mixnorm.evaluation.record import Cost, Record
from mixnorm.evaluation.tally import Tally


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far an evaluation is, and the error so far; the last one has the record.

    Samples count each time that they are seen: once to be answered, and once in each epoch before that.
    """

    done: int
    total: int
    error: float | None
    """None while nothing is answered."""
    record: Record | None = None


def evaluate(
    adapted: AdaptedModel,
    stream: Stream,
    protocol: Protocol | None = None,
    *,
    baseline: Mapping[str, float] | None = None,
) -> Record:
    """Measure an adapted model on a stream, from a fresh state, and return the record.

    `baseline` has the error of each corruption to which the mean corruption error is relative; without it that is None.

    >>> import mixnorm as mn
    >>> adapted = mn.adapt(mn.load_model("digits"), mn.MixNorm(m=0.2))
    >>> record = evaluate(adapted, mn.load_stream("digits-c", limit=64), Protocol(batch_size=32))
    >>> record.results["count"], record.fingerprint["order"]
    (64, 'mixed')
    """
    *_, last = iter_evaluate(adapted, stream, protocol, baseline=baseline)
    if last.record is None:
        raise ModelError("the evaluation ended without a record")
    return last.record


def iter_evaluate(
    adapted: AdaptedModel,
    stream: Stream,
    protocol: Protocol | None = None,
    *,
    baseline: Mapping[str, float] | None = None,
) -> Iterator[Progress]:
    """Do what `evaluate` does, yielding after each batch how far it is, and at the end the record."""
    protocol = protocol or Protocol()
    if stream.order != protocol.order:
        stream = dataclasses.replace(stream, order=protocol.order)
    evaluation = _Evaluation(adapted, stream, protocol)
    yield from evaluation.answers()
    yield evaluation.progress(evaluation.record(baseline))


class _Evaluation:
    """One evaluation on its way."""

    def __init__(self, adapted: AdaptedModel, stream: Stream, protocol: Protocol) -> None:
        self.adapted, self.stream, self.protocol = adapted, stream, protocol
        self.started, self.clock = datetime.now(UTC), time.perf_counter()
        weights = next(adapted.parameters(), torch.empty(0))
        self.device, self.dtype = weights.device, weights.dtype
        self.meter = CostMeter(adapted, self.device)
        self.fitting = FitMeter(adapted)
        self.tally = Tally(stream.class_names, stream.corruptions)
        self.rejected = self.skipped_steps = 0

    def answers(self) -> Iterator[Progress]:
        """Answer the stream batch by batch."""
        yield from self._offline() if self.protocol.epochs else self._online()
        self._count_troubles()

    def _online(self) -> Iterator[Progress]:
        segment = None
        for batch in self.stream.batches(self.protocol.batch_size):
            images = batch.images.to(self.device, self.dtype)
            if segment is None:
                check_classes(self._source_logits(images[:1]), self.stream)
                self.adapted.reset()
            elif batch.segment != segment and self.protocol.reset == "segment":
                self._reset()
            segment = batch.segment
            self.tally.add(batch, self._logits(images))
            yield self.progress()

    def _offline(self) -> Iterator[Progress]:
        for number, segment in enumerate(self.stream.segments):
            target = SegmentImages(self.stream, segment, self.protocol.batch_size, self.device, self.dtype)
            if number == 0:
                check_classes(self._source_logits(next(iter(target))), self.stream)
                self.adapted.reset()
            elif self.protocol.reset == "segment":
                self._reset()
            for _ in self.fitting.fit(target, self.protocol.epochs):
                yield self.progress()
            for batch in self.stream.batches(self.protocol.batch_size, segment=segment):
                with self.adapted.frozen():
                    self.tally.add(batch, self._logits(batch.images.to(self.device, self.dtype)))
                yield self.progress()

    def progress(self, record: Record | None = None) -> Progress:
        """Say how far it is."""
        return Progress(
            done=self.fitting.seen + self.tally.count,
            total=len(self.stream) * (1 + self.protocol.epochs),
            error=self.tally.error if self.tally.count else None,
            record=record,
        )

    def record(self, baseline: Mapping[str, float] | None) -> Record:
        """Make the record of all that was answered."""
        identity = fingerprint(self.adapted, self.stream, self.protocol, type(self.adapted.model).__name__)
        results = self.tally.results(
            window=self.protocol.window,
            baseline=baseline,
            rejected=self.rejected,
            skipped_steps=self.skipped_steps,
        )
        return Record(
            id=stable_id(identity),
            spec=None,
            fingerprint=identity,
            results=results,
            cost=self._cost(),
            hardware=hardware(self.device),
            commit=commit(),
            started=self.started.isoformat(timespec="seconds"),
            duration_s=time.perf_counter() - self.clock,
            error=None,
        )

    def _cost(self) -> Cost:
        cost = self.meter.cost()
        if self.protocol.epochs:
            cost["fit"] = self.fitting.cost()
        return cost

    @torch.no_grad()
    def _source_logits(self, images: Tensor) -> Tensor:
        with self.adapted.paused():
            return find_logits(self.adapted(images))

    @torch.no_grad()
    def _logits(self, images: Tensor) -> Tensor:
        return find_logits(self.meter.call(images))

    def _reset(self) -> None:
        self._count_troubles()
        self.adapted.reset()

    def _count_troubles(self) -> None:
        """Add up what a reset makes the model forget."""
        self.rejected += self.adapted.rejected
        self.skipped_steps += self.adapted.skipped_steps


def check_classes(logits: Tensor, stream: Stream) -> None:
    """Refuse a model whose classes cannot be those of the stream.

    A model may know more classes than a data set whose classes are plain numbers; named classes are numbered by their
    place among all of them, so there the counts must be equal.
    """
    classes = logits.shape[1]
    numbers = tuple(map(str, range(stream.class_count)))
    fits = classes >= stream.class_count if stream.class_names == numbers else classes == stream.class_count
    if logits.ndim != 2 or not fits:
        raise ModelError(
            f"the model answers with {' x '.join(map(str, logits.shape[1:]))} classes, {stream.name} has "
            f"{stream.class_count} ({', '.join(stream.class_names[:3])}, ...); choose a model trained on these classes"
        )
