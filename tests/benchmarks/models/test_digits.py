"""The model that the package ships, its record, and the script that makes both."""

import hashlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from mixnorm.benchmarks.corruptions import corrupt
from mixnorm.benchmarks.datasets import Dataset, load_dataset
from mixnorm.benchmarks.datasets.arrays import ArrayDataset
from mixnorm.benchmarks.models import find_model, load_model

WEIGHTS = find_model("digits").weights
SCRIPT = Path(__file__).parents[3] / "scripts" / "train_digits.py"


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    assert WEIGHTS is not None
    content: dict[str, Any] = json.loads(Path(WEIGHTS.path).with_suffix(".json").read_text())
    return content


def error(corruption: str | None = None) -> float:
    data = load_dataset("digits")
    images = data.images(np.arange(len(data)))
    if corruption:
        images = corrupt(images, corruption, 5)
    with torch.no_grad():
        logits = load_model("digits")(torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255)
    return float((logits.argmax(1).numpy() != data.labels).mean())


def test_the_record_is_the_one_of_these_weights(record: dict[str, Any]) -> None:
    assert WEIGHTS is not None
    content = Path(WEIGHTS.path).read_bytes()
    assert hashlib.sha256(content).hexdigest() == record["weights_sha256"]
    assert len(content) < 1_000_000
    assert {split: data["fingerprint"] for split, data in record["data"].items()} == {
        split: load_dataset("digits", split=split).fingerprint() for split in ("train", "test")
    }


def test_the_clean_error_is_the_recorded_one(record: dict[str, Any]) -> None:
    assert error() == pytest.approx(record["clean_test_error"], abs=1 / 600)
    assert find_model("digits").accuracy == pytest.approx(1 - record["clean_test_error"], abs=1e-4)
    assert record["clean_test_error"] < 0.02


def test_corruptions_leave_something_to_mend() -> None:
    assert error("contrast") > 0.5
    assert error("fog") > 0.3


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The training script on a few images; it sets torch's threads and determinism, which are put back."""
    spec = importlib.util.spec_from_file_location("train_digits", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "train_digits", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "load_dataset", few)
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    yield module
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(deterministic)


def few(name: str, *, split: str) -> Dataset:
    data = load_dataset(name, split=split)
    return ArrayDataset(name, data.images(np.arange(96)), data.labels[:96], data.class_names)


def test_the_script_repeats_itself_bit_by_bit(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("one", "two"):
        torch.rand(3)  # whatever was drawn before
        monkeypatch.setattr(sys, "argv", ["train_digits.py", "--epochs", "2", "--output", str(tmp_path / folder)])
        script.main()
    for name in ("digits.safetensors", "digits.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    made = json.loads((tmp_path / "one/digits.json").read_text())
    assert made["settings"]["epochs"] == 2
    assert (
        load_model("digits", checkpoint=tmp_path / "one/digits.safetensors")(torch.zeros(1, 3, 32, 32)).isfinite().all()
    )


def test_shifts_move_images_by_whole_pixels(script: ModuleType) -> None:
    images = torch.zeros(200, 3, 9, 9)
    images[:, :, 4, 4] = 1
    moved = script.shifted(images, 2)
    assert torch.equal(moved.sum((1, 2, 3)), torch.full((200,), 3.0))
    places = moved[:, 0].flatten(1).argmax(1)
    assert {(int(place) // 9 - 4, int(place) % 9 - 4) for place in places} == {
        (down, right) for down in range(-2, 3) for right in range(-2, 3)
    }
