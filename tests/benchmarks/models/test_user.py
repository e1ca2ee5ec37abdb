import copy
import pickle
import shutil
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from mixnorm.benchmarks.models import load_model
from mixnorm.errors import DataError, MissingDataError, MixNormError, ModelError, SettingError, UnknownNameError
from tests.real import REAL, needs_real

SOURCE = """
from dataclasses import dataclass
from torch import nn
from beside import WIDTH

class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, WIDTH, 1)
    def forward(self, x):
        return self.conv(x).mean((2, 3))

@dataclass
class Sized:
    width: int

def small(): return Small()
def late():
    import beside
    return nn.Conv2d(3, beside.WIDTH, 1)
def sized(width): return nn.Conv2d(3, width, 1)
def optional(width=2): return nn.Conv2d(3, width, 1)
def broken(): raise KeyError("weights")
def number(): return 3
def kind(): return Small
def leaves(): raise SystemExit(2)
instance = Small()
LIMIT = 4
def _hidden(): return Small()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "beside.py").write_text("WIDTH = 5")
    (tmp_path / "mine.py").write_text(SOURCE)
    return tmp_path / "mine.py"


@pytest.mark.parametrize(
    ("factory", "width"), [("small", 5), ("Small", 5), ("late", 5), ("optional", 2), ("instance", 5)]
)
def test_a_factory_of_ones_own_is_called(file: Path, factory: str, width: int) -> None:
    before = sys.path.copy()
    model = load_model(Path(f"{file}:{factory}"))
    assert model(torch.zeros(1, 3, 2, 2)).shape[1] == width
    assert not model.training
    assert sys.path == before


def test_its_model_can_be_copied_and_pickled(file: Path) -> None:
    model = load_model(f"{file}:small")
    images = torch.rand(2, 3, 4, 4)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(twin(images), model(images))


def test_a_model_in_the_file_is_given_as_a_copy(file: Path) -> None:
    first = load_model(f"{file}:instance")
    nn.init.zeros_(first.conv.weight)  # type: ignore[union-attr, arg-type]
    assert load_model(f"{file}:instance").conv.weight.any()  # type: ignore[union-attr, operator]


def test_random_weights_are_the_same_each_time(file: Path) -> None:
    """Importing the file draws some for its own instance, and it is imported once."""
    first, second = (load_model(f"{file}:small").state_dict()["conv.weight"] for _ in range(2))
    assert torch.equal(first, second)
    elsewhere = shutil.copytree(file.parent, file.parent / "copy") / file.name
    in_file, in_copy = (load_model(f"{path}:instance").state_dict()["conv.weight"] for path in (file, elsewhere))
    assert torch.equal(in_file, in_copy)


def test_a_relative_path_and_a_checkpoint(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    state = {"conv.weight": torch.full((5, 3, 1, 1), 2.0), "conv.bias": torch.zeros(5)}
    save_file(state, "mine.safetensors")
    model = load_model("mine.py:small", checkpoint="mine.safetensors")
    assert torch.equal(model(torch.ones(1, 3, 1, 1)), torch.full((1, 5), 6.0))
    save_file({"conv.bias": torch.zeros(5)}, "half.safetensors")
    with pytest.raises(DataError, match=r"half\.safetensors does not fit Small: 1 missing: conv\.weight"):
        load_model("mine.py:small", checkpoint="half.safetensors")


@pytest.mark.parametrize(
    ("factory", "error", "message"),
    [
        (":sized", ModelError, r"mine\.py:sized needs arguments: \(width\)"),
        (":broken", ModelError, r"mine\.py:broken raised KeyError: 'weights' \(mine\.py, line 23\)$"),
        (":kind", ModelError, r"mine\.py:kind returned the class Small and not a model; return Small\(\)"),
        (":leaves", ModelError, r"mine\.py:leaves raised SystemExit: 2 \(mine\.py, line \d+\); .*__main__"),
        (":number", ModelError, r"mine\.py:number returned a int and not a torch\.nn\.Module"),
        (":LIMIT", ModelError, r"mine\.py:LIMIT is a int; name a function"),
        (":smal", UnknownNameError, r"unknown factory in mine\.py 'smal'; did you mean 'small'"),
        ("", SettingError, r"which model of .*mine\.py\? Name its factory, such as .*mine\.py:Small"),
        (":", SettingError, r"which model of .*mine\.py\?"),
    ],
)
def test_a_factory_that_gives_no_model_is_refused(
    file: Path, factory: str, error: type[MixNormError], message: str
) -> None:
    with pytest.raises(error, match=message):
        load_model(f"{file}{factory}")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import no_such_library", r"ModuleNotFoundError.*\(bad\.py, line 1\); modules beside the file.*PYTHONPATH"),
        ("def f(:", "SyntaxError: .*bad.py, line 1"),
        ("\n1 / 0", r"ZeroDivisionError: division by zero \(bad\.py, line 2\)$"),
        ("import argparse\nargparse.ArgumentParser().parse_args(['--lr'])", "SystemExit: 2.*if __name__ == '__main__'"),
        ("exit('done')", "SystemExit: done"),
        ("from ..above import x", "ImportError: attempted relative import beyond top-level package"),
        (b"\x00".decode(), "SyntaxError: source code string cannot contain null bytes"),
    ],
)
def test_a_file_that_cannot_be_imported_is_named(tmp_path: Path, code: str, message: str) -> None:
    (tmp_path / "bad.py").write_text(code)
    for _ in range(2):
        with pytest.raises(ModelError, match=f"bad\\.py could not be imported: {message}"):
            load_model(f"{tmp_path / 'bad.py'}:f")


def test_ctrl_c_in_a_file_stays_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        load_model(f"{tmp_path / 'slow.py'}:f")


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"there is no file .*absent\.py"):
        load_model(f"{tmp_path}/absent.py:f")
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(MissingDataError, match=r"folder\.py is a folder"):
        load_model(f"{tmp_path}/folder.py:f")


@needs_real
def test_a_real_model_file() -> None:
    model = load_model(f"{REAL}/models.py:cifar_resnet20")
    assert isinstance(model, nn.Module)
    assert model(torch.rand(2, 3, 32, 32)).shape == (2, 10)
