"""What processes owe to the one that started them."""

import multiprocessing
import os
import threading


def end_with_parent() -> None:
    """Let this process end, in the middle of its work, as soon as the one that started it is gone.

    Whoever kills a program thus stops all of it, and nothing goes on writing into a folder that somebody else may take
    next. What such a process writes must appear whole or not at all.
    """
    threading.Thread(target=_wait_for_the_end, daemon=True).start()


def _wait_for_the_end() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
