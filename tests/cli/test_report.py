"""`mixnorm report`: a page from a results folder, and clear words where that cannot be."""

import json
from pathlib import Path

import pytest

from mixnorm.cli import main
from mixnorm.evaluation import write_record
from mixnorm.report import Findings, page
from tests.report.records import demo_records, make_record

RECORDS = demo_records()


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    for record in RECORDS:
        write_record(record, folder)
    return folder


def test_it_writes_the_page_and_says_the_answer(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "report.html"
    assert main(["report", str(results), "-o", str(output)]) == 0
    assert output.read_text(encoding="utf-8") == page(Findings.of(RECORDS))
    assert capsys.readouterr().out == f"{Findings.of(RECORDS).answer}\n{output}: made from 24 records\n"


def test_several_folders_make_one_page(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = tmp_path / "more"
    more.mkdir()
    write_record(make_record(order="single"), more)
    write_record(RECORDS[0], more)
    assert main(["report", str(results), str(more), "-o", str(tmp_path / "report.html"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["runs"] == 25
    assert said["failed"] == 0
    assert "lowers the error" in said["answer"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("broken.json", '{"format": "mixnorm-re'),
        ("foreign.json", '{"a": 1}'),
        ("newer.json", '{"format": "mixnorm-record", "version": 99}'),
    ],
)
def test_a_file_that_is_no_record_is_named(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: str
) -> None:
    (results / name).write_text(content, encoding="utf-8")
    output = tmp_path / "report.html"
    output.write_text("an earlier page", encoding="utf-8")
    assert main(["report", str(results), "-o", str(output)]) == 2
    assert name in capsys.readouterr().err
    assert output.read_text(encoding="utf-8") == "an earlier page"


def test_no_folder_no_records_and_no_place_to_write(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    cases = {
        "no results folder": [str(tmp_path / "absent")],
        "no records to report on": [str(empty)],
        "there is no folder": [str(results), "-o", str(tmp_path / "nowhere" / "report.html")],
    }
    for words, arguments in cases.items():
        assert main(["report", *arguments]) == 2
        assert words in capsys.readouterr().err
