"""The model that the package ships, and its record."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mixnorm.benchmarks.corruptions import corrupt
from mixnorm.benchmarks.datasets import load_dataset
from mixnorm.benchmarks.models import find_model, load_model

WEIGHTS = find_model("digits").weights


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
