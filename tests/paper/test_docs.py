"""The page about repeating the paper: its commands run, and it tells of every table."""

import re
import shlex
from pathlib import Path

import pytest

from mixnorm.cli import main
from mixnorm.paper import list_tables, load_table
from tests.real import PROJECT

PAGE = (PROJECT / "docs" / "reproduce.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program, *arguments = shlex.split(command.replace("--limit 60", "--limit 15"))
    assert program == "mixnorm"
    assert main(arguments) == 0


def test_every_table_is_told_of() -> None:
    assert all(f"`{table.name}`" in PAGE or f"`mixnorm reproduce {table.name}`" in PAGE for table in list_tables())


def test_models_and_data_are_those_of_the_tables() -> None:
    rows = re.findall(r"\| `mixnorm reproduce (\S+)` \| (.*?) \| `(.*?)` \| `(.*?)` \|", PAGE)
    runnable = {table.name for table in list_tables() if table.can_run}
    assert {name for name, *_ in rows} == runnable
    for name, where, model, data in rows:
        runs = [load_table(name).run(cell) for cell in load_table(name).cells]
        assert [model] == list(dict.fromkeys(run.model for run in runs))
        listed = data.split("`, `")
        assert listed == list(dict.fromkeys(run.data for run in runs))[: len(listed)]
        assert all(word in load_table(name).where for word in where.split(", "))
