import errno
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from mixnorm.benchmarks.archives import extract
from mixnorm.errors import DataError, DownloadError


def make_tar(path: Path, names: list[str], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.size = 3
            tar.addfile(entry, io.BytesIO(b"abc"))
    return path


def make_zip(path: Path, names: list[str]) -> Path:
    with zipfile.ZipFile(path, "w") as zipped:
        for name in names:
            zipped.writestr(name, b"abc")
    return path


def contents(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_tar_gz_and_zip_are_unpacked(tmp_path: Path) -> None:
    extract(make_tar(tmp_path / "a.tar", ["set/1.txt", "set/deep/2.txt"]), tmp_path / "a")
    extract(make_tar(tmp_path / "b.tar.gz", ["set/1.txt"], "w:gz"), tmp_path / "b")
    extract(make_zip(tmp_path / "c.zip", ["set/1.txt"]), tmp_path / "c")
    assert contents(tmp_path / "a") == {"set/1.txt", "set/deep/2.txt"}
    assert contents(tmp_path / "b") == contents(tmp_path / "c") == {"set/1.txt"}


def test_several_archives_share_a_folder_and_what_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "out" / "fog").mkdir(parents=True)
    (tmp_path / "out" / "fog" / "kept").touch()
    extract(make_tar(tmp_path / "a.tar", ["fog/1", "snow/1"]), tmp_path / "out")
    assert contents(tmp_path / "out") == {"fog/kept", "snow/1"}


@pytest.mark.parametrize("name", ["../escaped", "/escaped", "a/../../escaped"])
def test_nothing_is_written_outside(tmp_path: Path, name: str) -> None:
    out = tmp_path / "deep" / "out"
    with pytest.raises(DataError, match="leads out"):
        extract(make_zip(tmp_path / "evil.zip", ["good", name]), out)
    archive = make_tar(tmp_path / "evil.tar", ["good", name])
    if name.startswith("/"):
        extract(archive, out)  # taken as relative, as tar itself does
        assert contents(out) == {"good", "escaped"}
    else:
        with pytest.raises(DataError, match="outside the destination"):
            extract(archive, out)
        assert contents(out) == set()
    assert not list(tmp_path.rglob("escaped")) or name.startswith("/")


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "evil.tar", "w") as tar:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        tar.addfile(link)
    with pytest.raises(DataError, match="cannot be unpacked"):
        extract(tmp_path / "evil.tar", tmp_path / "out")


def test_a_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    archive = make_tar(tmp_path / "a.tar", ["set/1"])
    monkeypatch.setattr(tarfile.TarFile, "makefile", full)
    with pytest.raises(DownloadError, match=r"a\.tar could not be unpacked in .*No space left"):
        extract(archive, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("name", ["cut.tar", "cut.zip", "cut.tar.gz"])
def test_a_broken_archive_leaves_nothing(tmp_path: Path, name: str) -> None:
    names = [f"set/{number}" for number in range(50)]
    maker = make_zip if name.endswith("zip") else make_tar
    whole = maker(tmp_path / "whole", names) if not name.endswith("gz") else make_tar(tmp_path / "whole", names, "w:gz")
    (tmp_path / name).write_bytes(whole.read_bytes()[: whole.stat().st_size // 3 - 100])
    with pytest.raises(DataError, match=f"{name} cannot be unpacked.*download it again"):
        extract(tmp_path / name, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_an_archive_that_wants_a_password_is_said(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "locked.zip", ["a"])
    content = bytearray(path.read_bytes())
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(header) + flags] |= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"locked\.zip cannot be unpacked: .*encrypted"):
        extract(path, tmp_path / "out")


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    with pytest.raises(DownloadError, match=r"a\.tar could not be unpacked in .*out"):
        extract(make_tar(tmp_path / "a.tar", ["a"]), tmp_path / "out")


def test_another_process_that_was_quicker_is_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = Path.rename

    def after_the_other(entry: Path, place: Path) -> Path:
        place.mkdir()
        (place / "1").write_text("of the other")
        return rename(entry, place)

    monkeypatch.setattr(Path, "rename", after_the_other)
    extract(make_tar(tmp_path / "a.tar", ["fog/1"]), tmp_path / "out")
    assert contents(tmp_path / "out") == {"fog/1"}
    assert (tmp_path / "out" / "fog" / "1").read_text() == "of the other"
