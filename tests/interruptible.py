"""Starting a program that Ctrl-C can interrupt, however the tests themselves were started, and watching it end."""

import contextlib
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def start(command: Sequence[str], **options: Any) -> "subprocess.Popen[bytes]":
    """Start a program that hears SIGINT: what a shell runs in the background ignores it, and hands that on."""
    return subprocess.Popen(command, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **options)


def children(pid: int) -> list[Path]:
    """Find the processes that a process has started, where the system tells."""
    with contextlib.suppress(OSError):
        return [Path("/proc") / child for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def wait_for_the_end_of(processes: Sequence[Path]) -> None:
    """Wait until no process of those that were found runs any more."""
    until = time.monotonic() + 60
    while any(running(process) for process in processes):
        assert time.monotonic() < until, "a worker outlived the process that started it"
        time.sleep(0.01)


def running(process: Path) -> bool:
    """Whether a process that was found still runs."""
    with contextlib.suppress(OSError):
        return process.joinpath("stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
