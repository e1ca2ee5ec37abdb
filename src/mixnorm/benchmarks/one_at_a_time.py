"""Letting one process at a time fetch a file."""

import contextlib
from collections.abc import Iterator
from pathlib import Path


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
    with lock.open("w") as file:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)
