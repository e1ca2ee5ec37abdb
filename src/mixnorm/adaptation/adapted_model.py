"""A model that adapts to what it sees."""

import copy
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from math import ceil, inf
from threading import RLock
from typing import Any, Self

import torch
from torch import Tensor, nn

from mixnorm.adaptation.calibration import measure_content
from mixnorm.adaptation.forward import Batch, Runner
from mixnorm.adaptation.methods import Method
from mixnorm.adaptation.outputs import merge
from mixnorm.adaptation.parts import before_looks, evenly
from mixnorm.adaptation.replacement import batchnorms, check_images, kept_layers, replace_all_, swap_modules_
from mixnorm.adaptation.report import LayerReport, Report
from mixnorm.adaptation.state import AdaptationState
from mixnorm.adaptation.state_file import Header, Snapshot, fingerprint, load_snapshot, save_snapshot
from mixnorm.adaptation.streams import DEFAULT, stream_names
from mixnorm.adaptation.target import Target
from mixnorm.errors import InputError, ModelError, SettingError, StateError
from mixnorm.norms import AdaptiveNorm, Context

REASONS = {
    None: "adapts; has not run yet",
    False: "adapts",
    True: "keeps the source statistics: it sees one position per sample",
}
"""Why a replaced layer does what it does, by whether it kept the source statistics when it last ran."""
VALUES_AT_ONCE = 2**19
"""How many values the largest map may have on a processor, for each of its threads. The system clears the memory of
larger ones anew in every layer, which takes as long as computing them."""
MOST_ENLARGEMENT = 64
"""How many times as many values as an image its largest map may have: batches that fit all the same need no look."""


class AdaptedModel(nn.Module):
    """A model whose BatchNorm layers re-estimate their statistics from what it sees; made by `adapt`.

    It is called like the model and answers in the same type. `train()` and `eval()` change nothing about the answers:
    the model inside stays in evaluation mode.
    """

    def __init__(
        self,
        model: nn.Module,
        method: Method,
        *,
        seed: int,
        keep: Sequence[str] = (),
        compile: bool = False,  # noqa: A002 - the word of torch
    ) -> None:
        super().__init__()
        self.method = method
        self._context = Context(method.plan, standalone=False)
        self._trainable = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
        # A method that replaces nothing refuses unknown names as well.
        kept_layers(batchnorms(model), keep)
        self.model = replace_all_(model, method, self._context, keep) if method.adapts else model
        self.model.eval().requires_grad_(False)
        found = batchnorms(self.model)
        layers = {names[0]: layer for layer, names in found.items() if isinstance(layer, AdaptiveNorm)}
        lesson = method.lesson(self.model, list(layers.values()))
        self._state = AdaptationState(layers, self._context.memory, lesson, seed)
        self._runner = Runner(self.model, method, self._context, self._state, compile)
        self._largest_maps: dict[torch.Size, int] = {}
        """How many values the largest map of an image has, by the size of images."""
        self._frozen = False
        self._fingerprint: str | None = None
        self._one_at_a_time = RLock()

    def forward(self, images: Tensor, *, streams: str | Sequence[str] | None = None) -> Any:
        """Predict, and adapt to the samples; `streams` names the stream of each sample."""
        check_images(images)
        names = stream_names(streams, len(images))
        with self._one_at_a_time:
            if self._context.paused or not self.method.adapts:
                return self.model(images)
            return self._run(Batch(images, names, self._state.streams.assign(names), update=not self._frozen))

    def _run(self, batch: Batch) -> Any:
        """Run a batch: whole if it may be, else part after part, which is the same to a batch-invariant method."""
        samples, every = self._samples_at_once(batch.images), list(range(len(batch.images)))
        if len(every) <= samples and len(self._before_looks(batch, every)) == len(every):
            return self._run_whole(batch)
        # All of it, or nothing.
        back = self._state.undo(list(batch.slots.values()))
        answers: list[tuple[list[int], Any]] = []
        try:
            while every:
                alike = self._before_looks(batch, every)
                parts = evenly(alike, samples)
                answers += [(part, self._run_whole(batch.part(part))) for part in parts]
                done = set(alike)
                every = [place for place in every if place not in done]
            return merge(answers)
        except BaseException:
            back()
            raise

    def _before_looks(self, batch: Batch, index: list[int]) -> list[int]:
        if not batch.update or self.method.until_look(0) == inf:
            return index
        return before_looks(batch.names, index, lambda name: self.method.until_look(self._state.streams.seen(name)))

    def _samples_at_once(self, images: Tensor) -> int:
        """Say how many samples run together: all, or what suits a processor."""
        if len(images) == 1 or images.device.type != "cpu" or not self.method.batch_invariant:
            return len(images)
        values = VALUES_AT_ONCE * torch.get_num_threads() / self._runner.groups
        if len(images) * images[0].numel() * MOST_ENLARGEMENT <= values:
            return len(images)
        return max(1, ceil(values / self._largest_map(images)))

    def _largest_map(self, images: Tensor) -> int:
        """Let the source model show how many values the largest map of an image of such a size has.

        It is asked once for each size of images, so that a batch runs in the same parts whatever came before: in other
        parts it would be rounded differently.
        """
        size = images.shape[1:]
        if size not in self._largest_maps:
            self._context.largest_map = 1
            with self.paused(), torch.no_grad():
                # Two of them: not every model takes a single one.
                self.model(images[:2].clone())
            self._largest_maps[size] = self._context.largest_map
        return self._largest_maps[size]

    def _run_whole(self, batch: Batch) -> Any:
        self._state.reserve(1 + max(batch.slots.values()))
        passes, rejected = self._runner.run(batch)
        parts = [(done.index, done.output) for done in passes]
        if rejected:
            with self.paused():
                parts.append((rejected, self.model(batch.images[rejected])))
        answer = merge(parts)
        if batch.update:
            self._state.rejected += len(rejected)
            for done in passes:
                done.commit(self._state, batch)
        return answer

    def calibrate(self, images: Tensor | Iterable[Tensor]) -> Self:
        """Measure on clean images, without labels, what content alone shows in each layer, in the place of defaults.

        It is for `ShrinkNorm`, and makes it safer; some hundred images, in one batch or several, will do. What was seen
        before is forgotten, and what was measured stays until the next call, `reset()` included.
        """
        layers = self._state.shrinkage_layers()
        if not layers:
            raise SettingError(f"{self.method.name} has nothing to calibrate; adapt the model with ShrinkNorm()")
        target = Target([images] if isinstance(images, Tensor) else images, 1, surveyed=False)
        with self._one_at_a_time, self.paused():
            measured = measure_content(self.model, layers, target.look())
        self._state.clear()
        for name, layer in layers.items():
            layer.calibration = measured.get(name)
        return self

    def fit(
        self, batches: Iterable[Tensor], *, epochs: int = 1, progress: Callable[[int, int | None], None] | None = None
    ) -> Self:
        """Adapt to a target set, seen as often as there are epochs; a failure leaves the state as it was.

        `batches` gives tensors of images, again for each epoch; `progress` is told how many batches are done, and of
        how many.
        """
        # Closed at once if `progress` fails, which puts the state back.
        with closing(self.iter_fit(batches, epochs=epochs)) as steps:
            for done, total in steps:
                if progress is not None:
                    progress(done, total)
        return self

    def iter_fit(self, batches: Iterable[Tensor], *, epochs: int = 1) -> Generator[tuple[int, int | None], None, None]:
        """Do what `fit` does, yielding after each batch how many are done, and of how many if that is known.

        What is given up before its end leaves the state as it was.
        """
        lesson = self._state.lesson
        target = Target(batches, epochs, surveyed=lesson is not None and lesson.surveys)
        with self._one_at_a_time:
            if self._frozen or self._context.paused:
                raise StateError("a model that is frozen or paused cannot be fitted; leave frozen() or paused() first")
            before = self.snapshot()
            try:
                yield from self._fit(target)
            except BaseException:
                self.restore(before)
                raise

    def _fit(self, target: Target) -> Iterator[tuple[int, int | None]]:
        lesson, done = self._state.lesson, 0
        for _ in range(target.epochs):
            overview = self._runner.survey(lesson, target.look()) if lesson and lesson.surveys else None
            for images in target.look():
                done += 1
                if self.method.adapts:
                    rate = lesson.rate(done / target.total) if lesson and target.total else 1.0
                    self._run(Batch.of_default(images, update=True, overview=overview, rate=rate))
                yield done, target.total

    @property
    def seed(self) -> int:
        """The seed of the views."""
        return self._state.seed

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of the streams that have a state."""
        return self._state.streams.names

    @property
    def rejected(self) -> int:
        """How many samples the source model answered, because they would have spoilt what others share."""
        return self._state.rejected

    @property
    def skipped_steps(self) -> int:
        """How many learning steps were not taken, because the way downhill was not finite."""
        return self._state.skipped_steps

    @contextmanager
    def paused(self) -> Iterator[Self]:
        """Be the source model for a while, bit for bit, and leave the state alone."""
        before, self._context.paused = self._context.paused, True
        try:
            yield self
        finally:
            self._context.paused = before

    @contextmanager
    def frozen(self) -> Iterator[Self]:
        """Use what has been estimated for a while, and leave the state alone."""
        before, self._frozen = self._frozen, True
        try:
            yield self
        finally:
            self._frozen = before

    def report(self) -> Report:
        """Tell what became of each BatchNorm layer, and why."""
        layers = batchnorms(self.model).items()
        return Report(str(self.method), tuple(self._describe(layer, names) for layer, names in layers))

    def reset(self, stream: str | None = None) -> None:
        """Forget all that was seen, or what one stream has seen."""
        if stream is None:
            self._state.clear()
        else:
            self._state.forget(stream)

    def snapshot(self) -> Snapshot:
        """Copy the whole adaptation state."""
        state = self._state
        with self._one_at_a_time:
            header = Header(
                model=self._source_fingerprint(),
                method=self.method.to_dict(),
                seed=state.seed,
                streams=state.streams.export(),
                rejected=state.rejected,
                skipped_steps=state.skipped_steps,
            )
            return Snapshot(header, state.export())

    def restore(self, snapshot: Snapshot) -> None:
        """Put back the state of a snapshot of this model and method; one that does not fit changes nothing."""
        if not isinstance(snapshot, Snapshot):
            raise StateError(f"restore takes what snapshot() gave, got {snapshot!r:.80}; files are for load_state")
        if snapshot.header.model != self._source_fingerprint():
            raise StateError("the state belongs to another source model (its weights differ); adapt that model instead")
        if Method.from_dict(snapshot.header.method) != self.method:
            raise StateError(f"the state was made with {snapshot.header.method}, this model adapts with {self.method}")
        self._state.load(snapshot.header, snapshot.tensors)

    def save_state(self, path: str | os.PathLike[str]) -> None:
        """Write the adaptation state to a safetensors file: whole, or not at all."""
        save_snapshot(self.snapshot(), path)

    def load_state(self, path: str | os.PathLike[str]) -> None:
        """Continue from a state file of the same source model and method; one that does not fit changes nothing."""
        self.restore(load_snapshot(path))

    def bake(self, stream: str | None = None) -> nn.Module:
        """Make an ordinary BatchNorm model with the moving statistics, and the learned parameters, of a stream."""
        if not self.method.bakeable:
            raise ModelError(f"{self.method.name} keeps no statistics for a BatchNorm; use MixNorm or MixNormBN")
        name = self._stream_to_bake() if stream is None else stream
        slot = self._state.streams.slot(name)
        baked = copy.deepcopy(self)
        if name in baked._state.learners:
            baked._state.learners[name].write_()
        with torch.inference_mode(False):
            plain: dict[nn.Module, nn.Module] = {layer: layer.batchnorm(slot) for layer in baked._state.layers.values()}
        model = swap_modules_(baked.model, plain)
        for parameter_name, parameter in model.named_parameters():
            parameter.requires_grad_(parameter_name in self._trainable)
        return model

    def _stream_to_bake(self) -> str:
        if self.streams and not self._state.streams.seen(DEFAULT):
            raise InputError(f"all samples came in named streams; say which to bake, one of {', '.join(self.streams)}")
        return DEFAULT

    def train(self, mode: bool = True) -> Self:
        """Note the mode; the model inside stays in evaluation mode."""
        self.training = mode
        return self

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Give the source model's own state, under its own names."""
        # Inside a larger module torch passes the dictionary to fill, and later looks for the names of this module.
        inside = bool(args) or "destination" in kwargs
        # While another thread's batch runs, learned values stand in the place of the source's.
        with self._one_at_a_time:
            return super().state_dict(*args, **kwargs) if inside else self.model.state_dict(**kwargs)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Load a checkpoint of the source model, and start again from it; one that does not fit changes nothing."""
        # torch loads what fits before it says what does not.
        copy.deepcopy(self.model).load_state_dict(state_dict, strict=strict, assign=assign)
        self._source_changes()
        return self.model.load_state_dict(state_dict, strict=strict, assign=assign)

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self._source_changes()
        super()._load_from_state_dict(*args, **kwargs)

    def _apply(self, *args: Any, **kwargs: Any) -> Self:
        self._fingerprint = None
        super()._apply(*args, **kwargs)  # type: ignore[no-untyped-call]
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Tensors copied in inference mode could not be changed outside of it.
        twin = type(self).__new__(type(self))
        memo[id(self)] = twin
        with torch.inference_mode(False), self._one_at_a_time:
            twin.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_one_at_a_time"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._one_at_a_time = RLock()
        # A copy made while the original was paused or frozen is neither.
        self._frozen = self._context.paused = False

    def _source_changes(self) -> None:
        self._state.clear()
        self._fingerprint = None

    def _source_fingerprint(self) -> str:
        if self._fingerprint is None:
            self._fingerprint = fingerprint(self.model)
        return self._fingerprint

    def _describe(self, layer: nn.Module, names: tuple[str, ...]) -> LayerReport:
        if not isinstance(layer, AdaptiveNorm):
            reason = "asked to be kept" if self.method.adapts else "the method adapts nothing"
            channels = getattr(layer, "num_features", None) or len(layer.running_mean)  # type: ignore[arg-type]
            return LayerReport(names, type(layer).__name__, int(channels), "kept", reason)
        return LayerReport(names, layer.kind.__name__, layer.num_features, "replaced", REASONS[layer.kept_source])
