"""A forward pass of an adapted model: run apart from its state, which changes only when all has gone well."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import FunctionType, MethodType
from typing import Any

import torch
from torch import Tensor, nn

from mixnorm.adaptation.learner import Learner
from mixnorm.adaptation.methods import Lesson, Method, Seen
from mixnorm.adaptation.outputs import average_mirrored, find_logits, first_rows, map_tensors
from mixnorm.adaptation.state import AdaptationState
from mixnorm.adaptation.streams import DEFAULT
from mixnorm.adaptation.views import mirror_images, random_views
from mixnorm.errors import InputError, ModelError
from mixnorm.norms import Context, Move, Plan, Rows, any_length, sums_up


@dataclass(frozen=True)
class Batch:
    """Samples with their streams, the slots of these, and whether they are to change the state."""

    images: Tensor
    names: list[str]
    slots: dict[str, int]
    update: bool
    overview: Tensor | None = None
    """What is known about the whole target set, where the batch is part of one."""
    rate: float = 1.0
    """Which part of the learning rate to learn with."""

    @classmethod
    def of_default(cls, images: Tensor, *, update: bool, overview: Tensor | None = None, rate: float = 1.0) -> "Batch":
        """Make a batch of the default stream."""
        return cls(images, [DEFAULT] * len(images), {DEFAULT: 0}, update, overview, rate)

    def part(self, index: list[int]) -> "Batch":
        """Make a batch of some of its samples."""
        together = index[-1] - index[0] == len(index) - 1
        images = self.images[index[0] : index[-1] + 1] if together else self.images[index]
        names = [self.names[place] for place in index]
        return replace(self, images=images, names=names, slots={name: self.slots[name] for name in names})


@dataclass(frozen=True)
class Pass:
    """A forward pass over some samples of a batch, and what it would change."""

    index: list[int]
    """The places of the samples in the batch."""
    names: list[str]
    """Their streams."""
    output: Any
    features: Tensor | None
    """What the lesson's tap has read."""
    move: Move | None
    """How far the moving statistics move; None where they do not."""
    learner: Learner | None
    gradients: list[Tensor | None] | None

    def commit(self, state: AdaptationState, batch: Batch) -> None:
        """Make what the pass found part of the state."""
        state.streams.take_in(self.names, batch.slots)
        if self.move is not None:
            self.move.commit(state.memory)
        if self.learner is not None:
            state.learn(self.names[0], self.learner, self.gradients, batch.rate)


@dataclass(frozen=True)
class Runner:
    """Runs the passes of a model for a method."""

    model: nn.Module
    method: Method
    context: Context
    state: AdaptationState
    compile: bool = False

    @cached_property
    def network(self) -> Callable[[Tensor], Any]:
        """The model as it is run: compiled, if so asked for; one with branches on values is compiled in parts."""
        return torch.compile(_with_code_of_its_own(self._pass)) if self.compile else self._pass

    def _pass(self, rows: Tensor) -> Any:
        # What the layers found is put together here: compiled, two tensors of each would take their time to come out.
        output = self.model(rows)
        self.context.end()
        return output

    def __getstate__(self) -> dict[str, Any]:
        # Compiled code is not copied: it is made again.
        return {name: value for name, value in vars(self).items() if name != "network"}

    def run(self, batch: Batch) -> tuple[list[Pass], list[int]]:
        """Run a batch: return the passes that answer it, and the places of the samples that are not finite.

        These are left out, so they touch nothing: the rest gets what it would get in a batch without them.
        """
        finite = _finite(batch.images)
        rejected = [place for place, good in enumerate(finite) if not good]
        passes: list[Pass] = []
        waiting = self._parts(batch, [place for place, good in enumerate(finite) if good])
        while waiting:
            part = waiting.pop(0)
            done = self._run(batch, part)
            if isinstance(done, Pass):
                passes.append(done)
            else:
                rejected += done
                waiting[:0] = self._parts(batch, [place for place in part if place not in done])
        return passes, sorted(rejected)

    def survey(self, lesson: Lesson, batches: Iterable[Tensor]) -> Tensor:
        """Let a lesson look at a whole target set, as the model sees it now."""
        features, logits = [], []
        for images in batches:
            for done in self.run(Batch.of_default(images, update=False))[0]:
                features.append(done.features)
                logits.append(find_logits(done.output))
        if not logits:
            raise InputError("no sample of the target set is finite")
        return lesson.survey(torch.cat([each for each in features if each is not None]), torch.cat(logits))

    def _parts(self, batch: Batch, index: list[int]) -> list[list[int]]:
        """Split what cannot run together: streams have their own learned parameters."""
        parts: dict[str, list[int]] = {}
        for place in index:
            parts.setdefault(batch.names[place] if self.method.learning else "", []).append(place)
        return list(parts.values())

    def _run(self, batch: Batch, index: list[int]) -> Pass | list[int]:
        """Run some samples of a batch: return the places of those that spoil what others share, where there are any."""
        names = [batch.names[place] for place in index]
        learner, lesson = self.state.learner(names[0]), self.state.lesson
        slots = [batch.slots[name] for name in names]
        if lesson and batch.update:
            lesson.check(batch.images)
        with self._ready(batch, slots, learner) as plan:
            version = _version(batch.images)
            with torch.set_grad_enabled(torch.is_grad_enabled() and (lesson is None or lesson.needs_answer)):
                output, features = self._read(self._rows(batch, index, names), plan)
            spoilt, move = self._found(plan)
            if spoilt:
                if version != _version(batch.images):
                    raise ModelError(
                        "the model changed its input in place, which it had not done before, and a sample overflowed "
                        "inside it, so that the others cannot be run again; give it a copy of the images"
                    )
                return [index[sample] for sample in spoilt]
            if self.method.augmentations:
                answer = average_mirrored if self.method.averages else first_rows
                output = answer(output, len(index), self.groups * len(index))
            gradients = None
            if learner and lesson and batch.update:
                images = batch.images if len(index) == len(batch.images) else batch.images[index]
                seen = Seen(images, output, features, batch.overview, partial(self._again, slots))
                gradients = learner.gradients(self._loss(lesson, seen))
            if learner is not None:
                output, features = map_tensors(Tensor.detach, (output, features))
            return Pass(index, names, output, features, move, learner, gradients)

    def _read(self, rows: Tensor, plan: Plan) -> tuple[Any, Tensor | None]:
        """Run the model, and read the features that its lesson needs."""
        if self.compile:
            any_length(rows, plan)
        version = _version(rows)
        tap = self.state.lesson.tap if self.state.lesson else None
        if tap is None:
            output, features = self.network(rows), None
        else:
            with tap.reading() as passed:
                output = self.network(rows)
            features = tap.last(passed, len(rows))
        self.context.keeps_input = version is not None and version == _version(rows)
        return output, features

    def _again(self, slots: list[int], rows: Tensor, groups: int) -> Tensor:
        plan = self.method.plan(Rows.of(slots, groups), rows.device, False)
        self.context.begin(plan)
        _, features = self._read(rows, plan)
        if features is None:
            raise ModelError("a lesson without a tap has no features to read")
        return features

    def _loss(self, lesson: Lesson, seen: Seen) -> Tensor:
        loss = lesson.loss(seen)
        # Layers that are computed again for the backward pass count from the first call, and change nothing.
        self.context.begin(self.context.plan)
        return loss

    def _found(self, plan: Plan) -> tuple[list[int], Move | None]:
        """Say which samples spoil what others share, or else how far the state moves."""
        if not self.context.calls:
            raise ModelError(
                "none of the replaced layers ran: the model reaches its BatchNorm layers in another way than as "
                "submodules, such as through a list; hold them in torch.nn.ModuleList or torch.nn.Sequential"
            )
        with torch.no_grad():
            found = self.context.found
            spoilt = [] if found is None else found.spoilt(plan.samples)
            move = None if spoilt else self.context.move(plan)
            # Learning needs the memory.
            self.context.found = None
            return spoilt, move

    @property
    def groups(self) -> int:
        """The groups of rows: the samples themselves, and each view of them."""
        return 1 + self.method.augmentations

    @contextmanager
    def _ready(self, batch: Batch, slots: list[int], learner: Learner | None) -> Iterator[Plan]:
        rows = Rows.of(slots, self.groups, partial(self._due, {slot: name for name, slot in batch.slots.items()}))
        plan = self.method.plan(rows, batch.images.device, batch.update)
        # A compiler looks after memory itself.
        self.context.brief = learner is not None and batch.update and not self.compile
        with self._gradients(batch, learner):
            self.context.begin(plan)
            try:
                yield plan
            finally:
                self.context.begin(None)

    def _due(self, names: dict[int, str], slot: int, samples: int) -> bool:
        """Say whether a stream is looked at when it has had so many more samples."""
        return self.method.until_look(self.state.streams.seen(names[slot])) == samples

    @contextmanager
    def _gradients(self, batch: Batch, learner: Learner | None) -> Iterator[None]:
        if learner is None:
            yield
            return
        # Learning needs gradients whatever the caller's mode is.
        with torch.inference_mode(False), torch.set_grad_enabled(batch.update), learner.attached():
            yield

    def _rows(self, batch: Batch, index: list[int], names: list[str]) -> Tensor:
        """Put the samples and their views together, view-major."""
        images = batch.images if len(index) == len(batch.images) else batch.images[index]
        if not self.method.augmentations:
            # A copy, until the model has been seen to leave its input alone: one that does not may have to run again.
            known = self.context.keeps_input and not images.is_inference()
            return images if known or images is not batch.images else images.clone()
        if self.method.averages:
            return torch.cat([images, mirror_images(images)])
        places = self.state.streams.places(names)
        return torch.cat([images, random_views(images, self.method.augmentations, self.state.seed, places)])


def _with_code_of_its_own(method: Any) -> MethodType:
    """Copy a method with its code: torch counts compiled versions by code, and would count those of all models."""
    function = method.__func__
    copied = FunctionType(function.__code__.replace(), function.__globals__, function.__name__)
    return MethodType(copied, method.__self__)


def _version(rows: Tensor) -> int | None:
    """Tell how often a tensor has been changed in place; None where torch does not count."""
    return None if rows.is_inference() else rows._version


def _finite(images: Tensor) -> list[bool]:
    """Tell for each sample whether all its values are finite."""
    return [True] * len(images) if sums_up(images) else images.flatten(1).isfinite().all(1).tolist()
