"""Comparing records: only those that differ in nothing but what is asked about."""

import dataclasses
import json
from collections.abc import Collection, Sequence

from mixnorm.errors import DataError
from mixnorm.evaluation.metrics import mean_corruption_error
from mixnorm.evaluation.record import Record, Results

FOLLOWS = {"order": ("order_hash", "count"), "method": (), "batch_size": ()}
"""Fields that differ whenever another one does: another order is also another sequence of samples."""

OF_THE_MODEL = ("model", "weights_hash", "preprocessing")


def differences(first: Record, second: Record) -> dict[str, tuple[object, object]]:
    """Return the fields in which two fingerprints differ, with both values."""
    names = dict.fromkeys([*first.fingerprint, *second.fingerprint])
    pairs = {name: (first.fingerprint.get(name), second.fingerprint.get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def check_comparable(records: Sequence[Record], *, across: Collection[str] = ("method", "batch_size")) -> None:
    """Refuse records that failed, or whose fingerprints differ in anything but the fields that are compared.

    A field that is asked for in `across` may differ, whatever it is.
    """
    allowed = {name for field in across for name in (field, *FOLLOWS.get(field, ()))}
    for record in records:
        results_of(record)
        found = {name: pair for name, pair in differences(records[0], record).items() if name not in allowed}
        if found:
            listed = "; ".join(f"{name}: {first!r} and {second!r}" for name, (first, second) in found.items())
            raise DataError(
                f"the records {records[0].id} and {record.id} were not made under the same protocol: {listed}. "
                f"Compare records that share these, or ask for it with across={tuple(across) + tuple(found)}"
            )


def results_of(record: Record) -> Results:
    """Return the results of a record, refusing one that failed."""
    if record.results is None:
        reason = record.error["message"] if record.error else "unknown"
        raise DataError(f"the run {record.id} failed and has no results: {reason}")
    return record.results


def corruption_errors(record: Record) -> dict[str, float]:
    """Return the error of each corruption, as a baseline for others."""
    return {name: share["error"] for name, share in results_of(record)["by_corruption"].items()}


def relative_mce(record: Record, baseline: Record) -> float | None:
    """Return the mean corruption error of a record relative to another one; None where it is not defined.

    The baseline may be of another model, as in ImageNet-C; all else of the protocol must be the same.
    """
    check_comparable([baseline, record], across=("method", "batch_size", *OF_THE_MODEL))
    return mean_corruption_error(corruption_errors(record), corruption_errors(baseline))


def with_mce(records: Sequence[Record], baseline: Record | None = None) -> list[Record]:
    """Return the records with their mean corruption errors, relative to a baseline.

    Without one, each is relative to the Source record of its own protocol, of the same batch size if there is one;
    where there is none, it is None.
    """
    sources: dict[str, dict[object, Record]] = {}
    for record in records:
        if record.results is not None and record.fingerprint.get("method") == {"method": "Source"}:
            sources.setdefault(_protocol(record), {})[record.fingerprint.get("batch_size")] = record
    return [
        record if record.results is None else _with_mce(record, baseline or _source(record, sources))
        for record in records
    ]


def _source(record: Record, sources: dict[str, dict[object, Record]]) -> Record | None:
    found = sources.get(_protocol(record), {})
    return found.get(record.fingerprint.get("batch_size"), next(iter(found.values()), None))


def _with_mce(record: Record, baseline: Record | None) -> Record:
    results: Results = {**results_of(record), "mce": None if baseline is None else relative_mce(record, baseline)}
    return dataclasses.replace(record, results=results)


def _protocol(record: Record) -> str:
    compared = ("method", "batch_size")
    return json.dumps(
        {name: value for name, value in record.fingerprint.items() if name not in compared}, sort_keys=True
    )
