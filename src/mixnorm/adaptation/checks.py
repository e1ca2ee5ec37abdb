"""The promises that every method keeps, as checks that anyone can run on a method and a model."""

import copy
import pickle
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mixnorm.adaptation.adapt import adapt
from mixnorm.adaptation.adapted_model import AdaptedModel
from mixnorm.adaptation.methods import Method
from mixnorm.adaptation.outputs import map_tensors
from mixnorm.adaptation.replacement import check_method_type
from mixnorm.adaptation.sample_models import SAMPLE_MODELS, SampleModel
from mixnorm.errors import CheckError, ModelError, UnknownNameError

TOLERANCE = 5e-5
"""What float rounding may amount to, relative to the largest value, where the order of a sum differs: a small CLIP
without any adaptation answers a batch by up to 1.5e-5 differently from its samples."""


@dataclass(frozen=True)
class Subject:
    """A method on a model, with batches to run."""

    method: Method
    model: nn.Module
    batches: list[Tensor]

    def adapted(self, batches: Sequence[Tensor] = ()) -> AdaptedModel:
        """Adapt the model anew, and run some batches."""
        adapted = adapt(self.model, self.method, seed=7)
        self.run(adapted, batches)
        return adapted

    @staticmethod
    def run(adapted: AdaptedModel, batches: Sequence[Tensor], **options: Any) -> list[Tensor]:
        """Run batches, and list all tensors that come out."""
        return [tensor for batch in batches for tensor in _tensors(adapted(batch, **options))]


def check_method(method: Method, models: Sequence[SampleModel] = SAMPLE_MODELS) -> list[str]:
    """Check all promises of a method on several small models, and list what was checked.

    A method with views runs without them on models that take no images. The list says which models a method cannot
    run on, and why. The first promise that is broken raises a `CheckError` that names it and the model.

    >>> import mixnorm
    >>> check_method(mixnorm.MixNorm())[0]
    'source_untouched: resnet'
    """
    check_method_type(method)
    checked = []
    unable: list[ModelError | UnknownNameError] = []
    for sample in models:
        able = method if sample.takes_images else _without_views(method)
        try:
            adapt(sample.model(), able)
        except (ModelError, UnknownNameError) as error:
            unable.append(error)
            checked.append(f"cannot run on {sample.name}: {error}")
            continue
        for promise in promises(able):
            subject = Subject(able, sample.model(), sample.batches(6, 6))
            label = f"{promise.__name__}: {sample.name}"
            try:
                promise(subject)
            except CheckError as error:
                raise CheckError(f"{able} breaks the promise {label}: {error}") from error
            checked.append(label)
    if len(unable) == len(checked):
        raise CheckError(f"{method} cannot run on any of the models: {'; '.join(map(str, unable))}")
    return checked


def promises(method: Method) -> list[Callable[[Subject], None]]:
    """List what a method promises: only some are independent of how a stream is cut into batches."""
    return [promise for promise in PROMISES if method.batch_invariant or promise is not batch_equals_singles]


def source_untouched(subject: Subject) -> None:
    """Adapting leaves the source model as it is."""
    before = copy.deepcopy(subject.model)
    subject.adapted(subject.batches)
    _same_state(before.state_dict(), subject.model.state_dict())
    for old, new in zip(before.parameters(), subject.model.parameters(), strict=True):
        _hold(old.requires_grad == new.requires_grad, "a parameter's requires_grad has changed")
    _hold(before.training == subject.model.training, "the model's mode has changed")


def paused_is_source(subject: Subject) -> None:
    """Paused, the adapted model is the source model bit for bit, and learns nothing."""
    adapted = subject.adapted(subject.batches[:2])
    before = adapted.snapshot()
    expected = [tensor for batch in subject.batches for tensor in _tensors(subject.model(batch))]
    with adapted.paused():
        _same(subject.run(adapted, subject.batches), expected)
    _same_state(before.tensors, adapted.snapshot().tensors)


def frozen_learns_nothing(subject: Subject) -> None:
    """Frozen, the adapted model answers the same again and again."""
    adapted = subject.adapted(subject.batches[:2])
    before = adapted.snapshot()
    with adapted.frozen():
        once = subject.run(adapted, subject.batches[2:])
        _same(subject.run(adapted, subject.batches[2:]), once)
    after = adapted.snapshot()
    _same_state(before.tensors, after.tensors)
    _hold(before.header == after.header, f"the state went from {before.header} to {after.header}")


def reset_repeats(subject: Subject) -> None:
    """After a reset, a run repeats exactly."""
    adapted = subject.adapted()
    first = subject.run(adapted, subject.batches)
    adapted.reset()
    _same(subject.run(adapted, subject.batches), first)


def snapshot_continues(subject: Subject) -> None:
    """A restored snapshot continues a run exactly."""
    adapted = subject.adapted(subject.batches[:2])
    snapshot = adapted.snapshot()
    expected = subject.run(adapted, subject.batches[2:])
    adapted.restore(snapshot)
    _same(subject.run(adapted, subject.batches[2:]), expected)


def file_continues(subject: Subject) -> None:
    """A state file continues a run exactly, in a model adapted anew."""
    adapted = subject.adapted(subject.batches[:2])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.safetensors"
        adapted.save_state(path)
        another = subject.adapted()
        another.load_state(path)
    _same(subject.run(another, subject.batches[2:]), subject.run(adapted, subject.batches[2:]))


def mode_is_irrelevant(subject: Subject) -> None:
    """`train()` and `eval()` change nothing."""
    trained, evaluated = subject.adapted().train(), subject.adapted().eval()
    _same(subject.run(trained, subject.batches), subject.run(evaluated, subject.batches))


def checkpoint_loads(subject: Subject) -> None:
    """The source checkpoint loads strictly, and starts a run anew."""
    fresh = subject.adapted()
    adapted = subject.adapted(subject.batches)
    adapted.load_state_dict(subject.model.state_dict(), strict=True)
    _same_state(adapted.state_dict(), subject.model.state_dict())
    _same(subject.run(adapted, subject.batches), subject.run(fresh, subject.batches))


def batch_equals_singles(subject: Subject) -> None:
    """A batch gives what its samples give one by one, in answers and in state."""
    together, alone = subject.adapted(), subject.adapted()
    whole = [_tensors(together(batch)) for batch in subject.batches]
    singles = [[_tensors(alone(sample[None])) for sample in batch] for batch in subject.batches]
    _close([t for batch in whole for t in batch], [torch.cat(t) for batch in singles for t in zip(*batch, strict=True)])
    _close_state(together.snapshot().tensors, alone.snapshot().tensors)


def streams_are_isolated(subject: Subject) -> None:
    """In a batch mixed from streams, each gets what it would get alone."""
    names = ["a", "b", "a", "c", "b", "a"]
    mixed = subject.adapted()
    answers = [_tensors(mixed(batch, streams=names)) for batch in subject.batches]
    for name in "abc":
        rows = [row for row, stream in enumerate(names) if stream == name]
        alone = subject.run(subject.adapted(), [batch[rows] for batch in subject.batches])
        _close([tensor[rows] for answer in answers for tensor in answer], alone)


def bad_sample_is_harmless(subject: Subject) -> None:
    """A sample with NaN or Inf changes no other sample and no state, and is counted."""
    clean, dirty = subject.adapted(), subject.adapted()
    for place, (batch, value) in enumerate(zip(subject.batches, (torch.nan, torch.inf, -torch.inf), strict=False)):
        spoilt = batch.clone()
        spoilt[place].flatten()[-1] = value
        rest = [row for row in range(len(batch)) if row != place]
        _close([tensor[rest] for tensor in _tensors(dirty(spoilt))], _tensors(clean(batch[rest])))
    _close_state(clean.snapshot().tensors, dirty.snapshot().tensors)
    expected = min(len(subject.batches), 3) if subject.method.adapts else 0
    _hold(dirty.rejected == expected, f"{dirty.rejected} samples were counted as rejected, not {expected}")


def copies_continue(subject: Subject) -> None:
    """A deep copy and an unpickled one continue a run exactly, and apart from the original."""
    adapted = subject.adapted(subject.batches[:2])
    twins = [copy.deepcopy(adapted), pickle.loads(pickle.dumps(adapted))]  # noqa: S301 - our own bytes
    expected = subject.run(adapted, subject.batches[2:])
    for twin in twins:
        _same(subject.run(twin, subject.batches[2:]), expected)


PROMISES: tuple[Callable[[Subject], None], ...] = (
    source_untouched,
    paused_is_source,
    frozen_learns_nothing,
    reset_repeats,
    snapshot_continues,
    file_continues,
    mode_is_irrelevant,
    checkpoint_loads,
    batch_equals_singles,
    streams_are_isolated,
    bad_sample_is_harmless,
    copies_continue,
)


def _without_views(method: Method) -> Method:
    return Method.from_dict(method.to_dict() | {"views": 0}) if method.augmentations else method


def _tensors(output: Any) -> list[Tensor]:
    found: list[Tensor] = []

    def note(tensor: Tensor) -> Tensor:
        found.append(tensor.detach())
        return tensor

    map_tensors(note, output)
    return found


def _hold(promise: bool, message: str) -> None:
    if not promise:
        raise CheckError(message)


def _same(got: Sequence[Tensor], expected: Sequence[Tensor]) -> None:
    for index, (mine, other) in enumerate(zip(got, expected, strict=True)):
        _hold(torch.equal(mine, other), f"tensor {index} is not the same; it differs by up to {_gap(mine, other):g}")


def _close(got: Sequence[Tensor], expected: Sequence[Tensor]) -> None:
    for index, (mine, other) in enumerate(zip(got, expected, strict=True)):
        _hold(_gap(mine, other) <= TOLERANCE, f"tensor {index} is off by {_gap(mine, other):g} of its largest value")


def _gap(mine: Tensor, other: Tensor) -> float:
    return float((mine - other).abs().max() / other.abs().max().clamp(min=1e-30))


def _same_state(before: Any, after: Any) -> None:
    _hold(before.keys() == after.keys(), f"the state has {sorted(after)}, not {sorted(before)}")
    _same(list(after.values()), list(before.values()))


def _close_state(before: Any, after: Any) -> None:
    _hold(before.keys() == after.keys(), f"the state has {sorted(after)}, not {sorted(before)}")
    _close(list(after.values()), list(before.values()))
