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
from tests.interruptible import children, start, wait_for_the_end_of
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
        (["digits", ""], "error: the output must be a name or a path, got ''"),
        (["", "out"], "error: the input must be a name or a path, got ''"),
        (["digits", "file/out"], "error: the output file/out cannot be made: "),
        (["digits", "out", "--workers", "0"], "error: workers must be a whole number of 1 or more, got 0"),
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
    (tmp_path / "file").touch()
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
    command = [sys.executable, "-m", "mixnorm", "corrupt", str(source), str(output), "--workers", "2"]
    process = start(command, cwd=PROJECT, stderr=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 600
    while not any(output.glob("*_noise.npy")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130, errors
    assert b"Traceback" not in errors
    names = set(contents(output))
    assert "gaussian_noise.npy" in names
    assert not [name for name in names if name.endswith(".part")]
    assert all(len(np.load(path, mmap_mode="r")) == 15000 for path in output.glob("*.npy"))


def corrupting(source: Path, output: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "mixnorm", "corrupt", str(source), str(output), "--workers", "2"]
    return start(command, cwd=PROJECT, stderr=subprocess.PIPE, start_new_session=True)


@pytest.mark.parametrize("moment", [0.0, 1.0])
def test_ctrl_c_while_workers_start_ends_it_soon(tmp_path: Path, moment: float) -> None:
    """Once the output is there workers are started, which takes them some seconds."""
    source, output = npz_file(tmp_path / "mine.npz", count=3000), tmp_path / "out"
    process = corrupting(source, output)
    deadline = time.monotonic() + 300
    while not (output / "corruptions.json").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(moment)
    workers = children(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130, errors
    assert b"Traceback" not in errors
    wait_for_the_end_of(workers)


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_the_process_that_started_them_and_the_run_can_go_on(tmp_path: Path, ending: int) -> None:
    source, output = image_folder(tmp_path / "in", count=20), tmp_path / "out"
    process = corrupting(source, output)
    deadline = time.monotonic() + 300
    while not any(output.glob("gaussian_noise/5/*/*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    workers = children(process.pid)
    os.kill(process.pid, ending)
    process.communicate(timeout=300)
    wait_for_the_end_of(workers)
    finished = {name: content for name, content in contents(output).items() if not name.endswith((".part", ".lock"))}
    options = ["--workers", "1", "--corruptions", "gaussian_noise"]
    assert main(["corrupt", str(source), str(tmp_path / "whole"), *options]) == 0
    assert main(["corrupt", str(source), str(output), *options]) == 0
    whole = contents(tmp_path / "whole")
    assert {name: content for name, content in finished.items() if name in whole}.items() <= whole.items()
    assert {name: content for name, content in contents(output).items() if name in whole} == whole
    assert not [name for name in contents(output) if name.endswith(".part")]


def test_a_file_that_was_bad_in_a_killed_run_may_be_mended_before_it_goes_on(tmp_path: Path) -> None:
    source, output = image_folder(tmp_path / "in", count=20, side=64), tmp_path / "out"
    options = ["--workers", "1", "--corruptions", "gaussian_noise"]
    assert main(["corrupt", str(source), str(tmp_path / "whole"), *options]) == 0
    picture = source / "cat" / "1.png"
    good = picture.read_bytes()
    picture.write_bytes(good[:2000])
    process = corrupting(source, output)
    deadline = time.monotonic() + 300
    while not any(output.glob("shot_noise/*/*/*")) and time.monotonic() < deadline:
        time.sleep(0.01)  # the first corruption has been through all files
    workers = children(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=300)
    wait_for_the_end_of(workers)
    picture.write_bytes(good)
    assert main(["corrupt", str(source), str(output), *options]) == 0
    whole = contents(tmp_path / "whole")
    assert {name: content for name, content in contents(output).items() if name in whole} == whole


@pytest.mark.parametrize("arguments", [["--corruptions", "fog", "snow", "photos", "out"], ["photos"], []])
def test_what_comes_first_is_said_where_options_took_it(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["corrupt", *arguments]) == 2
    assert "mixnorm corrupt INPUT OUTPUT --corruptions fog" in capsys.readouterr().err


def test_the_usage_shows_input_and_output_first(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["corrupt", "--severities", "1", "photos", "out"])
    assert capsys.readouterr().err.startswith("usage: mixnorm corrupt INPUT OUTPUT [--corruptions NAME ...]")
