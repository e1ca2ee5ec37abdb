"""The script that trains source networks for digits, on few images."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mixnorm.benchmarks.models import load_model
from mixnorm.errors import DataError
from tests.scripts.conftest import Load

RANDOM = np.random.default_rng(0)


def images(count: int, side: int) -> dict[str, Any]:
    return {"x": RANDOM.integers(0, 256, (count, side, side)).astype(np.uint8), "y": np.arange(count) % 10}


def run(load_script: Load, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["train_digit_source.py", *map(str, arguments)])
    load_script("train_digit_source").main()


def test_it_repeats_itself_and_makes_a_checkpoint_of_digit_cnn(
    load_script: Load, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    train, test = images(70, 28), images(20, 28)
    file = tmp_path / "two.npz"
    np.savez(file, x_train=train["x"], y_train=train["y"], x_test=test["x"], y_test=test["y"])
    for folder in ("one", "two"):
        torch.rand(3)  # whatever was drawn before
        run(load_script, monkeypatch, "--data", file, "--output", tmp_path / folder, "--epochs", 1)
    for name in ("two.safetensors", "two.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    record = json.loads((tmp_path / "one/two.json").read_text())
    assert (record["data"]["train"]["images"], record["data"]["test"]["images"]) == (70, 20)
    assert record["data"]["splits"] == "the splits of the data set"
    assert record["settings"]["epochs"] == 1
    model = load_model("digit-cnn", checkpoint=tmp_path / "one/two.safetensors")
    assert model(torch.zeros(1, 3, 32, 32)).shape == (1, 10)


def test_a_file_with_one_split_is_cut_by_the_seed(load_script: Load, tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", **images(90, 8))
    load = load_script("train_digit_source").load
    (train, test, told_apart), (again, *_), (other, *_) = (
        load(str(tmp_path / "one.npz"), None, seed) for seed in (0, 0, 1)
    )
    assert (len(train), len(test), told_apart) == (60, 30, "one split, cut by seed 0")
    assert train.images([0]).shape == (1, 32, 32, 3)
    assert train.fingerprint() == again.fingerprint() != other.fingerprint()
    rows = [data.images(np.arange(len(data))) for data in (train, test)]
    assert len(np.unique(np.concatenate(rows).reshape(90, -1), axis=0)) == 90


def test_what_is_not_ten_digits_is_refused(load_script: Load, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    few = images(30, 8) | {"y": np.arange(30) % 7}
    np.savez(tmp_path / "few.npz", **few)
    with pytest.raises(DataError, match=r"few\.npz has 7 classes; digit-cnn tells the ten digits apart"):
        run(load_script, monkeypatch, "--data", tmp_path / "few.npz", "--output", tmp_path)


def test_small_sets_are_seen_more_often(load_script: Load) -> None:
    script = load_script("train_digit_source")
    arguments = script.argparse.Namespace(seed=0, epochs=None, threads=1)
    assert [script.settings_of(arguments, images).epochs for images in (60_000, 6_001, 7_291, 10**6)] == [1, 10, 8, 1]
