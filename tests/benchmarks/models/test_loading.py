from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from mixnorm.benchmarks.models import download_model, find_model, load_model
from mixnorm.errors import ChecksumError, DataError, DownloadError, MissingDataError, SettingError, UnknownNameError
from tests.benchmarks.models.published_layouts import SVHN, values, wide_resnet

# How RobustBench and the repositories it collects from save their checkpoints.
SAVED_AS: dict[str, Callable[[dict[str, Tensor]], object]] = {
    "bare": lambda state: state,
    "state_dict": lambda state: {"state_dict": state, "epoch": 100, "best_prec1": torch.tensor(94.8)},
    "DataParallel": lambda state: {
        "epoch": 99,
        "model": "WideResNet",
        "state_dict": {f"module.{name}": value for name, value in state.items()},
        "best_acc": 0.95,
        "optimizer": {"state": {0: {"momentum_buffer": torch.zeros(2)}}, "param_groups": [{"lr": 0.1}]},
    },
}


def place(folder: Path, relative: str, content: object) -> Path:
    path = folder / "models" / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(content, path)
    return path


def network_of(model: nn.Module) -> nn.Module:
    network = model.network
    assert isinstance(network, nn.Module)
    return network


@pytest.mark.parametrize("saved_as", SAVED_AS)
def test_wrn_40_2_loads_the_layout_of_robustbench(data_folder: Path, saved_as: str) -> None:
    state = values(wide_resnet(40, 2))
    place(data_folder, "robustbench/Hendrycks2020AugMix_WRN.pt", SAVED_AS[saved_as](state))
    model = load_model("wrn-40-2")
    assert all(torch.equal(value, state[name]) for name, value in network_of(model).state_dict().items())
    assert not any(module.training for module in model.modules())
    images = torch.rand(2, 3, 32, 32)
    torch.testing.assert_close(model(images), network_of(model)(images * 2 - 1))


def test_wrn_40_2_loads_a_checkpoint_saved_again_by_robustbench(tmp_path: Path) -> None:
    """RobustBench's class keeps its normalisation constants among the parameters."""
    constants = {"mu": torch.full((1, 3, 1, 1), 0.5), "sigma": torch.full((1, 3, 1, 1), 0.5)}
    torch.save(values(wide_resnet(40, 2)) | constants, tmp_path / "again.pt")
    assert load_model("wrn-40-2", checkpoint=tmp_path / "again.pt")(torch.zeros(1, 3, 32, 32)).shape == (1, 10)


@pytest.mark.parametrize("sub_block1", [False, True])
def test_wrn_28_10_loads_with_and_without_the_unused_stage(data_folder: Path, *, sub_block1: bool) -> None:
    state = values(wide_resnet(28, 10, sub_block1=sub_block1))
    place(data_folder, "robustbench/Standard.pt", {"state_dict": state})
    model = load_model("wrn-28-10")
    assert torch.equal(network_of(model).state_dict()["fc.weight"], state["fc.weight"])
    images = torch.rand(1, 3, 32, 32)
    assert torch.equal(model(images), network_of(model)(images))


def test_the_svhn_network_loads_the_published_layout(tmp_path: Path) -> None:
    state = values(SVHN)
    torch.save(state, tmp_path / "svhn.pth", _use_new_zipfile_serialization=False)
    model = load_model("svhn", checkpoint=str(tmp_path / "svhn.pth"))
    assert torch.equal(network_of(model).state_dict()["features.27.weight"], state["features.27.weight"])


def test_a_published_file_with_other_bytes_is_refused(data_folder: Path) -> None:
    place(data_folder, "pytorch-playground/svhn-f564f3d8.pth", values(SVHN))
    with pytest.raises(ChecksumError, match="begins with f564f3d8"):
        load_model("svhn")


@pytest.mark.parametrize("name", ["wrn-28-10", "wrn-40-2", "svhn", "resnet50", "clip-rn50"])
def test_absent_weights_are_reported_before_any_network_is_built(tmp_path: Path, name: str) -> None:
    with pytest.raises(MissingDataError) as caught:
        load_model(name, data_dir=tmp_path)
    weights = find_model(name).weights
    assert weights is not None
    assert str(tmp_path / "models" / weights.path) in str(caught.value)
    assert "https://" in str(caught.value) or "http://" in str(caught.value)


def test_what_must_be_fetched_by_hand_is_not_downloaded(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="Google Drive sends programs a web page"):
        download_model("wrn-28-10", data_dir=tmp_path)


def test_shipped_weights_need_no_download() -> None:
    assert download_model("digits").is_file()


def test_a_checkpoint_of_another_network_is_refused(tmp_path: Path) -> None:
    torch.save(values(wide_resnet(40, 2)), tmp_path / "other.pt")
    with pytest.raises(DataError, match=r"other\.pt does not fit WideResNet: .*unexpected.*of another shape"):
        load_model("digits", checkpoint=tmp_path / "other.pt")


def test_random_weights_are_the_same_each_time_and_leave_the_generator_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first, second = (load_model("digits", weights="random") for _ in range(2))
    assert torch.equal(torch.rand(3), expected)
    pairs = zip(first.state_dict().values(), second.state_dict().values(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)
    assert not torch.equal(network_of(first).conv1.weight, network_of(load_model("digits")).conv1.weight)  # type: ignore[union-attr, arg-type]


def test_settings_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="exclude each other"):
        load_model("digits", weights="random", checkpoint=tmp_path / "x.pt")
    with pytest.raises(UnknownNameError, match="unknown weights 'publshed'; did you mean 'published'"):
        load_model("digits", weights="publshed")  # type: ignore[arg-type]
    with pytest.raises(MissingDataError, match=r"no checkpoint at .*absent\.pt"):
        load_model("digits", checkpoint=tmp_path / "absent.pt")


@pytest.mark.parametrize("name", [None, 5, b"digits", ["digits"], nn.Identity()], ids=repr)
def test_a_name_of_another_type_is_refused(name: object) -> None:
    with pytest.raises(SettingError, match="a model is named by text"):
        load_model(name)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="a model is named by text"):
        download_model(name)  # type: ignore[arg-type]


@pytest.mark.parametrize("setting", ["checkpoint", "data_dir"])
@pytest.mark.parametrize("value", [5, "", b"file.pt", {"conv.weight": torch.zeros(1)}], ids=repr)
def test_a_path_of_another_type_is_refused(setting: str, value: object) -> None:
    with pytest.raises(SettingError, match=f"{setting} must be a path, got"):
        load_model("digits", **{setting: value})  # type: ignore[arg-type]


def test_what_is_no_name_says_what_it_is(tmp_path: Path) -> None:
    assert load_model(Path("digits"))(torch.zeros(1, 3, 32, 32)).shape == (1, 10)
    with pytest.raises(UnknownNameError, match=r"unknown model ''.*Known: digits"):
        load_model("")
    torch.save({}, tmp_path / "weights.pt")
    with pytest.raises(SettingError, match=r"weights\.pt' is a file and not the name of a model.*as checkpoint"):
        load_model(tmp_path / "weights.pt")
    with pytest.raises(MissingDataError, match=f"{tmp_path} is a folder; a checkpoint is one file"):
        load_model("digits", checkpoint=tmp_path)
