"""One request for what is missing of a file."""

import errno
import http.client
import re
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from mixnorm.errors import DownloadError

CHUNK = 1 << 18
TIMEOUT = 30.0  # seconds without a byte


def may_be_fetched(url: str) -> bool:
    """Whether an address is a secure one, or of this machine.

    >>> may_be_fetched("https://example.org/file"), may_be_fetched("http://example.org/file")
    (True, False)
    """
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme, parts.hostname) == ("http", "127.0.0.1")


@dataclass
class Source:
    """An address, and which version of the file it sent first: a later part must be of the same."""

    url: str
    version: str | None = None


def size_of(path: Path) -> int:
    """Return how many bytes a file has, none where there is no file."""
    return path.stat().st_size if path.exists() else 0


def fetch_part(source: Source, part: Path, size: int | None, progress: Callable[[int, int | None], None]) -> None:
    """Append what is missing of a file, or begin anew where the server does not send parts."""
    start = size_of(part)
    if size is not None and start == size:
        return
    try:
        response = _open(source, start)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and start:  # asked for bytes past the end: whole already, or not the same file
            if error.headers.get("Content-Range") != f"bytes */{start}":
                part.unlink()
                fetch_part(source, part, size, progress)
            return
        raise
    with response:
        start = _first_byte(response, part)
        total = None if response.length is None else start + response.length
        if start == 0:
            source.version = response.headers.get("ETag")
        _refuse_without_room(part, response.length)
        with part.open("ab" if start else "wb") as file:
            _copy(response, file, start, total, progress)
    if total is not None and size_of(part) < total:
        raise ConnectionResetError(f"the connection was cut after {size_of(part):,} of {total:,} bytes")


def _first_byte(response: http.client.HTTPResponse, part: Path) -> int:
    """Return the place in the file at which an answer begins: its start, or where the part ends."""
    if response.status != 206:
        return 0
    sent = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    if sent is None or int(sent[1]) not in (0, size_of(part)):
        part.unlink(missing_ok=True)
        raise ConnectionResetError("the server sent other bytes than were asked for")
    return int(sent[1])


def _refuse_without_room(part: Path, length: int | None) -> None:
    """Fail before the disk is full, which would harm other programs too."""
    if length is not None and length > (free := shutil.disk_usage(part.parent).free):
        raise OSError(errno.ENOSPC, f"No space left on device: {length:,} bytes are to come, {free:,} are free")


def _copy(
    response: http.client.HTTPResponse,
    file: IO[bytes],
    done: int,
    total: int | None,
    progress: Callable[[int, int | None], None],
) -> None:
    progress(done, total)
    while chunk := _read(response):
        file.write(chunk)
        done += len(chunk)
        progress(done, total)


def _read(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read(CHUNK)
    except OSError as error:  # an unreachable network is one, and must not pass for a disk that fails
        raise ConnectionResetError(str(error)) from error


def _open(source: Source, start: int) -> http.client.HTTPResponse:
    headers = {"User-Agent": "mixnorm", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
        if source.version and not source.version.startswith("W/"):
            headers["If-Range"] = source.version
    request = urllib.request.Request(source.url, headers=headers)  # noqa: S310 - may_be_fetched allows https only
    response: http.client.HTTPResponse = urllib.request.build_opener(_SafeRedirects).open(request, timeout=TIMEOUT)
    return response


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect only to an address that could have been asked for itself."""

    def redirect_request(  # noqa: PLR0917 - the signature of the standard library
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> urllib.request.Request | None:
        if not may_be_fetched(newurl):
            raise DownloadError(
                f"{req.full_url} leads to {newurl}, which is not an https:// address and is not followed: often the "
                "login page of a network or a proxy. Open the first address in a browser to see what it says"
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]
