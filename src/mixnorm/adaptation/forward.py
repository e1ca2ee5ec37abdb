"""A forward pass of an adapted model: run apart from its state, which changes only when all has gone well."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from mixnorm.adaptation.learner import AffineLearner
from mixnorm.adaptation.methods import Method, mean_entropy
from mixnorm.adaptation.outputs import find_logits, first_rows, map_tensors
from mixnorm.adaptation.state import AdaptationState
from mixnorm.adaptation.views import random_views
from mixnorm.norms import Context, Rows, Step


@dataclass(frozen=True)
class Batch:
    """Samples with their streams, the slots of these, and whether they are to change the state."""

    images: Tensor
    names: list[str]
    slots: dict[str, int]
    update: bool


@dataclass(frozen=True)
class Pass:
    """A forward pass over some samples of a batch, and what it would change."""

    index: list[int]
    """The places of the samples in the batch."""
    names: list[str]
    """Their streams."""
    output: Any
    steps: list[Step]
    learner: AffineLearner | None
    loss: Tensor | None

    def overflown(self) -> list[int]:
        """Find the samples whose features were not finite in the first layer that met any, as places in the batch."""
        shared = [stat.flatten() for step in self.steps for stat in step.shared]
        if not shared or bool(torch.cat(shared).isfinite().all()):
            return []
        for step in self.steps:
            # Layers after the first one may see samples that are not finite only because they met the first ones.
            finite = torch.cat(step.rows, dim=1).isfinite().all(1).view(-1, len(self.index)).all(0).tolist()
            if not all(finite):
                return [place for place, good in zip(self.index, finite, strict=True) if not good]
        return []

    def commit(self, state: AdaptationState, slots: dict[str, int]) -> None:
        """Make what the pass found part of the state."""
        state.streams.take_in(self.names, slots)
        for step in self.steps:
            step.commit()
        if self.learner is not None and self.loss is not None:
            state.learn(self.names[0], self.learner, self.loss)


@dataclass(frozen=True)
class Runner:
    """Runs the passes of a model for a method."""

    model: nn.Module
    method: Method
    context: Context
    state: AdaptationState

    def run(self, batch: Batch) -> tuple[list[Pass], list[int]]:
        """Run a batch: return the passes that answer it, and the places of the samples that are not finite.

        These are left out, so they touch nothing: the rest gets what it would get in a batch without them.
        """
        finite = batch.images.flatten(1).isfinite().all(1).tolist()
        rejected = [place for place, good in enumerate(finite) if not good]
        passes: list[Pass] = []
        waiting = self._parts(batch, [place for place, good in enumerate(finite) if good])
        while waiting:
            part = waiting.pop(0)
            done = self._run(batch, part)
            if overflown := done.overflown():
                rejected += overflown
                waiting[:0] = self._parts(batch, [place for place in part if place not in overflown])
            else:
                passes.append(done)
        return passes, rejected

    def _parts(self, batch: Batch, index: list[int]) -> list[list[int]]:
        """Split what cannot run together: streams have their own learned parameters."""
        parts: dict[str, list[int]] = {}
        for place in index:
            parts.setdefault(batch.names[place] if self.method.learning else "", []).append(place)
        return list(parts.values())

    def _run(self, batch: Batch, index: list[int]) -> Pass:
        names = [batch.names[place] for place in index]
        learner = self.state.learner(names[0])
        with self._ready(batch, names, learner):
            output = self.model(self._rows(batch, index, names))
            output = first_rows(output, len(index), self.rows_per_sample * len(index))
            loss = mean_entropy(find_logits(output)) if learner is not None and batch.update else None
            if learner is not None:
                output = map_tensors(Tensor.detach, output)
            return Pass(index, names, output, self.context.steps, learner, loss)

    @property
    def rows_per_sample(self) -> int:
        """The sample itself and its views."""
        return 1 + self.method.augmentations

    @contextmanager
    def _ready(self, batch: Batch, names: list[str], learner: AffineLearner | None) -> Iterator[None]:
        rows = Rows.of([batch.slots[name] for name in names], self.rows_per_sample)
        with self._gradients(batch, learner):
            self.context.begin(self.method.plan(rows, batch.images.device, batch.update))
            try:
                yield
            finally:
                self.context.begin(None)

    @contextmanager
    def _gradients(self, batch: Batch, learner: AffineLearner | None) -> Iterator[None]:
        if learner is None:
            yield
            return
        # Learning needs gradients whatever the caller's mode is.
        with torch.inference_mode(False), torch.set_grad_enabled(batch.update), learner.attached():
            yield

    def _rows(self, batch: Batch, index: list[int], names: list[str]) -> Tensor:
        """Put the samples and their views together, view-major."""
        images = batch.images if len(index) == len(batch.images) else batch.images[index]
        if images.is_inference() and not torch.is_inference_mode_enabled():
            images = images.clone()
        if not self.method.augmentations:
            return images
        places = self.state.streams.places(names)
        return torch.cat([images, random_views(images, self.method.augmentations, self.state.seed, places)])
