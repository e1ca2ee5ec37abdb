"""Sweeps that are killed at random moments, for real: nothing is lost, nothing is run twice."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mixnorm.evaluation import read_records
from mixnorm.sweeps import Serial, read_grid
from tests.interruptible import children, start, wait_for_the_end_of
from tests.sweeps.runs import outcomes

GRID = """
[base]
model = "digits"
data = {name = "digits-c", limit = 16, corruptions = ["fog", "contrast"]}
protocol = {batch_size = 1}
[axes]
method = ["Tent", "MixNorm:m=0.2", "MixNormBN"]
seed = [0, 1, 2, 3]
"""
KILLS = 5


def begin(folder: Path, executor: str) -> subprocess.Popen[bytes]:
    arguments = ["-o", str(folder / "results"), "--grid", str(folder / "grid.toml"), "--executor", executor]
    command = [sys.executable, "-m", "mixnorm.cli", "sweep", *arguments, "--workers", "2"]
    return start(command, stderr=subprocess.DEVNULL)


def files(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("results/*.json")}


def kill_at_a_random_moment(folder: Path, executor: str, moment: float) -> None:
    """Begin the sweep, wait for a record of it and some time, and kill it; its workers end as well."""
    before = len(files(folder))
    process = begin(folder, executor)
    while len(files(folder)) == before and process.poll() is None:
        time.sleep(0.01)
    time.sleep(moment)
    workers = children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_for_the_end_of(workers)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    folder = tmp_path_factory.mktemp("killed")
    (folder / "grid.toml").write_text(GRID)
    return folder, outcomes(list(Serial().run(read_grid(folder / "grid.toml"))))


def test_a_sweep_that_is_killed_goes_on(undisturbed: tuple[Path, dict[str, object]]) -> None:
    folder, expected = undisturbed
    moments = random.Random(0)
    seen: dict[str, int] = {}
    for number in range(KILLS):
        kill_at_a_random_moment(folder, "serial" if number % 3 else "processes", moments.uniform(0, 0.3))
        now = files(folder)
        assert seen.items() <= now.items(), "a finished run was run again"
        assert all(record.error is None for record in read_records(folder / "results"))
        seen = now
    assert seen
    assert begin(folder, "serial").wait() == 0
    assert seen.items() <= files(folder).items(), "a finished run was run again"
    assert outcomes(read_records(folder / "results")) == expected
    assert sorted(path.name for path in (folder / "results").iterdir()) == sorted([".lock", *files(folder)])


def test_ctrl_c_stops_cleanly_and_keeps_what_is_finished(undisturbed: tuple[Path, dict[str, object]]) -> None:
    folder, expected = undisturbed
    for path in (folder / "results").glob("*.json"):
        path.unlink()
    process = begin(folder, "processes")
    while not files(folder):
        time.sleep(0.01)
    workers = children(process.pid)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    wait_for_the_end_of(workers)
    kept = outcomes(read_records(folder / "results"))
    assert kept.items() <= expected.items()
