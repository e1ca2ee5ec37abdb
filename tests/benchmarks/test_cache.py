from pathlib import Path

import platformdirs
import pytest

from mixnorm.benchmarks.cache import data_dir


def test_the_environment_decides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MIXNORM_DATA", str(tmp_path / "own"))
    assert data_dir() == tmp_path / "own"
    monkeypatch.setenv("MIXNORM_DATA", "~/own")
    assert data_dir() == Path.home() / "own"


def test_otherwise_it_is_the_platforms_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MIXNORM_DATA")
    assert data_dir() == Path(platformdirs.user_cache_dir("mixnorm", appauthor=False))
