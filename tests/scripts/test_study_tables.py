"""The committed records of the study: those of their grids, of clean commits, and shown as they are."""

import json
from pathlib import Path

import pytest

from mixnorm.evaluation import read_records
from mixnorm.sweeps import read_grid
from tests.real import PROJECT
from tests.scripts.conftest import Load

FOLDER = PROJECT / "results" / "study"
PARTS = sorted(grid.parent for grid in FOLDER.glob("*/grid.toml"))


def test_there_is_a_study() -> None:
    assert len(PARTS) >= 3


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_the_records_are_those_of_the_grid(part: Path) -> None:
    records = {record.id: record for record in read_records(part)}
    assert set(records) == {spec.id for spec in read_grid(part / "grid.toml")}
    for record in records.values():
        assert record.error is None
        assert not (record.commit or "-dirty").endswith("-dirty")
        assert record.spec is not None
        assert record.spec["data"]["name"].startswith("../shared/real/")


def test_the_page_shows_the_tables_of_the_records(load_script: Load) -> None:
    page = (PROJECT / "docs" / "study.md").read_text(encoding="utf-8")
    for table in load_script("study_tables").tables(FOLDER).split("\n\n"):
        assert table.strip() in page


def test_a_part_that_was_not_run_has_no_table(load_script: Load, tmp_path: Path) -> None:
    assert load_script("study_tables").tables(tmp_path) == ""


def test_a_long_stream_has_a_line_for_each_part(load_script: Load, tmp_path: Path) -> None:
    source = {"first, source": 48.0, "last, source": 49.0}
    parts = {"mixed": {"count": 150000, "first": 33.0, "last": 32.04, "last, fresh": 34, "all": 32.5} | source}
    (tmp_path / "long-stream.json").write_text(json.dumps({"parts": parts}))
    lines = load_script("study_tables").tables(tmp_path).splitlines()
    assert lines[-1] == "| mixed | 150,000 | 33.0 | 48.0 | 32.0 | 34.0 | 49.0 | 32.5 |"


def test_calibration_has_two_columns_for_each_network(load_script: Load, tmp_path: Path) -> None:
    errors = {"Source": 8.0, "ShrinkNorm": 9.04, "ShrinkNorm, calibrated": 8.5}
    found = {"clean": errors, "mixed": {name: 5 * error for name, error in errors.items()}}
    (tmp_path / "calibration-resnet56.json").write_text(json.dumps({"errors": found}))
    lines = load_script("study_tables").tables(tmp_path).splitlines()
    assert lines[0] == "| error in % | resnet56, clean | resnet56, mixed |"
    assert lines[3] == "| ShrinkNorm | 9.0 | 45.2 |"
