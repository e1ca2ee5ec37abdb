"""The script that trains a small CLIP model as a stand-in: what it writes can be run by the commands it names."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from mixnorm.cli import main
from scripts import train_small_clip
from tests.real import PROJECT


def test_a_training_and_a_run_of_what_it_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    random = np.random.default_rng(0)
    pixels, labels = random.integers(0, 256, (20, 28, 28), dtype=np.uint8), np.arange(20) % 10
    np.savez(tmp_path / "mnist.npz", x_train=pixels, y_train=labels, x_test=pixels[:12], y_test=labels[:12])
    made = tmp_path / "made"
    arguments = ["--data", str(tmp_path), "--output", str(made), "--images", "20", "--epochs", "1"]
    monkeypatch.setattr(sys, "argv", ["train_small_clip.py", *arguments])
    train_small_clip.main()
    assert "epoch 1 of 1: " in capsys.readouterr().out
    model = ["--model", f"{PROJECT / 'scripts/train_small_clip.py'}:small_clip"]
    weights = ["--checkpoint", str(made / "small_clip.safetensors"), "--data", str(made / "mnist.npz")]
    assert main(["evaluate", *model, *weights, "--methods", "MixNorm:m=0.05,tau=0.001", "--limit", "4", "--json"]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    assert record["results"]["count"] == 4
    assert record["fingerprint"]["templates"] == ["a photo of a {}."]
