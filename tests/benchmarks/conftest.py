"""A data folder of its own for each test, and an HTTP server on loopback that misbehaves on demand."""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def data_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point MIXNORM_DATA at an empty folder, so that no test sees or changes the user's own."""
    folder = tmp_path_factory.mktemp("data")
    monkeypatch.setenv("MIXNORM_DATA", str(folder))
    return folder


class FileServer(ThreadingHTTPServer):
    """Serves `files` by path; `cuts` says after how many bytes each of the next answers breaks off."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.redirects: dict[str, str] = {}
        self.cuts: list[int] = []
        self.statuses: list[int] = []
        self.ranges = True
        self.shift = 0
        """How far from the byte asked for a part begins."""
        self.version: str | None = None
        self.pause = 0.0
        self.sends_length = True
        self.asked: list[str | None] = []

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"


class _Handler(BaseHTTPRequestHandler):
    server: FileServer

    def do_GET(self) -> None:
        self.server.asked.append(self.headers.get("Range"))
        time.sleep(self.server.pause)
        path = self.path.lstrip("/")
        if self.server.statuses:
            self.send_error(self.server.statuses.pop(0))
        elif path in self.server.redirects:
            self.send_response(302)
            self.send_header("Location", self.server.redirects[path])
            self.end_headers()
        elif path in self.server.files:
            self._send(self.server.files[path])
        else:
            self.send_error(404)

    def _send(self, content: bytes) -> None:
        asked = self.headers.get("Range") if self.server.ranges else None
        if self.headers.get("If-Range", self.server.version) != self.server.version:
            asked = None
        start = int(asked.removeprefix("bytes=").removesuffix("-")) + self.server.shift if asked else 0
        if start >= len(content) > 0 and asked:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(content)}")
            self.end_headers()
            return
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if self.server.version:
            self.send_header("ETag", self.server.version)
        if self.server.sends_length:
            self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        stop = start + self.server.cuts.pop(0) if self.server.cuts else len(content)
        self.wfile.write(content[start:stop])

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[FileServer]:
    """Run a file server for one test."""
    running = FileServer()
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    running.shutdown()
    running.server_close()
    thread.join()
