"""The record beside corrupted copies: what they were made of and how, so that a run only continues its own kind."""

import json
from pathlib import Path

from mixnorm.errors import DataError
from mixnorm.files import write_whole

FILE = "corruptions.json"
Record = dict[str, str | int]


def claim(output: Path, record: Record) -> None:
    """Put `record` into a new output folder, or check that the folder was begun with the same one."""
    output.mkdir(parents=True, exist_ok=True)
    path = output / FILE
    if path.exists():
        _check_same(path, record)
        return
    if any(output.iterdir()):
        raise DataError(f"{output} is not empty and has no {FILE}, so it is not a run to continue; give a new folder")
    write_whole(path, (json.dumps(record, indent=2) + "\n").encode())


def _check_same(path: Path, record: Record) -> None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        differing = [key for key in record.keys() | found.keys() if record.get(key) != found.get(key)]
    except (ValueError, AttributeError) as error:
        raise DataError(f"{path} is not the record of a run: {error}; give a new folder") from error
    if differing:
        changes = ", ".join(f"{key} was {found.get(key)!r} and is {record.get(key)!r}" for key in sorted(differing))
        raise DataError(
            f"{path.parent} was begun otherwise: {changes}; give a new folder or the settings it began with"
        )
