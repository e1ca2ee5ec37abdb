"""The script that makes the bundled model, on few images."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from mixnorm.benchmarks.datasets import Dataset, load_dataset
from mixnorm.benchmarks.datasets.arrays import ArrayDataset
from mixnorm.benchmarks.models import load_model
from tests.scripts.conftest import Load


def few(name: str, *, split: str) -> Dataset:
    data = load_dataset(name, split=split)
    return ArrayDataset(name, data.images(np.arange(96)), data.labels[:96], data.class_names)


def test_it_repeats_itself_bit_by_bit(load_script: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = load_script("train_digits")
    monkeypatch.setattr(script, "load_dataset", few)
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
