"""The page: complete, self-contained, safe, and the same for the same records."""

import dataclasses
import random
import re

import pytest

import mixnorm as mn
from mixnorm.errors import DataError
from mixnorm.evaluation import Record, results_of
from mixnorm.report import Findings, page
from tests.reference import metrics as reference
from tests.report.records import ERRORS, METHODS, demo_records, make_record
from tests.report.svg import parse_page, rows, text, with_class

BAD = '<script>alert("x")</script>'
RECORDS = [
    *demo_records(),
    *demo_records(order="single", reset="segment", count=9000),
    make_record(mn.Tent(), batch_size=4, failure={"type": "ModelError", "message": f"no layer {BAD}", "traceback": ""}),
]


def made(records: list[Record]) -> str:
    return page(Findings.of(records))


WHOLE = made(RECORDS)
ROOT = parse_page(WHOLE)


def test_the_answer_stands_on_top() -> None:
    (answer,) = with_class(ROOT, "answer")
    assert text(answer) == Findings.of(RECORDS).answer


def test_each_protocol_is_a_section_with_its_four_figures() -> None:
    sections = [section for section in ROOT.iter("section") if (section.get("id") or "").startswith("protocol")]
    assert [text(section[0]) for section in sections] == ["Protocol: mixed order", "Protocol: single order"]
    assert [len(list(section.iter("figure"))) for section in sections] == [4, 4]
    assert all("which differ in: order, reset, count." in text(section) for section in sections)


def test_errors_stand_with_their_interval() -> None:
    table = next(iter(ROOT.iter("table")))
    assert [row[0] for row in rows(table)[1:]] == list(METHODS)
    assert rows(table)[4][1:] == [*["31.527.9 to 35.3"] * 4, "2.4"]


def test_the_lowest_error_of_each_column_stands_out() -> None:
    table = next(iter(ROOT.iter("table")))
    lowest = [min(errors) for errors in zip(*ERRORS.values(), strict=True)]
    assert [float(cell.text or "") for cell in with_class(table, "best")] == lowest


def test_the_mean_corruption_error_stands_in_the_table_of_runs() -> None:
    table = next(table for table in ROOT.iter("table") if rows(table)[0][:2] == ["method", "batch"])
    place = rows(table)[0].index("mCE (%)")
    found = {(row[0], row[1]): row[place] for row in rows(table)[1:]}
    source, own = (
        {name: share["error"] for name, share in results_of(record)["by_corruption"].items()}
        for record in demo_records()
        if record.fingerprint["batch_size"] == 8 and record.fingerprint["method"]["method"] in ("Source", "Tent")
    )
    assert found["TENT", "8"] == f"{reference.mce(own, source):.1f}"
    assert found["Source", "8"] == "100.0"


def test_where_the_mean_corruption_error_is_not_defined_the_reason_stands_there() -> None:
    source = make_record(corruptions=["fog", "pixelate"])
    shares = {"fog": {"count": 300, "error": 40.0}, "pixelate": {"count": 300, "error": 0.0}}
    source = dataclasses.replace(source, results={**results_of(source), "by_corruption": shares})  # type: ignore[arg-type]
    assert "It is not defined where Source makes no mistake: pixelate." in made([source])
    assert "It is not defined" not in WHOLE


def test_failed_runs_are_listed_with_their_error() -> None:
    (failed,) = [section for section in ROOT.iter("section") if section.get("id") == "failed"]
    assert rows(failed)[1][1:] == ["TENT", "4", f"ModelError: no layer {BAD}"]


def test_ids_are_unique_and_links_lead_somewhere() -> None:
    ids = [element.get("id") for element in ROOT.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    assert {link.get("href") for link in ROOT.iter("a")} <= {f"#{name}" for name in ids}


def test_the_page_needs_nothing_but_itself() -> None:
    without_pictures = re.sub(r"base64,[\w+/=]+", "", WHOLE)
    assert not re.search(r"https?:|//|@import|url\(|<script|<link|<iframe|\son\w+=", without_pictures)
    assert all((image.get("src") or "").startswith("data:image/png;base64,") for image in ROOT.iter("img"))


def test_the_same_records_give_the_same_bytes() -> None:
    shuffled = random.Random(0).sample(RECORDS, len(RECORDS))
    assert made([*shuffled, shuffled[0]]) == WHOLE


def test_everything_from_records_is_escaped() -> None:
    record = make_record(mn.Tent(), error=5.0, corruptions=(BAD,), model=BAD, data=BAD)
    source = make_record(corruptions=(BAD,), model=BAD, data=BAD)
    for one in (record, source):
        assert one.results is not None
        one.results["examples"][0]["class_names"] = [BAD, BAD]
    hostile = [dataclasses.replace(one, commit=BAD, hardware={BAD: BAD}, started=BAD) for one in (record, source)]
    whole = made([*hostile, *demo_records()])
    assert "<script" not in whole
    assert BAD in text(parse_page(whole))


def test_records_of_failed_runs_alone_make_a_page() -> None:
    whole = made(RECORDS[-1:])
    assert "Whether adaptation helps is open" in whole
    assert "1 run failed" in whole


def test_no_records_are_refused() -> None:
    with pytest.raises(DataError, match="no records to report on"):
        Findings.of([])
