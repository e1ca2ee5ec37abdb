import os
import time
from pathlib import Path

import pytest

from mixnorm.benchmarks.datasets import files_digest as module
from mixnorm.benchmarks.datasets.files_digest import files_digest


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    for name in "ab":
        (tmp_path / name).write_bytes(name.encode() * 10)
    return [tmp_path / "a", tmp_path / "b"]


def pretend_time_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    later = time.time() + 60
    monkeypatch.setattr(time, "time", lambda: later)


def count_digests(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    calls: list[int] = []
    digest = module._digest

    def counted(root: Path, paths: list[Path]) -> str:
        calls.append(1)
        return digest(root, paths)

    monkeypatch.setattr(module, "_digest", counted)
    return calls


def test_names_and_bytes_and_order_count(tmp_path: Path, paths: list[Path]) -> None:
    first = files_digest(tmp_path, paths)
    assert files_digest(tmp_path, paths[::-1]) != first
    assert files_digest(tmp_path, paths[:1]) != first
    paths[0].write_bytes(b"c" * 10)
    assert files_digest(tmp_path, paths) != first


def test_the_answer_is_remembered(tmp_path: Path, paths: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count_digests(monkeypatch)
    pretend_time_passed(monkeypatch)
    assert files_digest(tmp_path, paths) == files_digest(tmp_path, paths)
    assert len(calls) == 1


def test_a_touched_file_is_read_again_even_when_its_time_is_put_back(
    tmp_path: Path, paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_time_passed(monkeypatch)
    before, stat = files_digest(tmp_path, paths), paths[0].stat()
    time.sleep(0.02)
    paths[0].write_bytes(b"z" * 10)
    os.utime(paths[0], ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert files_digest(tmp_path, paths) != before


def test_a_data_folder_that_cannot_be_written_costs_nothing_but_time(
    tmp_path: Path, paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_time_passed(monkeypatch)
    (tmp_path / "file").touch()
    monkeypatch.setenv("MIXNORM_DATA", str(tmp_path / "file"))
    assert files_digest(tmp_path, paths) == files_digest(tmp_path, paths)


def test_a_file_of_just_now_is_not_remembered(tmp_path: Path, paths: list[Path], data_folder: Path) -> None:
    files_digest(tmp_path, paths)
    assert not (data_folder / "digests").exists()


def test_files_asked_for_again_beside_others_are_not_read_again(
    tmp_path: Path, paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_time_passed(monkeypatch)
    files_digest(tmp_path, paths)
    read: list[Path] = []

    def reading(path: Path) -> str:
        read.append(path)
        return "read again"

    monkeypatch.setattr(module, "_content_at", reading)
    fewer = files_digest(tmp_path, paths[1:])
    assert read == []
    paths[1].write_bytes(b"d" * 10)
    assert files_digest(tmp_path, paths[1:]) != fewer
    assert read == paths[1:]
