"""What cannot be done is said once, for all runs, before the first of them."""

from pathlib import Path

import numpy as np
import pytest
from torch import nn

from mixnorm.errors import ModelError
from mixnorm.evaluation import Loader, RunSpec, refuse_what_cannot_run

MODELS = """
from torch import nn
from mixnorm.adaptation.sample_models import TwoHeads
from tests.benchmarks.models.clips import small_transformer

def two_heads():
    return TwoHeads()

def oblivious():
    model = TwoHeads()
    model.rotation_head = nn.Conv2d(5, 4, 1)
    return model

def plain():
    return nn.Sequential(nn.Flatten(), nn.LazyLinear(10))

def fails():
    raise RuntimeError("out of luck")

def vision_transformer():
    return small_transformer()
"""


@pytest.fixture
def models(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MODELS)
    return path


def data(folder: Path, height: int = 16) -> str:
    path = folder / f"data{height}.npz"
    np.savez(path, x=np.zeros((4, height, 16, 3), np.uint8), y=np.arange(4))
    return str(path)


def spec(model: object, name: str, method: str) -> RunSpec:
    return RunSpec.from_dict({"model": str(model), "data": {"name": name}, "method": method})


def test_runs_that_can_be_done_pass(models: Path, tmp_path: Path) -> None:
    refuse_what_cannot_run([spec(f"{models}:two_heads", data(tmp_path), method) for method in ("Tent", "Ttt", "Shot")])
    refuse_what_cannot_run([spec("digits", "digits-c", method) for method in ("Source", "Ttt", "Shot")])


def test_all_that_cannot_be_done_is_told_at_once(models: Path, tmp_path: Path) -> None:
    square, oblong = data(tmp_path), data(tmp_path, 12)
    specs = [
        spec(f"{models}:two_heads", square, "Source"),
        spec(f"{models}:two_heads", oblong, "Ttt"),
        spec(f"{models}:oblivious", square, "Ttt:layer=stem"),
        spec(f"{models}:plain", square, "Tent"),
    ]
    with pytest.raises(ModelError) as caught:
        refuse_what_cannot_run(specs)
    first, *rest = str(caught.value).splitlines()
    assert first == "some of the runs cannot be done, and none was begun:"
    assert len(rest) == 3
    assert rest[0].startswith(f"  Ttt on {models}:two_heads: TTT turns square images")
    assert "got shape (2, 3, 12, 16)" in rest[0]
    assert rest[1].startswith(f"  Ttt on {models}:oblivious: the rotation head 'rotation_head' does not take the feat")
    assert rest[2].startswith(f"  Tent on {models}:plain: ")
    assert "has no BatchNorm layer" in rest[2]


def test_a_vision_transformer_is_refused_once_for_all_methods(models: Path, tmp_path: Path) -> None:
    runs = [spec(f"{models}:vision_transformer", data(tmp_path), method) for method in ("Source", "MixNorm")]
    with pytest.raises(ModelError) as caught:
        refuse_what_cannot_run(runs)
    (reason,) = str(caught.value).splitlines()[1:]
    where = f"{models}:vision_transformer"
    assert reason.startswith(f"  Source on {where}, MixNorm on {where}: the image tower of this CLIP")
    assert "Use a CLIP model with a ResNet" in reason


def test_what_cannot_be_loaded_is_left_to_its_run(models: Path, tmp_path: Path) -> None:
    refuse_what_cannot_run(
        [
            spec(f"{models}:fails", data(tmp_path), "Tent"),
            spec("no/such/file.py:model", data(tmp_path), "Tent"),
            spec("digits", str(tmp_path / "absent.npz"), "Ttt"),
        ]
    )


def test_runs_that_differ_in_other_things_are_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[RunSpec] = []
    load = Loader.unchecked_model

    def noted(self: Loader, spec: RunSpec) -> nn.Module:
        tried.append(spec)
        return load(self, spec)

    monkeypatch.setattr(Loader, "unchecked_model", noted)
    base = {"model": "digits", "method": "Tent", "data": {"name": "digits-c"}}
    refuse_what_cannot_run([RunSpec.from_dict(base | {"seed": seed}) for seed in (0, 1)])
    assert len(tried) == 1
