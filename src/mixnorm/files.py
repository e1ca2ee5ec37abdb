"""Files that appear whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mixnorm.errors import MissingDataError, MixNormError


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give a file beside `path` to write, and move it there if nothing goes wrong; else leave no trace of it."""
    if not path.parent.is_dir():
        raise MissingDataError(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}; make it first")
    if path.is_dir():
        raise MixNormError(f"cannot write {str(path)!r}: it is a folder; name a file in it")
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        yield part
        part.replace(path)
    except OSError as error:
        # What failed was a write to the part, which is gone; who reads of it knows the file that was asked for.
        error.filename = str(path)
        raise
    finally:
        part.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that others see all of it or nothing, even if the machine stops in the middle."""
    with written_whole(path) as part, part.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold a folder: only one process at a time works in it. The system releases it however the process ends."""
    with (folder / ".lock").open("w") as lock:
        _take(lock.fileno(), folder)
        yield


def _take(lock: int, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: nothing keeps two sweeps apart
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise MixNormError(f"another process is working in {folder}; wait for it, or name another folder") from error
