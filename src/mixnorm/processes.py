"""Processes and those that start them: when they end, and who hears Ctrl-C."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


def end_with_parent() -> None:
    """Let this process end, in the middle of its work, as soon as the one that started it is gone.

    Whoever kills a program thus stops all of it, and nothing goes on writing into a folder that somebody else may take
    next. What such a process writes must appear whole or not at all.
    """
    threading.Thread(target=_wait_for_the_end, daemon=True).start()


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back for a moment, and for good from processes that are started meanwhile.

    A terminal sends it to all of them.
    """
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


def _wait_for_the_end() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
