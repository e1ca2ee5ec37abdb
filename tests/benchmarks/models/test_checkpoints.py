import argparse
import pickle
from collections import OrderedDict
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from mixnorm.benchmarks.models.checkpoints import load_checkpoint, read_checkpoint
from mixnorm.errors import DataError, MissingDataError


def network() -> nn.Sequential:
    return nn.Sequential(OrderedDict(conv=nn.Conv2d(3, 4, 1), norm=nn.BatchNorm2d(4)))


def weight_of(made: nn.Sequential) -> Tensor:
    weight: Tensor = made.state_dict()["conv.weight"]
    return weight


def state(prefix: str = "") -> dict[str, Tensor]:
    torch.manual_seed(1)
    return {prefix + name: value.clone() for name, value in network().state_dict().items()}


@pytest.mark.parametrize(
    "container", [None, "state_dict", "model_state_dict", "model", "net", "state_dict_ema", "model_ema"]
)
@pytest.mark.parametrize(
    "prefix", ["", "module.", "model.", "module.model.", "net.", "_orig_mod.", "module._orig_mod.net."]
)
def test_wrappers_of_training_scripts_are_taken_off(tmp_path: Path, container: str | None, prefix: str) -> None:
    path = tmp_path / "file.pt"
    torch.save({container: state(prefix), "epoch": 3} if container else state(prefix), path)
    loaded = network()
    load_checkpoint(loaded, read_checkpoint(path), source=path)
    assert all(torch.equal(value, state()[name]) for name, value in loaded.state_dict().items())


def test_averaged_parameters_are_preferred(tmp_path: Path) -> None:
    plain = {name: torch.zeros_like(value) for name, value in state().items()}
    for names in (("state_dict", "state_dict_ema"), ("model", "model_ema")):
        torch.save(dict(zip(names, (plain, state()), strict=True)), tmp_path / "ema.pt")
        assert torch.equal(read_checkpoint(tmp_path / "ema.pt")["conv.weight"], state()["conv.weight"])


def test_a_checkpoint_of_torchs_averaged_model_fits() -> None:
    averaged = torch.optim.swa_utils.AveragedModel(network())
    loaded = network()
    load_checkpoint(loaded, averaged.state_dict(), source="swa")
    assert torch.equal(weight_of(loaded), averaged.state_dict()["module.conv.weight"])


def test_a_network_whose_own_names_look_like_a_wrapper_keeps_them() -> None:
    outer = nn.Sequential(OrderedDict(model=network()))
    load_checkpoint(outer, state("model."), source="memory")
    assert torch.equal(outer.state_dict()["model.conv.weight"], state()["conv.weight"])


def test_safetensors_and_half_precision_are_read(tmp_path: Path) -> None:
    half = {name: value.half() if value.is_floating_point() else value for name, value in state().items()}
    save_file(half, tmp_path / "file.safetensors")
    loaded = network()
    load_checkpoint(loaded, read_checkpoint(tmp_path / "file.safetensors"), source="file")
    assert weight_of(loaded).dtype == torch.float32
    assert torch.equal(weight_of(loaded), half["conv.weight"].float())


def test_the_file_format_of_before_2020_is_read(tmp_path: Path) -> None:
    torch.save(state(), tmp_path / "old.pth", _use_new_zipfile_serialization=False)
    assert read_checkpoint(tmp_path / "old.pth").keys() == state().keys()


def test_a_checkpoint_that_counts_no_batches_fits() -> None:
    old = {name: value for name, value in state().items() if "num_batches" not in name}
    loaded = network()
    load_checkpoint(loaded, old, source="old")
    assert torch.equal(weight_of(loaded), old["conv.weight"])


def test_what_does_not_fit_is_said_and_nothing_is_loaded() -> None:
    wrong = state()
    del wrong["conv.bias"]
    wrong["extra.weight"] = torch.zeros(1)
    wrong["norm.weight"] = torch.zeros(5)
    untouched = network()
    before = weight_of(untouched).clone()
    with pytest.raises(DataError) as caught:
        load_checkpoint(untouched, wrong, source="mine.pt")
    assert str(caught.value) == (
        "mine.pt does not fit Sequential: 1 missing: conv.bias; 1 unexpected: extra.weight; "
        "1 of another shape: norm.weight (5,) instead of (4,)"
    )
    assert torch.equal(weight_of(untouched), before)


def test_the_nearest_missing_name_stands_behind_an_unexpected_one() -> None:
    other = {name.replace("conv.weight", "conv1.weight"): value for name, value in state().items()}
    with pytest.raises(
        DataError, match=r"1 missing: conv\.weight; 1 unexpected: conv1\.weight \(is it conv\.weight\?\)$"
    ):
        load_checkpoint(network(), other, source="x")


def test_parameters_of_a_part_are_said_to_be_that() -> None:
    whole = nn.Sequential(nn.Identity(), network())
    with pytest.raises(
        DataError, match=r"x does not fit Sequential: .*; all of them fit its part '1': load them there"
    ):
        load_checkpoint(whole, state(), source="x")


def test_a_checkpoint_without_a_name_in_common_is_no_endless_search() -> None:
    with pytest.raises(DataError, match=r"6 missing: .*; 1 unexpected: a$"):
        load_checkpoint(network(), {"module.net.a": torch.zeros(1)}, source="x")
    with pytest.raises(DataError, match="6 missing"):
        load_checkpoint(network(), {"n_averaged": torch.zeros(1)}, source="x")


def test_a_long_list_is_cut() -> None:
    with pytest.raises(DataError, match=r"9 unexpected: a0, a1, a2, a3, a4, \.\.\.$"):
        load_checkpoint(network(), state() | {f"a{i}": torch.zeros(1) for i in range(9)}, source="x")


def test_unused_parameters_are_left_out() -> None:
    loaded = network()
    load_checkpoint(loaded, state() | {"spare.weight": torch.zeros(3)}, source="x", unused=("spare.",))
    assert torch.equal(weight_of(loaded), state()["conv.weight"])


class Harmful:
    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (Path("harm"),)


def test_a_pickle_with_code_is_refused_and_the_code_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.pt").write_bytes(pickle.dumps({"state_dict": Harmful()}, protocol=2))
    torch.save({"state_dict": state(), "extra": Harmful()}, "bad_zip.pt")
    for name in ("bad.pt", "bad_zip.pt"):
        with pytest.raises(DataError, match=f"{name} holds .* besides tensors, and reading that would run code"):
            read_checkpoint(Path(name))
    assert not Path("harm").exists()


def test_metadata_that_is_no_tensor_is_named(tmp_path: Path) -> None:
    torch.save({"state_dict": state(), "args": argparse.Namespace(lr=0.1)}, tmp_path / "args.pt")
    with pytest.raises(DataError, match=r"args\.pt holds argparse\.Namespace besides tensors.*save its tensors alone"):
        read_checkpoint(tmp_path / "args.pt")


def test_a_whole_model_is_refused_with_a_line_that_mends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save(network(), "model.pt")
    torch.save({"state_dict": state(), "args": argparse.Namespace(lr=0.1)}, "args.pt")
    for name in ("model.pt", "args.pt"):
        with pytest.raises(DataError, match="save its tensors alone and use that file: found = ") as caught:
            read_checkpoint(Path(name))
        exec(str(caught.value).split("use that file: ")[1], {"torch": torch})
        assert read_checkpoint(Path("weights.pt")).keys() == state().keys()
        Path("weights.pt").unlink()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_torchscript_program_is_refused_with_a_line_that_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    torch.jit.save(torch.jit.script(network()), "script.pt")
    with pytest.raises(DataError, match=r"script\.pt is a TorchScript program") as caught:
        read_checkpoint(Path("script.pt"))
    exec(str(caught.value).split("use that file: ")[1], {"torch": torch})
    assert read_checkpoint(Path("weights.pt")).keys() == state().keys()


def test_the_content_of_a_file_decides_and_not_its_name(tmp_path: Path) -> None:
    save_file(state(), tmp_path / "pytorch_model.bin")
    torch.save(state(), tmp_path / "model.safetensors")
    for name in ("pytorch_model.bin", "model.safetensors"):
        assert read_checkpoint(tmp_path / name).keys() == state().keys()


@pytest.mark.parametrize("kind", ["safetensors", "pt", "old.pt"])
@pytest.mark.parametrize("kept", [0, 3, 5, 100, 200, 300, -10])
def test_a_truncated_file_is_named(tmp_path: Path, kind: str, kept: int) -> None:
    path = tmp_path / f"cut.{kind}"
    if kind == "safetensors":
        save_file(state(), path)
    else:
        torch.save(state(), path, _use_new_zipfile_serialization=kind == "pt")
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DataError, match=f"cut.{kind} is not a whole .* get it again"):
        read_checkpoint(path)


def test_a_file_of_something_else_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.pt").write_text("hello, these are notes")
    with pytest.raises(DataError, match=r"notes\.pt is not a whole PyTorch checkpoint"):
        read_checkpoint(tmp_path / "notes.pt")


def test_a_web_page_in_place_of_a_file_is_recognised(tmp_path: Path) -> None:
    page = tmp_path / "Standard.pt"
    page.write_text("<!DOCTYPE html><html><head><title>Google Drive - Virus scan warning</title>")
    with pytest.raises(DataError, match="is a web page and not a checkpoint"):
        read_checkpoint(page)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (torch.zeros(3), "holds a Tensor and not a dictionary"),
        ({"epoch": 3, "lr": 0.1}, "it holds epoch, lr"),
        ({0: torch.zeros(1)}, "it holds 0"),
        ({}, "it holds nothing"),
    ],
)
def test_a_file_without_parameters_is_refused(tmp_path: Path, content: object, message: str) -> None:
    torch.save(content, tmp_path / "other.pt")
    with pytest.raises(DataError, match=message):
        read_checkpoint(tmp_path / "other.pt")


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"no checkpoint at .*absent\.pt"):
        read_checkpoint(tmp_path / "absent.pt")
