"""Records in the terminal."""

from typing import Any

import pytest
from rich.console import Console

from mixnorm.cli.record_table import record_table
from mixnorm.evaluation import run
from tests.sweeps.runs import runs


def shown(table: Any, capsys: pytest.CaptureFixture[str]) -> list[str]:
    Console(width=80).print(table)
    return capsys.readouterr().out.splitlines()


def test_what_runs_share_stands_above_and_what_differs_beside_them(capsys: pytest.CaptureFixture[str]) -> None:
    records = [run(spec) for spec in runs(["Source"], (4, 12))]
    lines = shown(record_table(records), capsys)
    assert "model digits, data digits-c, severity 5, order mixed, reset never, seed 0" in " ".join(
        " ".join(lines[:2]).split()
    )
    rows = [line.split() for line in lines if line.split()[:1] == ["Source"]]
    assert [row[1] for row in rows] == ["4", "12"]


def test_it_is_readable_on_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    settings = "MixNorm:cifar10-c/mixed/learnable"
    records = [run(spec) for spec in runs(["Source", settings], (12,))]
    lines = shown(record_table(records), capsys)
    assert any("error %" in line and "images/s" in line and "x source" in line for line in lines)
    assert not any("…" in line for line in lines)
