"""A sweep: many runs, one record each in a folder; what is there already is not run again."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mixnorm.errors import MixNormError
from mixnorm.evaluation import Record, RunSpec, read_records, refuse_what_cannot_run, write_record
from mixnorm.evaluation.plain import stable_id
from mixnorm.files import alone_in
from mixnorm.sweeps.executor import Executor
from mixnorm.sweeps.serial import Serial


def run_sweep(
    specs: Sequence[RunSpec], folder: str | Path, *, executor: Executor | None = None, retry_failed: bool = False
) -> Iterator[Record]:
    """Yield the record of every spec once: first those that are in the folder already, then each when it is done.

    A record is written before it is yielded, so a sweep that is stopped in any way goes on where it ended when it is
    begun again. A run that failed before is yielded as it is, or with `retry_failed` tried again. Where a model cannot
    be adapted as one of the runs asks for, none is begun.
    """
    folder = Path(folder)
    with results_folder(folder):
        done = done_before(specs, folder, retry_failed=retry_failed)
        todo = _together([spec for spec in specs if spec.id not in done])
        refuse_what_cannot_run(todo)
        yield from done.values()
        for record in (executor or Serial()).run(todo) if todo else ():
            write_record(record, folder)
            yield record


def done_before(specs: Sequence[RunSpec], folder: Path, *, retry_failed: bool = False) -> dict[str, Record]:
    """Return the records of specs that need not be run, by their ids."""
    wanted = {spec.id for spec in specs}
    records = [record for record in read_records(folder) if record.id in wanted] if folder.is_dir() else []
    return {record.id: record for record in records if record.error is None or not retry_failed}


@contextmanager
def results_folder(folder: Path) -> Iterator[None]:
    """Make a results folder if need be and hold it: only one process at a time writes into it.

    The system releases it however the process ends. What a killed one left half-written is deleted.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MixNormError(f"{folder} cannot be a results folder: {error}; name another one") from error
    with alone_in(folder):
        for part in folder.glob(".*.part"):
            part.unlink(missing_ok=True)
        yield


def _together(specs: Sequence[RunSpec]) -> list[RunSpec]:
    """Bring runs that share model and data together, so that a worker loads these once; name each run once."""
    groups: dict[str, list[RunSpec]] = {}
    for spec in {spec.id: spec for spec in specs}.values():
        shared = stable_id([spec.model, spec.checkpoint, spec.dtype, spec.device, spec.data])
        groups.setdefault(shared, []).append(spec)
    return [spec for group in groups.values() for spec in group]
