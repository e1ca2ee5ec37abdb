"""Sweeps that are killed at random moments, for real: nothing is lost, nothing is run twice."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mixnorm.evaluation import read_records
from mixnorm.sweeps import Serial, read_grid
from tests.interruptible import children, running, start, wait_for_the_end_of
from tests.sweeps.runs import outcomes

GRID = """
[base]
model = "digits"
data = {name = "digits-c", limit = 8, corruptions = ["fog", "contrast"]}
protocol = {batch_size = 1}
[axes]
method = ["Tent", "MixNorm:m=0.2", "MixNormBN"]
seed = [0, 1, 2, 3]
"""
KILLS = 5


# Loads the program once and forks a process for each command: most of a short sweep's time would be loading torch.
STARTER = """
import os, sys
from mixnorm.cli import main
for line in sys.stdin:
    if (process := os.fork()) == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os._exit(main(line.rstrip().split("\\t")))
    print(process, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Starter"]:
    with (tmp_path_factory.mktemp("starter") / "errors").open("w+b") as errors:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": errors, "start_new_session": True}
        with start([sys.executable, "-c", STARTER], **pipes) as process:
            yield Starter(process, Path(errors.name))
            assert process.stdin is not None
            process.stdin.close()


class Starter:
    """Begins commands of the program, one at a time, each a process of its own."""

    def __init__(self, process: "subprocess.Popen[bytes]", errors: Path) -> None:
        self.process = process
        self.errors = errors

    def begin(self, *arguments: str) -> int:
        """Begin a command and return the id of its process."""
        assert self.process.stdin is not None
        self.process.stdin.write("\t".join(arguments).encode() + b"\n")
        self.process.stdin.flush()
        return self._number()

    def wait(self) -> int:
        """Wait for the end of the command and return its exit code."""
        return self._number()

    def _number(self) -> int:
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())


def sweep(folder: Path, executor: str) -> list[str]:
    arguments = ["-o", str(folder / "results"), "--grid", str(folder / "grid.toml"), "--executor", executor]
    return ["sweep", *arguments, "--workers", "2"]


def files(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("results/*.json")}


def spawned(pid: int) -> list[Path]:
    """Find the workers among the processes that a process has started."""
    return [child for child in children(pid) if b"spawn_main" in _command(child)]


def _command(process: Path) -> bytes:
    with contextlib.suppress(OSError):
        return process.joinpath("cmdline").read_bytes()
    return b""


def deaf(process: Path) -> bool:
    """Whether a process blocks or ignores Ctrl-C, or has ended."""
    with contextlib.suppress(OSError):
        status = dict(line.split(":\t", 1) for line in process.joinpath("status").read_text().splitlines())
        return bool((int(status["SigBlk"], 16) | int(status["SigIgn"], 16)) >> (signal.SIGINT - 1) & 1)
    return True


def kill_at_a_random_moment(starter: Starter, folder: Path, executor: str, moment: float) -> None:
    """Begin the sweep, wait for a record of it and some time, and kill it; its workers end as well."""
    before = len(files(folder))
    process = starter.begin(*sweep(folder, executor))
    while len(files(folder)) == before and running(Path(f"/proc/{process}")):
        time.sleep(0.01)
    time.sleep(moment)
    workers = children(process)
    # On a fast machine the sweep may have come to its end by then.
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    starter.wait()
    wait_for_the_end_of(workers)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    folder = tmp_path_factory.mktemp("killed")
    (folder / "grid.toml").write_text(GRID)
    return folder, outcomes(list(Serial().run(read_grid(folder / "grid.toml"))))


def test_a_sweep_that_is_killed_goes_on(starter: Starter, undisturbed: tuple[Path, dict[str, object]]) -> None:
    folder, expected = undisturbed
    moments = random.Random(0)
    seen: dict[str, int] = {}
    for number in range(KILLS):
        kill_at_a_random_moment(starter, folder, "serial" if number % 3 else "processes", moments.uniform(0, 0.3))
        now = files(folder)
        assert seen.items() <= now.items(), "a finished run was run again"
        assert all(record.error is None for record in read_records(folder / "results"))
        seen = now
    assert seen
    starter.begin(*sweep(folder, "serial"))
    assert starter.wait() == 0
    assert seen.items() <= files(folder).items(), "a finished run was run again"
    assert outcomes(read_records(folder / "results")) == expected
    assert sorted(path.name for path in (folder / "results").iterdir()) == sorted([".lock", *files(folder)])


@pytest.mark.parametrize("moment", ["while workers start", "after the first record"])
def test_ctrl_c_stops_cleanly_and_keeps_what_is_finished(
    moment: str, starter: Starter, undisturbed: tuple[Path, dict[str, object]]
) -> None:
    folder, expected = undisturbed
    for path in (folder / "results").glob("*.json"):
        path.unlink()
    said_before = len(starter.errors.read_text())
    process = starter.begin(*sweep(folder, "processes"))
    while not (spawned(process) if moment == "while workers start" else files(folder)):
        assert running(Path(f"/proc/{process}")), "the sweep has ended before it could be interrupted"
        time.sleep(0.01)
    workers = spawned(process)
    assert all(map(deaf, workers)), "a worker that hears Ctrl-C complains"
    # A terminal sends it to the workers as well.
    for each in [*(int(worker.name) for worker in workers), process]:
        os.kill(each, signal.SIGINT)
    assert starter.wait() == 130
    wait_for_the_end_of(workers)
    assert "Traceback" not in starter.errors.read_text()[said_before:]
    kept = outcomes(read_records(folder / "results"))
    assert kept.items() <= expected.items()
