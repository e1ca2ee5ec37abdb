"""Records of runs that never happened, in the shape of those that did."""

import base64
import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

import mixnorm as mn
from mixnorm.benchmarks.corruptions import CORRUPTIONS
from mixnorm.evaluation.plain import stable_id
from mixnorm.evaluation.record import Cost, Example, Failure, Record, Results

METHODS: dict[str, mn.Method] = {
    "Source": mn.Source(),
    "BN": mn.BatchStatistics(),
    "TENT": mn.Tent(),
    "MixNorm fixed": mn.MixNorm.preset("cifar10-c/mixed"),
    "MixNorm": mn.MixNorm.preset("cifar10-c/mixed/learnable"),
    "MixNormBN": mn.MixNormBN.preset("cifar10-c/mixed"),
}
SIZES = (1, 8, 64, 200)
# Errors at these batch sizes, as the methods' real ones behave: batch statistics need batches, MixNorm does not.
ERRORS = {
    "Source": (47.2, 47.2, 47.2, 47.2),
    "BN": (90.2, 40.7, 33.0, 32.8),
    "TENT": (90.2, 39.8, 32.5, 32.7),
    "MixNorm fixed": (31.5, 31.5, 31.5, 31.5),
    "MixNorm": (38.8, 34.3, 32.3, 32.0),
    "MixNormBN": (39.2, 37.3, 32.7, 32.5),
}
SLOWDOWNS = {"Source": 1.0, "BN": 1.1, "TENT": 2.6, "MixNorm fixed": 2.4, "MixNorm": 5.1, "MixNormBN": 4.8}


def make_record(
    method: mn.Method | None = None,
    *,
    error: float = 47.2,
    slowdown: float | None = 1.0,
    batch_size: int = 1,
    count: int = 600,
    corruptions: Sequence[str] = CORRUPTIONS,
    started: str = "2026-01-02T03:04:05+00:00",
    failure: Failure | None = None,
    **fingerprint: Any,
) -> Record:
    """Make a record; keyword arguments that are not named replace fields of its fingerprint."""
    settings = json.loads(json.dumps((method or mn.Source()).to_dict()))
    facts = _fingerprint(count, list(corruptions)) | {"method": settings, "batch_size": batch_size} | fingerprint
    return Record(
        id=stable_id(facts),
        spec={"version": 1, "model": "digits", "method": settings, "protocol": {"batch_size": batch_size}},
        fingerprint={} if failure else facts,
        results=None if failure else _results(error, count, corruptions),
        cost=None if failure else _cost(slowdown, batch_size, offline="epochs" in fingerprint),
        hardware={"cpu": "a processor", "cores": 2},
        commit="0123abc",
        started=started,
        duration_s=1.5,
        error=failure,
    )


def demo_records(**fingerprint: Any) -> list[Record]:
    """Make a record of each method at each batch size."""
    return [
        make_record(METHODS[name], error=error, slowdown=SLOWDOWNS[name], batch_size=size, **fingerprint)
        for name, errors in ERRORS.items()
        for size, error in zip(SIZES, errors, strict=True)
    ]


def _fingerprint(count: int, corruptions: list[str]) -> dict[str, Any]:
    return {
        "data": "digits-c",
        "data_hash": "d1" * 32,
        "order": "mixed",
        "order_hash": "0f" * 32,
        "reset": "never",
        "severity": 5,
        "corruptions": corruptions,
        "count": count,
        "model": "digits",
        "weights_hash": "a7" * 32,
        "seed": 0,
        "torch_version": "2.13.0",
        "dtype": "float32",
        "device": "cpu",
    }


def _results(error: float, count: int, corruptions: Sequence[str]) -> Results:
    spread = np.linspace(-0.8, 0.8, len(corruptions)) * min(error, 100 - error)
    windows = range(0, count, 200)
    return {
        "count": count,
        "error": error,
        "by_corruption": {
            name: {"count": count // len(corruptions), "error": error + float(shift)}
            for name, shift in zip(corruptions, spread, strict=True)
        },
        "over_time": [
            {"start": start, "count": min(200, count - start), "error": max(0.0, error + 2 - place)}
            for place, start in enumerate(windows)
        ],
        "mce": None,
        "ece": 0.12,
        "nll": 1.5,
        "rejected": 0,
        "skipped_steps": 0,
        "examples": [_example(place, name, error) for place, name in enumerate(corruptions)],
    }


def _cost(slowdown: float | None, batch_size: int, *, offline: bool) -> Cost:
    cost: Cost = {
        "images_per_second": 1000.0 / (slowdown or 1.0),
        "latency_p50_ms": batch_size * (slowdown or 1.0),
        "latency_p95_ms": batch_size * (slowdown or 1.0) * 1.2,
        "peak_memory_mb": 300.0,
        "ratio_to_source": slowdown,
    }
    if offline:
        cost["fit"] = {"seconds": 12.5, "images_per_second": 240.0}
    return cost


def _example(place: int, corruption: str, error: float) -> Example:
    answer = place % 10 if place * 7 % 15 > error / 7 else (place + 5) % 10
    return {
        "index": place,
        "corruption": corruption,
        "severity": 5,
        "label": place % 10,
        "prediction": answer,
        "confidence": 0.5 + place / 40,
        "class_names": [str(place % 10), str(answer)],
        "png": png(place),
    }


def png(seed: int) -> str:
    """Make a small picture in base64."""
    pixels = np.random.default_rng(seed).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()
