"""Comparing records: only those that differ in nothing but what is asked about."""

from collections.abc import Collection, Sequence

from mixnorm.errors import DataError, SettingError
from mixnorm.evaluation.metrics import mean_corruption_error
from mixnorm.evaluation.record import Record, Results

FOLLOWS = {"order": ("order_hash", "count"), "method": (), "batch_size": ()}
"""Fields that differ whenever another one does: another order is also another sequence of samples."""


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
    """Return the mean corruption error of a record relative to another one, made under the same protocol."""
    if record.id == baseline.id:
        raise SettingError(f"the record {record.id} cannot be its own baseline")
    check_comparable([baseline, record])
    return mean_corruption_error(corruption_errors(record), corruption_errors(baseline))
