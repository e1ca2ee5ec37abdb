"""Neighbours of a user's file are those of its folder, whenever they are imported."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from mixnorm.benchmarks.models import load_model
from mixnorm.errors import ModelError

NET = """
import torch
import blocks
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = blocks.Block()
    def forward(self, x):
        from late import scale
        return scale(self.block(x))

def net():
    import deep.down
    from deep import down as again
    assert deep.down is again
    return Net()
"""
BLOCKS = """
from torch import nn
class Block(nn.Module):
    width = {width}
    def forward(self, x):
        return x.mean((2, 3)) * self.width
"""


def project(folder: Path, width: int = 1, factor: int = 1) -> Path:
    (folder / "deep").mkdir(parents=True)
    (folder / "net.py").write_text(NET)
    (folder / "blocks.py").write_text(BLOCKS.format(width=width))
    (folder / "late.py").write_text(f"def scale(x): return x * {factor}")
    (folder / "deep" / "__init__.py").write_text("from deep.down import VALUE\nfrom .down import VALUE")
    (folder / "deep" / "down.py").write_text("import blocks\nVALUE = blocks.Block.width")
    return folder / "net.py"


def answer(model: torch.nn.Module) -> float:
    return float(model(torch.ones(1, 3, 2, 2))[0, 0])


def load_code(folder: Path, code: str, **others: str) -> torch.nn.Module:
    (folder / "mine.py").write_text(code)
    for name, source in others.items():
        (folder / f"{name}.py").write_text(source)
    return load_model(f"{folder}/mine.py:f")


def test_two_folders_have_neighbours_of_the_same_names(tmp_path: Path) -> None:
    first = load_model(f"{project(tmp_path / 'a', width=2, factor=10)}:net")
    second = load_model(f"{project(tmp_path / 'b', width=3, factor=100)}:net")
    # The forward passes import only now, and each from its own folder.
    assert [answer(first), answer(second), answer(first)] == [20, 300, 20]
    assert not {"blocks", "late", "deep", "net"} & sys.modules.keys()


def test_a_model_can_be_pickled_after_its_file_was_loaded_again(tmp_path: Path) -> None:
    name = f"{project(tmp_path / 'a', width=2)}:net"
    first, _second = load_model(name), load_model(name)
    assert answer(pickle.loads(pickle.dumps(first))) == 2


def test_a_pickle_is_read_by_another_process_that_has_loaded_the_file(tmp_path: Path) -> None:
    name = f"{project(tmp_path / 'a', width=2, factor=5)}:net"
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(load_model(name)))
    code = (
        "import pickle, sys, torch, mixnorm\n"
        "mixnorm.load_model(sys.argv[1])\n"
        "model = pickle.load(open(sys.argv[2], 'rb'))\n"
        "print(model(torch.ones(1, 3, 2, 2))[0, 0].item())"
    )
    command = [sys.executable, "-c", code, name, str(tmp_path / "model.pkl")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "10.0\n"


def test_what_was_edited_is_loaded_anew(tmp_path: Path) -> None:
    name = f"{project(tmp_path / 'a', width=2)}:net"
    old = load_model(name)
    (tmp_path / "a" / "blocks.py").write_text(BLOCKS.format(width=7))
    assert answer(load_model(name)) == 7
    assert answer(old) == 2


def test_a_neighbour_that_fails_may_be_mended(tmp_path: Path) -> None:
    code = "from part import f"
    with pytest.raises(ModelError, match="name 'oops' is not defined"):
        load_code(tmp_path, code, part="oops")
    made = load_code(tmp_path, code, part="from torch import nn\ndef f(): return nn.Identity()")
    assert isinstance(made, torch.nn.Identity)


def test_neighbours_may_import_each_other_in_a_circle(tmp_path: Path) -> None:
    part = "import mine\nfrom torch import nn\ndef make(): return nn.Linear(mine.WIDTH, 1)"
    made = load_code(tmp_path, "import part\nWIDTH = 4\ndef f(): return part.make()", part=part)
    assert made.in_features == 4


def test_relative_imports_mean_the_folder(tmp_path: Path) -> None:
    code = "from . import part\nfrom .part import nn\ndef f(): return part.nn.Identity()"
    assert isinstance(load_code(tmp_path, code, part="from torch import nn"), torch.nn.Identity)


def test_a_file_named_like_a_library_may_import_the_library(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("import torch\nfrom torch import nn\ndef f(): return nn.Identity()")
    assert isinstance(load_model(f"{tmp_path}/torch.py:f"), torch.nn.Identity)


def test_a_folder_named_like_a_library_does_not_hide_it(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "one.py").write_text("WIDTH = 3")
    code = "from torch import nn\nfrom parts.one import WIDTH\ndef f(): return nn.Linear(WIDTH, 1)"
    assert load_code(tmp_path, code).in_features == 3


@pytest.mark.parametrize("file", ["my-net.py", "net.v2.py", "2net.py", "__init__.py", "net ü.py"])
def test_a_file_may_have_any_name(tmp_path: Path, file: str) -> None:
    (tmp_path / "part.py").write_text("from torch import nn")
    (tmp_path / file).write_text("from part import nn\nclass Net(nn.Identity): pass")
    made = load_model(f"{tmp_path / file}:Net")
    assert isinstance(pickle.loads(pickle.dumps(made)), torch.nn.Identity)


def test_nothing_is_written_beside_the_file(tmp_path: Path) -> None:
    load_model(f"{project(tmp_path / 'a')}:net")
    assert not list(tmp_path.rglob("__pycache__"))
