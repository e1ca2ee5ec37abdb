"""The record beside corrupted copies: what they were made of and how, so that a run only continues its own kind."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from mixnorm.benchmarks.datasets import Dataset
from mixnorm.benchmarks.datasets.files import FileDataset
from mixnorm.benchmarks.datasets.provenance import RECORD
from mixnorm.errors import DataError
from mixnorm.files import write_whole

Facts = dict[str, Any]
"""The settings of a run and what is known of its source, as plain data."""
SHOWN = 80


def claim(output: Path, dataset: Dataset, facts: Facts) -> list[str]:
    """Put the record into a new output folder, or check that the folder was begun with the same one.

    The record names the images that were left out, and the hash of the source is taken without them: who mends one of
    them can go on. Return their names.
    """
    output.mkdir(parents=True, exist_ok=True)
    path = output / RECORD
    if path.exists():
        found = _read(path)
        left_out = list(found.get("left_out", ()))
        _check_same(path, found, _record(dataset, facts, left_out))
        return left_out
    if any(output.iterdir()):
        raise DataError(f"{output} is not empty and has no {RECORD}, so it is not a run to continue; give a new folder")
    note(output, dataset, facts, left_out=())
    return []


def note(output: Path, dataset: Dataset, facts: Facts, left_out: Collection[str]) -> None:
    """Write the record."""
    write_whole(output / RECORD, (json.dumps(_record(dataset, facts, left_out), indent=2) + "\n").encode())


def _record(dataset: Dataset, facts: Facts, left_out: Collection[str]) -> Facts:
    known = dataset.without(left_out) if left_out and isinstance(dataset, FileDataset) else dataset
    return {**facts, "fingerprint": known.fingerprint(), "left_out": sorted(left_out)}


def _read(path: Path) -> Facts:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is not the record of a run: {error}; give a new folder") from error
    if not isinstance(found, dict):
        raise DataError(f"{path} is not the record of a run: it holds no fields; give a new folder")
    return found


def _check_same(path: Path, found: Facts, record: Facts) -> None:
    differing = sorted(key for key in record.keys() | found.keys() if record.get(key) != found.get(key))
    if differing:
        changes = ", ".join(f"{key} was {_shown(found.get(key))} and is {_shown(record.get(key))}" for key in differing)
        raise DataError(
            f"{path.parent} was begun otherwise: {changes}; give a new folder or the settings it began with"
        )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
