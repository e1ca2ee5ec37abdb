"""Runs in several processes of this machine."""

import contextlib
import os
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import wait
from typing import Any

from mixnorm.evaluation import Record, RunSpec
from mixnorm.evaluation.plain import check_whole_number
from mixnorm.processes import interrupts_held
from mixnorm.sweeps.worker import ATTEMPTS, died, serve

# Spawned, not forked: a fork of a process with torch's threads may hang.
SPAWN = get_context("spawn")


@dataclass(frozen=True, kw_only=True)
class Processes:
    """Does runs in processes side by side; one that dies is replaced, and its run is tried again twice.

    A script that uses it needs `if __name__ == "__main__":`, since each process imports the script.
    """

    workers: int = field(default_factory=lambda: os.cpu_count() or 1)

    def __post_init__(self) -> None:
        check_whole_number("workers", self.workers, 1)

    def run(self, specs: Sequence[RunSpec]) -> Iterator[Record]:
        """Yield the record of each run when it is there."""
        pool = _Pool(min(self.workers, len(specs)))
        try:
            yield from pool.records(specs)
        finally:
            pool.stop()


@dataclass(frozen=True)
class _Task:
    spec: RunSpec
    attempt: int = 1


class _Worker:
    """A process and the connection to it; there is one connection each, so that it is known which run died."""

    def __init__(self) -> None:
        self.connection, theirs = SPAWN.Pipe()
        self.process = SPAWN.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        # With the other end open here as well, the death of the process would not end the connection.
        theirs.close()

    def stop(self) -> int | None:
        """End the process, whatever it does, and return its exit code."""
        self.connection.close()
        self.process.kill()
        self.process.join()
        return self.process.exitcode


class _Pool:
    def __init__(self, size: int) -> None:
        self.size = size
        self.idle: list[_Worker] = []
        self.busy: dict[Any, tuple[_Worker, _Task]] = {}

    def records(self, specs: Sequence[RunSpec]) -> Iterator[Record]:
        """Hand out runs and take in records."""
        waiting = deque(_Task(spec) for spec in specs)
        while waiting or self.busy:
            while waiting and len(self.busy) < self.size:
                self._give(waiting.popleft())
            for connection in wait(list(self.busy)):
                worker, task = self.busy.pop(connection)
                answer = self._take(worker, task)
                if isinstance(answer, Record):
                    yield answer
                else:
                    waiting.appendleft(answer)

    def stop(self) -> None:
        """End all processes."""
        for worker in [*self.idle, *(worker for worker, _ in self.busy.values())]:
            worker.stop()

    def _give(self, task: _Task) -> None:
        # A process that hears Ctrl-C while it starts would complain, and one that is not noted yet would not be ended.
        with interrupts_held():
            worker = self.idle.pop() if self.idle else _Worker()
            self.busy[worker.connection] = (worker, task)
        # It may have died while it was idle; then the end of its connection will tell.
        with contextlib.suppress(OSError):
            worker.connection.send(task.spec.to_dict())

    def _take(self, worker: _Worker, task: _Task) -> Record | _Task:
        """Take in a record; if the worker has died, give back the run to try again, or record that it did."""
        try:
            record = Record.from_dict(worker.connection.recv())
        except (EOFError, OSError):
            code = worker.stop()
            if task.attempt < ATTEMPTS:
                return _Task(task.spec, task.attempt + 1)
            return Record.from_dict(died(task.spec, f"exit code {code}"))
        self.idle.append(worker)
        return record
