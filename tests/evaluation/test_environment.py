import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from mixnorm.evaluation import environment
from mixnorm.evaluation.environment import commit, hardware, library_versions


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    commit.cache_clear()
    return monkeypatch


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    done = subprocess.run(["git", "-C", folder, *identity, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_the_commit_is_that_of_the_source(fresh: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = tmp_path / "package" / "environment.py"
    source.parent.mkdir()
    source.write_text("first")
    git(tmp_path, "init", "--quiet")
    fresh.setattr(environment, "__file__", str(source))
    assert commit() is None, "the file is not tracked"
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "a")
    commit.cache_clear()
    assert commit() == git(tmp_path, "rev-parse", "HEAD")
    source.write_text("second")
    commit.cache_clear()
    assert commit() == git(tmp_path, "rev-parse", "HEAD") + "-dirty"
    commit.cache_clear()


def test_without_git_there_is_no_commit(fresh: pytest.MonkeyPatch) -> None:
    fresh.setattr(shutil, "which", lambda _: None)
    assert commit() is None
    commit.cache_clear()


def test_versions_and_hardware() -> None:
    assert library_versions()["torch"] == torch.__version__
    described = hardware(torch.device("cpu"))
    assert described["cores"] >= 1
    assert described["gpu"] is None
