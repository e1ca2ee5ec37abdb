import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from mixnorm.adaptation import AdaptedModel, Entropy, Method, MixNorm, ShrinkNorm, adapt, state_file
from mixnorm.adaptation.sample_models import SAMPLE_MODELS
from mixnorm.errors import MissingDataError, StateError

RESNET = SAMPLE_MODELS[0]
METHOD = MixNorm(m=0.2, tau=0.1, learn=Entropy())


@pytest.fixture
def adapted() -> AdaptedModel:
    adapted = adapt(RESNET.model(), METHOD, seed=5)
    for batch in RESNET.batches(2, 4):
        adapted(batch, streams=["a", "b", "a", "a"])
    return adapted


@pytest.fixture
def saved(adapted: AdaptedModel, tmp_path: Path) -> Path:
    adapted.save_state(tmp_path / "state.safetensors")
    return tmp_path / "state.safetensors"


def refused(path: Path, message: str, model: nn.Module | None = None, method: MixNorm = METHOD) -> None:
    """See that a file is refused, and that the model keeps the state it had."""
    adapted = adapt(model or RESNET.model(), method)
    adapted(RESNET.batches(1, 4)[0])
    before = adapted.snapshot()
    with pytest.raises(StateError, match=message):
        adapted.load_state(path)
    after = adapted.snapshot()
    assert before.header == after.header
    assert all(torch.equal(before.tensors[name], after.tensors[name]) for name in before.tensors)


def test_everything_comes_back(adapted: AdaptedModel, saved: Path) -> None:
    other = adapt(RESNET.model(), METHOD)
    other.load_state(saved)
    assert other.streams == ("a", "b")
    assert other.seed == 5
    assert other.snapshot().header == adapted.snapshot().header
    for name, tensor in adapted.snapshot().tensors.items():
        assert torch.equal(other.snapshot().tensors[name], tensor), name


def test_the_file_is_plain_safetensors_with_a_json_header(saved: Path) -> None:
    size = int.from_bytes(saved.read_bytes()[:8], "little")
    metadata = json.loads(saved.read_bytes()[8 : 8 + size])["__metadata__"]
    assert metadata["format"] == "mixnorm-state"
    assert metadata["version"] == "5"
    assert json.loads(metadata["header"])["streams"] == {"": 0, "a": 6, "b": 2}


@pytest.mark.parametrize("keep", [0, 4, 8, 100, 1000, -1])
def test_a_truncated_file_is_refused(saved: Path, keep: int) -> None:
    saved.write_bytes(saved.read_bytes()[:keep])
    refused(saved, "is truncated or no state file")


def test_a_pickle_is_refused_without_being_run(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "exploded"),)

    torch.save({"state": Bomb()}, tmp_path / "state.safetensors")
    refused(tmp_path / "state.safetensors", "is truncated or no state file")
    assert not (tmp_path / "exploded").exists()


def test_a_foreign_safetensors_file_is_refused(tmp_path: Path) -> None:
    save_file(RESNET.model().state_dict(), tmp_path / "weights.safetensors")
    refused(tmp_path / "weights.safetensors", "is a foreign safetensors file.*load_state_dict")


def test_a_newer_version_is_refused(adapted: AdaptedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(state_file, "VERSION", 6)
        adapted.save_state(tmp_path / "newer")
    refused(tmp_path / "newer", "has state version '6', newer than 5")


@pytest.mark.parametrize("method", [METHOD, ShrinkNorm()], ids=str)
def test_an_older_version_is_read_where_a_method_remembers_the_same(
    method: Method, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapted = adapt(RESNET.model(), method)
    with monkeypatch.context() as patch:
        patch.setattr(state_file, "VERSION", 4)
        adapted.save_state(tmp_path / "older")
    if isinstance(method, ShrinkNorm):
        with pytest.raises(StateError, match="has state version 4, and what ShrinkNorm remembers has changed"):
            adapted.load_state(tmp_path / "older")
    else:
        adapted.load_state(tmp_path / "older")


def test_a_state_of_another_model_is_refused(saved: Path) -> None:
    model = RESNET.model()
    model[0].weight.data += 1e-3  # type: ignore[index]
    refused(saved, "belongs to another source model", model)


def test_a_state_of_another_method_is_refused(saved: Path) -> None:
    refused(saved, r"was made with .*'m': 0.2.* adapts with MixNorm\(m=0.3", method=MixNorm(m=0.3, tau=0.1))


def rewrite(path: Path, change: Callable[[dict[str, torch.Tensor], dict[str, Any]], None]) -> None:
    """Change the tensors and the header of a state file."""
    tensors = load_file(path)
    size = int.from_bytes(path.read_bytes()[:8], "little")
    metadata = json.loads(path.read_bytes()[8 : 8 + size])["__metadata__"]
    header = json.loads(metadata["header"])
    change(tensors, header)
    save_file(tensors, path, {**metadata, "header": json.dumps(header)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tensors, _: tensors.update({"statistics:0:1": torch.zeros(2, 3, 7)}), "for layer '1', the model needs"),
        (lambda tensors, _: tensors.update({"statistics:0:9": torch.zeros(2, 3, 8)}), "for layer '9', the model needs"),
        (lambda tensors, _: tensors["statistics:0:1"][1].mul_(-1), "no means and variances for layer '1'"),
        (lambda tensors, _: tensors["statistics:0:1"][0].fill_(torch.nan), "no means and variances for layer '1'"),
        (lambda tensors, _: tensors.update(other=torch.zeros(1)), "tensor 'other', which is none of mixnorm's"),
        (lambda tensors, _: tensors.update({"learned:1:99.value": torch.zeros(8)}), "learned parameter '99.value'"),
        (lambda tensors, _: tensors.update({"learned:1:0.value": torch.zeros(1)}), "no fitting value"),
        (lambda _, header: header.update(seed="a"), "its header is damaged"),
        (lambda _, header: header.update(method=None), "its header is damaged"),
        (lambda _, header: header.update(streams=["a"]), "truncated or no state file"),
        (lambda _, header: header["streams"].update(a=-1), "its header is damaged"),
        (lambda _, header: header.pop("model"), "truncated or no state file"),
        (lambda _, header: header.update(more=1), "truncated or no state file"),
    ],
)
def test_a_damaged_file_is_refused(saved: Path, change: Callable[..., None], message: str) -> None:
    rewrite(saved, change)
    refused(saved, message)


@pytest.mark.parametrize("what", ["state.safetensors", None])
def test_what_is_no_snapshot_is_refused(adapted: AdaptedModel, what: object) -> None:
    with pytest.raises(StateError, match="restore takes what snapshot"):
        adapted.restore(what)  # type: ignore[arg-type]


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"there is no state file .*nowhere'; save one with save_state"):
        adapt(RESNET.model()).load_state(tmp_path / "nowhere")


def test_a_missing_folder_says_so(adapted: AdaptedModel, tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"there is no folder .*; make it first"):
        adapted.save_state(tmp_path / "no" / "state")


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    adapted: AdaptedModel, saved: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fail(descriptor: int) -> None:
        raise error

    before = saved.read_bytes()
    monkeypatch.setattr(os, "fsync", fail)
    adapted(RESNET.batches(1, 4)[0])
    with pytest.raises(type(error)):
        adapted.save_state(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_snapshots_are_not_changed_by_what_comes_later(adapted: AdaptedModel) -> None:
    snapshot = adapted.snapshot()
    before = {name: tensor.clone() for name, tensor in snapshot.tensors.items()}
    adapted(RESNET.batches(1, 4)[0], streams="a")
    adapted.restore(snapshot)
    adapted(RESNET.batches(1, 4)[0], streams="a")
    assert all(torch.equal(snapshot.tensors[name], before[name]) for name in before)
