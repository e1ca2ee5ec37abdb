import errno
import hashlib
import http.client
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import pytest

from mixnorm.benchmarks import download as module
from mixnorm.benchmarks import fetch_part
from mixnorm.benchmarks.download import download
from mixnorm.errors import ChecksumError, DownloadError, SettingError
from tests.benchmarks.conftest import FileServer

CONTENT = bytes(range(256)) * 4096  # 1 MiB
SHA256 = hashlib.sha256(CONTENT).hexdigest()
MD5 = hashlib.md5(CONTENT).hexdigest()
HALF = len(CONTENT) // 2


@pytest.fixture
def url(server: FileServer) -> str:
    server.files["file.bin"] = CONTENT
    return server.url("file.bin")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "new" / "file.bin"


def part_of(target: Path) -> Path:
    return target.with_name("file.bin.part")


@pytest.mark.parametrize("checks", [{}, {"sha256": SHA256}, {"md5": MD5.upper(), "size": len(CONTENT)}])
def test_a_file_arrives_whole(url: str, target: Path, checks: dict[str, str]) -> None:
    assert download(url, target, quiet=True, **checks) == target  # type: ignore[arg-type]
    assert target.read_bytes() == CONTENT
    assert not part_of(target).exists()


def test_an_empty_file_arrives(server: FileServer, target: Path) -> None:
    server.files["empty"] = b""
    assert download(server.url("empty"), target, quiet=True).read_bytes() == b""


def test_a_file_that_is_there_is_verified_and_not_fetched(server: FileServer, url: str, target: Path) -> None:
    download(url, target, sha256=SHA256, quiet=True)
    download(url, target, sha256=SHA256, quiet=True)
    assert len(server.asked) == 1
    target.write_bytes(b"other")
    with pytest.raises(ChecksumError, match="5 bytes, not the published 1,048,576"):
        download(url, target, size=len(CONTENT), quiet=True)


def test_a_wrong_checksum_leaves_nothing_behind(url: str, target: Path) -> None:
    with pytest.raises(ChecksumError, match=f"has the md5 {MD5}, not the published {'0' * 32}.*deleted"):
        download(url, target, md5="0" * 32, quiet=True)
    assert not target.exists()
    assert not part_of(target).exists()


def test_a_wrong_size_is_refused(url: str, target: Path) -> None:
    with pytest.raises(ChecksumError, match="1,048,576 bytes, not the published 7"):
        download(url, target, size=7, quiet=True)


def test_a_cut_connection_is_resumed_in_the_same_call(server: FileServer, url: str, target: Path) -> None:
    server.cuts = [HALF, HALF // 2]
    download(url, target, sha256=SHA256, quiet=True, pauses=[0])
    assert target.read_bytes() == CONTENT
    assert server.asked == [None, f"bytes={HALF}-", f"bytes={HALF + HALF // 2}-"]


def test_a_cut_connection_is_resumed_in_the_next_call(server: FileServer, url: str, target: Path) -> None:
    server.cuts = [HALF]
    with pytest.raises(DownloadError, match=r"524,288 bytes are kept .* call again to go on"):
        download(url, target, sha256=SHA256, quiet=True, pauses=[])
    assert not target.exists()
    download(url, target, sha256=SHA256, quiet=True)
    assert target.read_bytes() == CONTENT
    assert server.asked == [None, f"bytes={HALF}-"]


def test_retries_end_when_nothing_moves(server: FileServer, url: str, target: Path) -> None:
    server.cuts = [0] * 9
    with pytest.raises(DownloadError, match="cut after 0 of 1,048,576 bytes"):
        download(url, target, quiet=True, pauses=[0, 0])
    assert len(server.asked) == 3


def test_a_server_without_ranges_starts_anew(server: FileServer, url: str, target: Path) -> None:
    server.ranges = False
    server.cuts = [HALF]
    download(url, target, sha256=SHA256, quiet=True, pauses=[0])
    assert target.read_bytes() == CONTENT


def test_a_file_that_changes_between_two_parts_is_fetched_anew(server: FileServer, url: str, target: Path) -> None:
    """Without a checksum nothing else would tell that the halves are of two files."""
    server.cuts = [HALF]
    server.version = '"one"'

    def change(done: int, total: int | None) -> None:
        if done == HALF:
            server.files["file.bin"], server.version = CONTENT[::-1], '"two"'

    target.parent.mkdir()
    module._fetch_with_retries(fetch_part.Source(url), part_of(target), None, [0], change)
    assert part_of(target).read_bytes() == CONTENT[::-1]


@pytest.mark.parametrize("shift", [-100, 100])
def test_a_part_that_begins_elsewhere_is_not_appended(server: FileServer, url: str, target: Path, shift: int) -> None:
    server.cuts = [HALF]
    server.shift = shift
    assert download(url, target, quiet=True, pauses=[0, 0]).read_bytes() == CONTENT
    assert server.asked == [None, f"bytes={HALF}-", None]


@pytest.mark.parametrize("checks", [{}, {"sha256": SHA256}])
@pytest.mark.parametrize("page", [b"<!doctype html><p>Log in", b"\xef\xbb\xbf\r\n <HTML>", b"<?xml version='1.0'?>"])
def test_a_web_page_in_place_of_the_file_is_refused(
    server: FileServer, target: Path, page: bytes, checks: dict[str, str]
) -> None:
    server.files["file.bin"] = page
    with pytest.raises(DownloadError, match=r"sent a web page in place of the file.*deleted"):
        download(server.url("file.bin"), target, quiet=True, **checks)  # type: ignore[arg-type]
    assert list(target.parent.iterdir()) == []


def test_a_server_that_does_not_state_lengths_is_verified_by_checksum(
    server: FileServer, url: str, target: Path
) -> None:
    server.sends_length = False
    server.cuts = [HALF]
    with pytest.raises(ChecksumError):
        download(url, target, sha256=SHA256, quiet=True)
    assert download(url, target, sha256=SHA256, quiet=True).read_bytes() == CONTENT


def test_without_a_checksum_a_part_of_an_earlier_call_is_not_trusted(
    server: FileServer, url: str, target: Path
) -> None:
    target.parent.mkdir()
    part_of(target).write_bytes(b"of another file")
    download(url, target, quiet=True)
    assert target.read_bytes() == CONTENT
    assert server.asked == [None]


def test_a_part_that_is_complete_is_taken(server: FileServer, url: str, target: Path) -> None:
    target.parent.mkdir()
    part_of(target).write_bytes(CONTENT)
    download(url, target, sha256=SHA256, quiet=True)
    assert server.asked == [f"bytes={len(CONTENT)}-"]
    target.rename(part_of(target))
    download(url, target, sha256=SHA256, size=len(CONTENT), quiet=True)
    assert len(server.asked) == 1
    assert target.read_bytes() == CONTENT


def test_a_part_that_is_too_long_is_fetched_again(url: str, target: Path) -> None:
    target.parent.mkdir()
    part_of(target).write_bytes(CONTENT + b"more")
    assert download(url, target, sha256=SHA256, quiet=True).read_bytes() == CONTENT


def test_what_is_not_there_is_not_asked_for_again(server: FileServer, target: Path) -> None:
    with pytest.raises(DownloadError, match=r"nothing.bin: HTTP Error 404.* whether the file has moved") as caught:
        download(server.url("nothing.bin"), target, quiet=True)
    assert "call again" not in str(caught.value)
    assert len(server.asked) == 1


def test_a_busy_server_is_asked_again(server: FileServer, url: str, target: Path) -> None:
    server.statuses = [503, 429]
    assert download(url, target, quiet=True, pauses=[0, 0]).read_bytes() == CONTENT


def test_several_at_once_fetch_it_once(server: FileServer, url: str, target: Path) -> None:
    server.pause = 0.1
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(download, url, target, sha256=SHA256, quiet=True) for _ in range(4)]
    assert [call.result().read_bytes() == CONTENT for call in calls] == [True] * 4
    assert len(server.asked) == 1
    assert [path.name for path in target.parent.iterdir()] == ["file.bin"]


def test_a_folder_that_cannot_be_made_is_said(url: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DownloadError, match="choose another folder"):
        download(url, tmp_path / "file" / "file.bin", sha256=SHA256, quiet=True)


def test_no_server(server: FileServer, target: Path) -> None:
    with pytest.raises(DownloadError, match="refused"):
        download("http://127.0.0.1:1/file.bin", target, quiet=True, pauses=[0])


class FailingFile:
    """Writes until `room` bytes are used up, then raises."""

    def __init__(self, file: IO[bytes], room: int, error: BaseException) -> None:
        self.file, self.room, self.error = file, room, error

    def __enter__(self) -> "FailingFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def write(self, chunk: bytes) -> int:
        if self.room < len(chunk):
            raise self.error
        self.room -= len(chunk)
        return self.file.write(chunk)


def fail_after(monkeypatch: pytest.MonkeyPatch, room: int, error: BaseException) -> None:
    open_path = Path.open

    def opened(path: Path, mode: str = "r", **settings: object) -> object:
        file = open_path(path, mode, **settings)  # type: ignore[call-overload]
        return FailingFile(file, room, error) if path.suffix == ".part" and mode in ("ab", "wb") else file

    monkeypatch.setattr(Path, "open", opened)


def test_a_full_disk_is_said_and_the_download_goes_on_later(url: str, target: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        fail_after(patch, HALF, OSError(errno.ENOSPC, "No space left on device"))
        with pytest.raises(DownloadError, match=r"No space left on device.*free some space"):
            download(url, target, sha256=SHA256, quiet=True)
    assert not target.exists()
    assert part_of(target).stat().st_size == HALF
    assert download(url, target, sha256=SHA256, quiet=True).read_bytes() == CONTENT


def test_a_disk_without_room_is_not_filled(url: str, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=HALF))
    with pytest.raises(
        DownloadError, match=r"No space left.* 1,048,576 bytes are to come, 524,288 are free.*MIXNORM_DATA"
    ):
        download(url, target, sha256=SHA256, quiet=True)
    assert list(target.parent.iterdir()) == []


def test_a_network_that_goes_away_does_not_pass_for_a_disk(
    url: str, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: object) -> bytes:
        raise OSError(errno.ENETUNREACH, "Network is unreachable")

    monkeypatch.setattr(http.client.HTTPResponse, "read", unreachable)
    with pytest.raises(DownloadError, match=r"could not download .*Network is unreachable.*call again to go on"):
        download(url, target, sha256=SHA256, quiet=True, pauses=[0])


def test_a_folder_in_the_place_of_the_file_is_said(url: str, target: Path) -> None:
    target.mkdir(parents=True)
    with pytest.raises(DownloadError, match=r"could not write .*directory"):
        download(url, target, sha256=SHA256, quiet=True)


def test_an_interrupted_download_goes_on(server: FileServer, url: str, target: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        fail_after(patch, HALF, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            download(url, target, sha256=SHA256, quiet=True)
    download(url, target, sha256=SHA256, quiet=True)
    assert target.read_bytes() == CONTENT
    assert server.asked == [None, f"bytes={HALF}-"]


@pytest.mark.parametrize("address", ["http://example.org/file", "file:///etc/hostname", "ftp://127.0.0.1/file"])
def test_only_https_is_fetched(address: str, target: Path) -> None:
    with pytest.raises(SettingError, match="is not an https"):
        download(address, target, quiet=True)


def test_a_redirect_is_followed_only_to_what_may_be_fetched(server: FileServer, url: str, target: Path) -> None:
    server.redirects = {"here": url, "away": "http://example.org/file.bin"}
    assert download(server.url("here"), target, quiet=True).read_bytes() == CONTENT
    with pytest.raises(DownloadError, match=r"/away leads to http://example\.org/file\.bin, which is not an https"):
        download(server.url("away"), target.with_name("other"), quiet=True)


def test_progress_is_shown_unless_quiet(
    url: str, target: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch_part, "CHUNK", 1000)
    download(url, target)
    shown = capsys.readouterr()
    assert "file.bin" in shown.err
    assert "1.0/1.0 MB" in shown.err
    download(url, target.with_name("again"), quiet=True)
    assert capsys.readouterr() == ("", "")
