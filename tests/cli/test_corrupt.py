import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mixnorm.cli import corrupt, main
from tests.benchmarks.corrupted_copies.sources import contents, image_folder, npz_file
from tests.interruptible import start
from tests.real import PROJECT


def test_a_command_makes_the_copies_and_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = npz_file(tmp_path / "mine.npz"), tmp_path / "out"
    assert main(["corrupt", str(source), str(output), "--corruptions", "fog", "--workers", "1"]) == 0
    assert f"{output}: made" in capsys.readouterr().out
    assert np.load(output / "fog.npy").shape == (50, 32, 32, 3)


def test_a_damaged_image_is_reported_at_the_end_with_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = image_folder(tmp_path / "in", side=64)
    damaged = source / "cat" / "1.png"
    damaged.write_bytes(damaged.read_bytes()[:2000])
    options = ["--corruptions", "contrast", "--severities", "2", "--workers", "1"]
    assert main(["corrupt", str(source), str(tmp_path / "out"), *options]) == 1
    captured = capsys.readouterr()
    assert f"left out: {damaged} cannot be read as an image" in captured.err
    assert "1 images failed" in captured.out
    assert len(list((tmp_path / "out" / "contrast" / "2").rglob("*.*"))) == 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["digts", "out"], "error: unknown data set 'digts'; did you mean 'digits'?"),
        (["no/such/folder", "out"], "error: there is nothing at no/such/folder"),
        (["digits", "out", "--corruptions", "fogg"], "error: unknown corruption 'fogg'; did you mean 'fog'?"),
        (["digits", "out", "--workers", "0"], "error: workers must be a whole number of at least 1, not 0"),
    ],
)
def test_mistakes_are_errors_of_one_line_with_exit_code_2(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["corrupt", *arguments]) == 2
    assert capsys.readouterr().err.startswith(message)
    assert not (tmp_path / "out").exists()


def test_an_interrupt_ends_with_exit_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(corrupt, "run", interrupted)
    assert main(["corrupt", "digits", "out"]) == 130


def test_help_teaches_by_example(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, expected in ((["--help"], "corrupt"), (["corrupt", "--help"], "mixnorm corrupt digits digits-c")):
        with pytest.raises(SystemExit, match="0"):
            main(arguments)
        assert expected in capsys.readouterr().out


def test_ctrl_c_while_workers_run_leaves_only_whole_files(tmp_path: Path) -> None:
    source, output = npz_file(tmp_path / "mine.npz", count=3000), tmp_path / "out"
    command = [sys.executable, "-m", "mixnorm.cli", "corrupt", str(source), str(output), "--workers", "2"]
    process = start(command, cwd=PROJECT, stderr=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 600
    while not any(output.glob("*_noise.npy")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert b"Traceback" not in errors
    names = set(contents(output))
    assert "gaussian_noise.npy" in names
    assert not [name for name in names if name.endswith(".part")]
    assert all(len(np.load(path, mmap_mode="r")) == 15000 for path in output.glob("*.npy"))
