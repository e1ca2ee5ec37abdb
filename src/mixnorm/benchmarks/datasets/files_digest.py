"""A hash of the content of many files, remembered as long as none of them was touched."""

import contextlib
import hashlib
import math
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from mixnorm.benchmarks.cache import data_dir
from mixnorm.files import write_whole

Place = tuple[str, int, int, int, int]
UNTOUCHED_FOR = 2.0  # seconds; a file changed later than that may change again under the same time stamp


def files_digest(root: Path, paths: Sequence[Path]) -> str:
    """Return a hash of the names below `root` and the bytes of `paths`, in their order.

    The answer is kept in the data folder under a key made of each file's place, size, inode and times of change; it is
    not kept when a file changed a moment ago or while it was being read. A file that cannot be read counts as such, so
    that a job that leaves it out has a hash as well.
    """
    key, last_change = _state(paths)
    answer = data_dir() / "digests" / key
    if answer.exists():
        return answer.read_text()
    digest = _digest(root, paths)
    if time.time() - last_change > UNTOUCHED_FOR and _state(paths)[0] == key:
        with contextlib.suppress(OSError):  # a data folder that cannot be written costs time, not the answer
            answer.parent.mkdir(parents=True, exist_ok=True)
            write_whole(answer, digest.encode())
    return digest


def _state(paths: Sequence[Path]) -> tuple[str, float]:
    digest, last_change = hashlib.sha256(), 0.0
    for path in paths:
        try:
            place, changed = _place(path)
        except OSError:
            last_change = math.inf
            continue
        digest.update(repr(place).encode())
        last_change = max(last_change, changed)
    return digest.hexdigest(), last_change


def _place(path: Path) -> tuple[Place, float]:
    """Return what tells a file from itself after a change, and when it last changed."""
    stat = path.stat()
    place = (str(path.absolute()), stat.st_size, stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns)
    return place, max(stat.st_ctime, stat.st_mtime)


def _digest(root: Path, paths: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.relative_to(root).as_posix()} {_content(path)}\n".encode())
    return digest.hexdigest()


def _content(path: Path) -> str:
    try:
        place, changed = _place(path)
        return _known_content(place) if time.time() - changed > UNTOUCHED_FOR else _content_at(path)
    except OSError:
        return "unreadable"


@lru_cache(maxsize=2**17)  # a job asks for all files but one more each time it meets a bad one
def _known_content(place: Place) -> str:
    return _content_at(Path(place[0]))


def _content_at(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
