"""Files that appear whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def part_of(path: Path) -> Path:
    """Name the file beside `path` in which its content gathers."""
    return path.with_name(f".{path.name}.part")


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give a file to write, and put it at `path` if nothing went wrong."""
    part = part_of(path)
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
