"""Figures hold the numbers of the records."""

import pytest

import mixnorm as mn
from mixnorm.report.figures import figures
from mixnorm.report.findings import Findings
from mixnorm.report.groups import Group
from tests.report.records import ERRORS, METHODS, SIZES, SLOWDOWNS, demo_records, make_record
from tests.report.svg import parse, rows, text, with_class


def drawn(group: Group, best: str | None = "MixNorm fixed") -> list[str]:
    numbers = {method: number for number, method in enumerate(group.methods)}
    return list(figures(group, best, numbers, "here"))


GROUP = Findings.of(demo_records()).groups[0]
BATCH, CORRUPTIONS, TIME, COST = (parse(figure) for figure in drawn(GROUP))


@pytest.mark.parametrize("figure", [BATCH, CORRUPTIONS, TIME, COST])
def test_each_has_title_note_drawing_legend_and_numbers(figure: object) -> None:
    root = figure
    assert [child.tag for child in root] == ["figcaption", "svg", "ul", "details"]  # type: ignore[attr-defined]


def test_numbers_behind_the_batch_figure() -> None:
    expected = [[str(size), *(f"{ERRORS[name][place]:.1f}" for name in METHODS)] for place, size in enumerate(SIZES)]
    assert rows(BATCH) == [["batch size", *METHODS], *expected]


def test_numbers_behind_the_cost_figure() -> None:
    expected = [
        [name, str(size), f"{SLOWDOWNS[name]:.2f}", f"{error:.1f}"]
        for name in METHODS
        for size, error in zip(SIZES, ERRORS[name], strict=True)
    ]
    assert rows(COST)[1:] == expected


def test_corruptions_are_shown_at_the_largest_batch_size_that_all_have() -> None:
    assert text(CORRUPTIONS).startswith("Error by corruption, batch size 200Bars: Source and MixNorm fixed. Marks: the")
    (run,) = [run for run in GROUP.runs if (run.label, run.batch_size) == ("BN", 200)]
    column = rows(CORRUPTIONS)[0].index("BN")
    assert [row[column] for row in rows(CORRUPTIONS)[1:]] == [f"{error:.1f}" for error in run.corruptions.values()]


def test_time_goes_window_by_window() -> None:
    assert [row[0] for row in rows(TIME)[1:]] == ["200", "400", "600"]
    assert rows(TIME)[1][1:] == [f"{ERRORS[name][3] + 2:.1f}" for name in METHODS]


def test_one_window_is_no_line_and_no_cost_no_figure() -> None:
    group = Findings.of([make_record(count=150, slowdown=None)]).groups[0]
    titles = [text(parse(figure)[0][0]) for figure in drawn(group, None)]
    assert titles == ["Error against batch size", "Error by corruption, batch size 1"]


def test_a_run_that_is_missing_is_a_gap() -> None:
    group = Findings.of([make_record(batch_size=1), make_record(batch_size=8), make_record(mn.Tent())]).groups[0]
    assert rows(parse(drawn(group)[0]))[2] == ["8", "47.2", "n/a"]


def test_larger_batches_have_larger_marks() -> None:
    marks = [str(mark.get("transform")) for mark in with_class(COST, "mark") if "Source: " in text(mark)]
    sizes = [float(transform.partition("scale(")[2].rstrip(")")) for transform in marks if "scale" in transform]
    assert sizes == sorted(sizes)
