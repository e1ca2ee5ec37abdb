"""Ctrl-C waits until the work that must not be torn apart is done."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from mixnorm.processes import interrupts_held


@pytest.fixture(params=[False, True], ids=["alone", "beside another thread"])
def heard(request: pytest.FixtureRequest) -> Iterator[None]:
    """Make Ctrl-C an exception, as in a program of its own, with or without a thread that may take the signal."""
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    if request.param:
        thread.start()
    yield
    done.set()
    if request.param:
        thread.join()
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
def test_it_is_raised_when_the_moment_is_over() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        with interrupts_held():
            os.kill(os.getpid(), signal.SIGINT)
            steps.append("went on")
        steps.append("not reached")
    assert steps == ["went on"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("heard")
def test_a_process_started_meanwhile_never_hears_it() -> None:
    code = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    with interrupts_held():
        held = subprocess.check_output([sys.executable, "-c", code])
    assert held == b"True\n"
    assert subprocess.check_output([sys.executable, "-c", code]) == b"False\n"
