"""Repeating a table of the paper: its cells as runs, and what is published beside what was measured."""

from collections.abc import Iterator
from pathlib import Path

from mixnorm.errors import DataError, MissingDataError, SettingError
from mixnorm.evaluation import Record, check_comparable
from mixnorm.paper.comparison import Comparison
from mixnorm.paper.missing import missing
from mixnorm.paper.specs import Setup, spec_of
from mixnorm.paper.table import Table
from mixnorm.sweeps import Executor, run_sweep


def reproduce(
    table: Table,
    folder: str | Path,
    *,
    setup: Setup | None = None,
    executor: Executor | None = None,
    retry_failed: bool = False,
) -> Comparison:
    """Repeat a table and return the comparison with what is published.

    Each cell becomes a record in the folder. Records that are there are used, so an interrupted call goes on.
    """
    *_, last = iter_reproduce(table, folder, setup=setup, executor=executor, retry_failed=retry_failed)
    return last


def iter_reproduce(
    table: Table,
    folder: str | Path,
    *,
    setup: Setup | None = None,
    executor: Executor | None = None,
    retry_failed: bool = False,
) -> Iterator[Comparison]:
    """Do what `reproduce` does, and yield the comparison as it is before the first run and after each."""
    setup = setup or Setup()
    _refuse_what_cannot_run(table)
    specs = {(cell.row.id, cell.column.id): spec_of(table, cell, setup) for cell in table.cells}
    _refuse_what_is_missing(table, missing(list(specs.values())))
    yield Comparison(table=table, setup=setup, records={})
    records: dict[tuple[str, str], Record] = {}
    first: dict[str, Record] = {}
    runs = {spec.id: spec for spec in specs.values()}
    for record in run_sweep(list(runs.values()), folder, executor=executor, retry_failed=retry_failed):
        _refuse_another_protocol(record, first, folder)
        # Two cells may be the same run.
        records |= {place: record for place, spec in specs.items() if spec.id == record.id}
        yield Comparison(table=table, setup=setup, records=dict(records))


def _refuse_what_cannot_run(table: Table) -> None:
    if not table.can_run:
        raise SettingError(
            f"{table.name} ({table.where}) has {table.kind}, not results: there is nothing to run. --published shows it"
        )


def _refuse_another_protocol(record: Record, first: dict[str, Record], folder: str | Path) -> None:
    """Refuse a record of other weights, data or libraries than the first one of its data set has."""
    if record.results is None:
        return
    try:
        check_comparable([first.setdefault(record.fingerprint["data"], record), record])
    except DataError as error:
        raise DataError(
            f"{folder} has records that cannot stand in one table; use another folder for the results: {error}"
        ) from error


def _refuse_what_is_missing(table: Table, complaints: tuple[str, ...]) -> None:
    if not complaints:
        return
    listed = "".join(f"\n  {number}. {complaint}" for number, complaint in enumerate(complaints, start=1))
    raise MissingDataError(
        f"{table.name} cannot be run with what is at hand. Missing:{listed}\n"
        "To run the same protocol on a model and data of your own, give them with --model FILE.py:FACTORY and "
        "--data FOLDER_OR_NPZ; --model digits --data digits-c are always at hand."
    )
