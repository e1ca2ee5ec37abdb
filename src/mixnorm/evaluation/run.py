"""Running a spec: loading what it names, evaluating, and making its record."""

import dataclasses
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import torch

from mixnorm.adaptation import Method, adapt
from mixnorm.errors import ModelError
from mixnorm.evaluation.environment import commit, hardware
from mixnorm.evaluation.evaluate import Progress, iter_evaluate
from mixnorm.evaluation.loader import Loader
from mixnorm.evaluation.record import Failure, Record
from mixnorm.evaluation.spec import RunSpec


def run(spec: RunSpec, loader: Loader | None = None) -> Record:
    """Do a run and return its record; a `loader` that is given again keeps what runs share.

    >>> record = run(RunSpec(model="digits", data={"name": "digits-c", "limit": 50}, method={"method": "Source"}))
    >>> record.results["count"]
    50
    """
    *_, last = iter_run(spec, loader)
    if last.record is None:
        raise ModelError("the run ended without a record")
    return last.record


def iter_run(spec: RunSpec, loader: Loader | None = None) -> Iterator[Progress]:
    """Do what `run` does, yielding after each batch how far it is, and at the end the record."""
    loader = loader or Loader()
    with _threads(spec.threads), _goes_on_after_exit():
        adapted = adapt(loader.model(spec), Method.from_dict(spec.method), seed=spec.seed)
        for progress in iter_evaluate(adapted, loader.stream(spec), spec.protocol):
            yield dataclasses.replace(progress, record=progress.record and _of_spec(progress.record, spec))


def run_or_fail(spec: RunSpec, loader: Loader | None = None) -> Record:
    """Do a run; whatever goes wrong becomes the error of its record, so that other runs can go on."""
    started, clock = datetime.now(UTC), time.perf_counter()
    try:
        return run(spec, loader)
    except Exception as error:  # noqa: BLE001 - a run may fail in any way that a user's model or data can
        failure: Failure = {
            "type": type(error).__name__,
            "message": str(error),
            "traceback": "".join(traceback.format_exception(error)),
        }
        record = failed(spec, failure)
        return dataclasses.replace(
            record, started=started.isoformat(timespec="seconds"), duration_s=time.perf_counter() - clock
        )


def failed(spec: RunSpec, failure: Failure) -> Record:
    """Make the record of a run that has no results."""
    return Record(
        id=spec.id,
        spec=spec.to_dict(),
        fingerprint={},
        results=None,
        cost=None,
        hardware=hardware(torch.device("cpu")),
        commit=commit(),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        duration_s=0.0,
        error=failure,
    )


def _of_spec(record: Record, spec: RunSpec) -> Record:
    identity = record.fingerprint | {"model": spec.model}
    return dataclasses.replace(record, id=spec.id, spec=spec.to_dict(), fingerprint=identity)


@contextmanager
def _goes_on_after_exit() -> Iterator[None]:
    """Let a model that ends the program end its run only."""
    try:
        yield
    except SystemExit as error:
        raise ModelError(f"the model ended the program while it answered (SystemExit: {error.code})") from error


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Let torch use that many threads for a while."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
