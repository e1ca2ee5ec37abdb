"""The record of a run: one JSON file with all that is needed to trust, compare and repeat a number."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NotRequired, TypedDict, get_type_hints

from mixnorm.errors import DataError, MissingDataError, MixNormError
from mixnorm.evaluation.shape import check_shape
from mixnorm.files import write_whole

FORMAT = "mixnorm-record"
VERSION = 1
COMPARED = {"method": dict[str, Any], "batch_size": int, "order": str, "data": str}
"""What the fingerprint of a run with results must have to be compared with others."""


class Share(TypedDict):
    """How many samples there were, and the percentage answered wrong."""

    count: int
    error: float


class Window(TypedDict):
    """The error of `count` consecutive samples from place `start` of the stream."""

    start: int
    count: int
    error: float


class Example(TypedDict):
    """A sample with its picture and what the model answered: the first one of each corruption in the stream."""

    index: int
    corruption: str
    severity: int
    label: int
    prediction: int
    confidence: float
    class_names: list[str]
    """The names of the label and of the prediction."""
    png: str
    """The picture, in base64."""


class Results(TypedDict):
    """What a run found; errors are percentages."""

    count: int
    error: float
    by_corruption: dict[str, Share]
    over_time: list[Window]
    mce: float | None
    """Relative to a baseline, so that of a run alone is None; `with_mce` finds it among records."""
    ece: float | None
    nll: float | None
    rejected: int
    skipped_steps: int
    examples: list[Example]


class FitCost(TypedDict):
    """What it cost to adapt before anything was answered: time in the adapted model alone, over all epochs."""

    seconds: float
    images_per_second: float


class Cost(TypedDict):
    """What a run cost: time in the adapted model alone, and the memory of the whole process."""

    images_per_second: float
    latency_p50_ms: float
    latency_p95_ms: float
    peak_memory_mb: float | None
    ratio_to_source: float | None
    fit: NotRequired[FitCost]
    """Of a protocol with epochs; the other times are then those of the answers alone."""


class Failure(TypedDict):
    """Why a run has no results."""

    type: str
    message: str
    traceback: str


@dataclass(frozen=True, kw_only=True)
class Record:
    """What became of a run. `results` and `cost` are None where it failed, `error` is None where it did not."""

    id: str
    spec: dict[str, Any] | None
    """None for objects that `evaluate` was given directly: then nothing says how to make them again."""
    fingerprint: dict[str, Any]
    results: Results | None
    cost: Cost | None
    hardware: dict[str, Any]
    commit: str | None
    started: str
    duration_s: float
    error: Failure | None

    def to_dict(self) -> dict[str, Any]:
        """Write the record as plain data, with the version of its format."""
        return {"format": FORMAT, "version": VERSION, **dataclasses.asdict(self)}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> "Record":
        """Make a record from plain data, refusing what is none."""
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise DataError("it is not a record of mixnorm")
        if data.get("version") != VERSION:
            raise DataError(
                f"it has version {data.get('version')!r}, this mixnorm knows {VERSION}; "
                "read it with the mixnorm that wrote it, or a later one"
            )
        names = {field.name for field in dataclasses.fields(Record)}
        given = set(data) - {"format", "version"}
        if given != names:
            raise DataError(f"its fields are wrong: {', '.join(sorted(given ^ names))} unknown or missing")
        for name, kind in get_type_hints(Record).items():
            check_shape(name, data[name], kind)
        record = Record(**{name: data[name] for name in names})
        _check_outcome(record)
        return record


def record_path(folder: Path, run_id: str) -> Path:
    """Return the file of a run's record."""
    return folder / f"{run_id}.json"


def write_record(record: Record, folder: str | Path) -> Path:
    """Write a record into a folder under its id: whole, or not at all."""
    path = record_path(Path(folder), record.id)
    content = json.dumps(record.to_dict(), indent=1, allow_nan=False)
    try:
        write_whole(path, content.encode())
    except MixNormError:
        raise
    except OSError as error:
        raise MixNormError(
            f"{path} cannot be written: {error.strerror or error}; records that are there are untouched, "
            "make room and run the same again to go on"
        ) from error
    return path


def read_record(path: str | Path) -> Record:
    """Read a record, refusing what is none."""
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise MissingDataError(f"there is no record {str(path)!r}") from error
    try:
        return Record.from_dict(json.loads(content, parse_constant=_no_number))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"{path} is broken or no record of mixnorm: {error}; move it out of the folder") from error
    except DataError as error:
        raise DataError(f"{path} cannot be used: {error}; or move it out of the folder") from error


def read_records(folder: str | Path) -> list[Record]:
    """Read all records of a folder in the order of their ids; any other `.json` file is refused by name."""
    folder = Path(folder)
    if not folder.is_dir():
        raise MissingDataError(f"there is no results folder {str(folder)!r}; make one with mixnorm sweep or evaluate")
    return [read_record(path) for path in sorted(folder.glob("[!.]*.json"))]


def _check_outcome(record: Record) -> None:
    failed, measured = record.error is not None, record.results is not None and record.cost is not None
    if failed == measured:
        raise DataError("it must have either results and cost, or an error")
    if measured:
        for name, kind in COMPARED.items():
            check_shape(f"fingerprint.{name}", record.fingerprint.get(name), kind)


def _no_number(constant: str) -> float:
    raise DataError(f"it has {constant}, which is no number")
