import pytest
import torch
from torch import nn

import mixnorm
from mixnorm.adaptation import (
    AdaptedModel,
    BatchStatistics,
    Entropy,
    Method,
    MixNorm,
    MixNormBN,
    Shot,
    ShrinkNorm,
    Source,
    Steps,
    Tent,
    Ttt,
)
from mixnorm.adaptation.checks import PROMISES, check_method
from mixnorm.adaptation.sample_models import SAMPLE_MODELS, SampleModel
from mixnorm.adaptation.streams import Streams
from mixnorm.errors import CheckError
from mixnorm.norms import Memory

METHODS = [
    Source(),
    BatchStatistics(),
    Tent(),
    MixNorm(),
    MixNorm(m=0.3, tau=0.1, views=3),
    MixNorm(m=0.3, tau=0.0, views=0),
    MixNorm(m=0.2, tau=0.05, learn=Entropy(optimizer="sgd", lr=0.1)),
    MixNormBN(),
    MixNormBN(m=0.1, tau_max=1.1, views=2, learn=Entropy()),
    ShrinkNorm(),
    ShrinkNorm(views=1, tau=0.1, alike=1, one_shift=20, several_shifts=50, often=8),
    Shot(),
    Shot(beta=1.0, learn=Steps(optimizer="adam", lr=0.01)),
    Ttt(learn=Steps(lr=0.1, momentum=0.9)),
    Ttt(parameters="features", learn=Steps(lr=0.1, momentum=0.9)),
]
NO_HEAD = {"root"}
NO_ROTATION_HEAD = {sample.name for sample in SAMPLE_MODELS} - {"two heads"}


def cannot_run_on(method: Method) -> set[str]:
    """Name the sample models that lack what the method needs."""
    return NO_HEAD if isinstance(method, Shot) else NO_ROTATION_HEAD if isinstance(method, Ttt) else set()


def test_every_method_is_checked() -> None:
    assert {type(method) for method in METHODS} == set(Method.registry.values())


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_every_method_keeps_its_promises(method: Method) -> None:
    checked = mixnorm.check_method(method)
    unable = [label for label in checked if label.startswith("cannot run on ")]
    assert {label.removeprefix("cannot run on ").split(":")[0] for label in unable} == cannot_run_on(method)
    promises = len(PROMISES) - (not method.batch_invariant)
    assert len(checked) - len(unable) == promises * (len(SAMPLE_MODELS) - len(unable))


def test_a_method_that_can_run_on_no_model_is_found() -> None:
    with pytest.raises(CheckError, match=r"Ttt\(.*\) cannot run on any of the models: .* has no rotation head"):
        check_method(Ttt(), RESNET)


RESNET = [sample for sample in SAMPLE_MODELS if sample.name == "resnet"]


def broken(monkeypatch: pytest.MonkeyPatch, promise: str, owner: type, name: str, replacement: object) -> None:
    """See that a promise is found broken when something that keeps it is taken away."""
    monkeypatch.setattr(owner, name, replacement)
    with pytest.raises(CheckError, match=f"breaks the promise {promise}: resnet"):
        check_method(MixNorm(m=0.2, tau=0.1), RESNET)


def test_a_reset_that_forgets_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "reset_repeats", AdaptedModel, "reset", lambda self: None)


def test_a_state_that_is_not_restored_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "snapshot_continues", AdaptedModel, "restore", lambda self, snapshot: None)


def test_a_state_file_that_lacks_something_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "file_continues", AdaptedModel, "load_state", lambda self, path: None)


def test_an_adaptation_that_stops_in_evaluation_mode_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def train(self: AdaptedModel, mode: bool = True) -> AdaptedModel:
        self._frozen = not mode
        return self

    broken(monkeypatch, "mode_is_irrelevant", AdaptedModel, "train", train)


def test_streams_that_share_a_state_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "streams_are_isolated", Streams, "assign", lambda self, names: dict.fromkeys(names, 0))


def test_a_state_that_forgets_between_batches_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "batch_equals_singles", Memory, "move", lambda self, slots, calls, by, seen: None)


def test_a_frozen_model_that_learns_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "frozen_learns_nothing", AdaptedModel, "frozen", lambda self: torch.no_grad())


def test_a_pause_that_does_not_pause_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "paused_is_source", AdaptedModel, "paused", lambda self: torch.no_grad())


def test_own_models_can_be_checked() -> None:
    own = SampleModel("own", lambda: nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Flatten()), (1, 6, 6))
    assert "copies_continue: own" in check_method(MixNorm(), [own])
