"""Letting one process at a time fetch a file."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Wait until no other process or thread holds the lock of `path`, and hold it for the length of the block.

    Where the system or the file system has no such locks the block runs without one.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    lock = path.with_name(f".{path.name}.lock")
    file = lock.open("w")
    with contextlib.suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_EX)
        # Who held it has taken the file away, and someone may hold a new one of the same name: wait for that one.
        while not _is(file, lock):
            file.close()
            file = lock.open("w")
            fcntl.flock(file, fcntl.LOCK_EX)
    with file:
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


def _is(file: IO[str], path: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    return False
