"""Downloads that resume, are verified, and appear whole or not at all."""

import hashlib
import http.client
import ssl
import time
import urllib.error
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mixnorm.benchmarks.fetch_part import Source, fetch_part, may_be_fetched, size_of
from mixnorm.benchmarks.one_at_a_time import one_at_a_time
from mixnorm.errors import ChecksumError, DownloadError, SettingError, require

PAUSES = (1.0, 2.0, 4.0, 8.0)  # seconds
NETWORK_FAILURES = (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError)


def download(
    url: str,
    destination: Path,
    *,
    sha256: str | None = None,
    md5: str | None = None,
    size: int | None = None,
    quiet: bool = False,
    pauses: Sequence[float] = PAUSES,
) -> Path:
    """Download a file once, verify it, and return where it is.

    The bytes gather in `<destination>.part`, which is renamed when it is complete and verified; a cut or interrupted
    download goes on from there, in this call (after each of `pauses` seconds without progress) or in the next one.
    Without a checksum a later call starts afresh, because nothing could tell two versions of the file apart.
    A checksum is whole or its first digits, as published.
    """
    if not may_be_fetched(url):
        raise SettingError(f"{url!r} is not an https:// address, and only those are downloaded")
    if not destination.is_file():
        with _said_how_to_mend(destination), one_at_a_time(destination):
            if not destination.is_file():  # another process may have fetched it meanwhile
                part = destination.with_name(destination.name + ".part")
                if sha256 is None and md5 is None:
                    part.unlink(missing_ok=True)
                with _progress_bar(destination.name, quiet=quiet) as progress:
                    _fetch_with_retries(Source(url), part, size, pauses, progress)
                _verify_new(part, url, sha256=sha256, md5=md5, size=size)
                return part.replace(destination)
    verify(destination, sha256=sha256, md5=md5, size=size)
    return destination


def _verify_new(part: Path, url: str, *, sha256: str | None, md5: str | None, size: int | None) -> None:
    with part.open("rb") as file:
        start = file.read(64)
    if is_web_page(start):
        part.unlink()
        raise DownloadError(
            f"{url} sent a web page in place of the file: a login or warning page of the site, of a proxy or of the "
            "network; it was deleted. Open the address in a browser to see what it says"
        )
    try:
        verify(part, sha256=sha256, md5=md5, size=size)
    except ChecksumError as error:
        part.unlink()
        raise ChecksumError(f"{error}; it came from {url} and was deleted, download it again") from error


@contextmanager
def _said_how_to_mend(destination: Path) -> Iterator[None]:
    """Make the folder of a file, and turn what the disk refuses into an error that says what to do."""
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        yield
    except DownloadError:
        raise
    except OSError as error:
        raise DownloadError(
            f"could not write {destination}: {error}; free some space or choose another folder with MIXNORM_DATA, "
            f"then call again to go on"
        ) from error


def verify(path: Path, *, sha256: str | None = None, md5: str | None = None, size: int | None = None) -> None:
    """Raise `ChecksumError` unless a file has the stated size and checksums; what is None is not asked."""
    actual_size = path.stat().st_size
    if size is not None and actual_size != size:
        raise ChecksumError(f"{path} has {actual_size:,} bytes, not the published {size:,}")
    for algorithm, published in (("sha256", sha256), ("md5", md5)):
        if published is not None and not (actual := _digest(path, algorithm)).startswith(published.lower()):
            raise ChecksumError(f"{path} has the {algorithm} {actual}, not the published {published}")


def is_web_page(start: bytes) -> bool:
    """Whether a file that begins so is a page that a host or a proxy sent in place of a file.

    >>> is_web_page(b"<!DOCTYPE html>"), is_web_page(b"PK")
    (True, False)
    """
    return start.removeprefix(b"\xef\xbb\xbf").lstrip().lower().startswith((b"<!doctype", b"<html", b"<head", b"<?xml"))


def _digest(path: Path, algorithm: str) -> str:
    with path.open("rb") as file:
        # The checksums say whether the bytes are the published ones; md5 is what most hosts publish.
        return hashlib.file_digest(file, lambda: hashlib.new(algorithm, usedforsecurity=False)).hexdigest()


def _fetch_with_retries(
    source: Source, part: Path, size: int | None, pauses: Sequence[float], progress: Callable[[int, int | None], None]
) -> None:
    waits = list(pauses)
    while True:
        before = size_of(part)
        try:
            fetch_part(source, part, size, progress)
        except NETWORK_FAILURES as error:
            if size_of(part) > before:
                waits = list(pauses)
            if not _may_pass(error):
                raise DownloadError(
                    f"could not download {source.url}: {error}; open the address in a browser to see whether the file "
                    "has moved or asks for a login"
                ) from error
            if not waits:
                raise DownloadError(
                    f"could not download {source.url}: {error}; {size_of(part):,} bytes are kept in {part}, "
                    "call again to go on"
                ) from error
            time.sleep(waits.pop(0))
        else:
            return


def _may_pass(error: BaseException) -> bool:
    """Whether trying again may help: not after an answer that says the request itself is wrong."""
    return not isinstance(error, urllib.error.HTTPError) or error.code in (408, 429) or error.code >= 500


@contextmanager
def _progress_bar(name: str, *, quiet: bool) -> Iterator[Callable[[int, int | None], None]]:
    if quiet:
        yield lambda done, total: None
        return
    rich = require("rich.progress", "benchmarks")
    console = require("rich.console", "benchmarks").Console(stderr=True)
    columns = (rich.TextColumn("{task.description}"), rich.BarColumn(), rich.DownloadColumn())
    with rich.Progress(*columns, rich.TransferSpeedColumn(), rich.TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
