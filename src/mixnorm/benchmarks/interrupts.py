"""Ctrl-C and the processes that others start: a terminal sends it to all of them."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back for a moment, and for good from processes that are started meanwhile."""
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():
        yield
        return
    from multiprocessing import resource_tracker

    # Python starts its tracker with the first process, and then lets Ctrl-C through again.
    resource_tracker.ensure_running()
    # The mask is what a new process inherits. It holds for one thread; what another thread hears is kept for later.
    heard: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler or signal.SIG_DFL)
        if heard:
            signal.raise_signal(signal.SIGINT)
