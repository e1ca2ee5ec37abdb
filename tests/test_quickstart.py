"""The page about the first five minutes, executed as it stands."""

import re
import shlex
from pathlib import Path

import pytest

from mixnorm.cli import main

PAGE = (Path(__file__).parent.parent / "docs" / "quickstart.md").read_text(encoding="utf-8")


def test_every_step_of_the_page_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = []
    for language, content in re.findall(r"^```(.+?)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        if language == "python file=mine.py":
            Path("mine.py").write_text(content, encoding="utf-8")
        elif language == "python":
            exec(compile(content, "docs/quickstart.md", "exec"), {})
        else:
            commands += [shlex.split(line) for line in content.splitlines()]
            for program, *arguments in commands[-len(content.splitlines()) :]:
                assert program == "mixnorm"
                assert main(arguments) == 0
    assert [command[1] for command in commands] == ["evaluate", "corrupt", "evaluate", "evaluate", "report"]
    assert "fewer mistakes" in capsys.readouterr().out
    assert len(list(Path("results").glob("*.json"))) == 5
    assert Path("report.html").stat().st_size > 20_000
