from pathlib import Path

import platformdirs
import pytest

from mixnorm.benchmarks.cache import data_dir, write_whole


def test_the_environment_decides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MIXNORM_DATA", str(tmp_path / "own"))
    assert data_dir() == tmp_path / "own"
    monkeypatch.setenv("MIXNORM_DATA", "~/own")
    assert data_dir() == Path.home() / "own"


def test_otherwise_it_is_the_platforms_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MIXNORM_DATA")
    assert data_dir() == Path(platformdirs.user_cache_dir("mixnorm", appauthor=False))


def test_a_file_is_written_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    target = tmp_path / "new" / "file"
    write_whole(target, b"first")

    def fail(*_: object) -> None:
        raise OSError("no")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no"):
        write_whole(target, b"second")
    assert target.read_bytes() == b"first"
    assert list(target.parent.iterdir()) == [target]
