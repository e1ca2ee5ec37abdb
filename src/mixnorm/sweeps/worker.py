"""The worker: a process of its own that gets specs and gives back records, both as plain data."""

import signal
from functools import cache
from multiprocessing.connection import Connection
from typing import Any

from mixnorm.evaluation import Loader, RunSpec, run_or_fail
from mixnorm.evaluation.run import failed
from mixnorm.processes import end_with_parent

ATTEMPTS = 3
"""How often a run is begun before its worker's death counts as the run's fault."""


def work(spec: dict[str, Any]) -> dict[str, Any]:
    """Do a run; what runs share stays loaded in this process."""
    return run_or_fail(RunSpec.from_dict(spec), _loader_of_process()).to_dict()


def serve(connection: Connection) -> None:
    """Do the runs that come through a connection, until it ends or the process at its other end does."""
    # Ctrl-C is for the process that began the sweep.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    while True:
        try:
            connection.send(work(connection.recv()))
        except (EOFError, OSError):
            return


def died(spec: RunSpec, how: str) -> dict[str, Any]:
    """Make the record of a run whose workers died, as plain data."""
    message = f"the worker died {ATTEMPTS} times ({how}), often for lack of memory; try fewer workers"
    return failed(spec, {"type": "WorkerDied", "message": message, "traceback": ""}).to_dict()


@cache
def _loader_of_process() -> Loader:
    return Loader()
