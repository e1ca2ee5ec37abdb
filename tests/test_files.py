import errno
import os
import stat
from pathlib import Path

import pytest

from mixnorm.errors import MissingDataError, MixNormError
from mixnorm.files import alone_in, write_whole, written_whole


def test_a_file_is_written_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    target = tmp_path / "file"
    write_whole(target, b"first")

    def fail(*_: object) -> None:
        raise OSError("no")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no"):
        write_whole(target, b"second")
    assert target.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [target]


def test_a_full_disk_names_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: .*state") as caught:
        write_whole(tmp_path / "state", b"new")
    assert caught.value.filename == str(tmp_path / "state")
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), written_whole(tmp_path / "file") as part:  # noqa: PT012
        part.write_bytes(b"half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_others_may_read_it_as_any_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    write_whole(tmp_path / "whole", b"")
    assert stat.S_IMODE((tmp_path / "whole").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"there is no folder .*; make it first"):
        write_whole(tmp_path / "no" / "file", b"")


def test_what_was_written_is_on_the_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    write_whole(tmp_path / "file", b"x")
    assert len(synced) == 1


def test_a_folder_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    with alone_in(tmp_path), pytest.raises(MixNormError, match="another process is working in"), alone_in(tmp_path):
        pass
    with alone_in(tmp_path):
        pass


def test_a_folder_is_no_file_to_write(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(MixNormError, match="folder': it is a folder; name a file in it"):
        write_whole(tmp_path / "folder", b"")
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]
