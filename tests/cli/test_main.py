"""What all commands share: how they end."""

import subprocess
import sys
from pathlib import Path

import pytest

import mixnorm
from mixnorm.cli import COMMANDS, main

PROGRAM = [sys.executable, "-m", "mixnorm"]


@pytest.mark.parametrize("options", [[], ["--json"]], ids=str)
def test_a_reader_that_has_gone_is_no_error(options: list[str]) -> None:
    process = subprocess.Popen([*PROGRAM, "list", "tables", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_no_room_for_what_is_printed() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*PROGRAM, "list", "tables"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert done.stderr == b"error: [Errno 28] No space left on device\n"


def test_every_command_has_help_with_examples_of_itself(capsys: pytest.CaptureFixture[str]) -> None:
    for module in COMMANDS:
        name = module.__name__.rpartition(".")[2]
        with pytest.raises(SystemExit) as end:
            main([name, "--help"])
        assert end.value.code == 0
        assert f"mixnorm {name} " in capsys.readouterr().out.partition("options:")[0].partition("\n\n")[2]


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"mixnorm {mixnorm.__version__}\n"
