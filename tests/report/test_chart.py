"""Line charts: points are where their values are, and those who cannot see them are told."""

import pytest

from mixnorm.report.chart import Caption, Point, Series, legend, line_chart, style
from mixnorm.report.ticks import linear, logarithmic
from tests.report.svg import parse, place_of, places, text, with_class

CAPTION = Caption(id="one", title="Error", note="Lower is better.")
SERIES = [
    Series(
        label="A & B",
        number=0,
        points=(Point(x=1, y=0.0, note="0 %"), Point(x=10, y=50.0, note="50 %"), Point(x=100, y=100.0, note="100 %")),
    )
]
CHART = parse(line_chart(CAPTION, logarithmic("batch size", [1, 10, 100]), linear("error (%)", [100.0]), SERIES))


def test_points_stand_in_proportion_to_their_values() -> None:
    (line,) = CHART.iter("polyline")
    (x0, y0), (x1, y1), (x2, y2) = places(line)
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.11)
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.11)
    assert y2 < y1 < y0


def test_a_tick_stands_where_its_value_does() -> None:
    (line,) = CHART.iter("polyline")
    ticks = {text(tick): float(tick.get("y") or 0) - 4 for tick in with_class(CHART, "end")}
    assert [ticks["0"], ticks["100"]] == pytest.approx([places(line)[0][1], places(line)[2][1]], abs=0.1)


def test_marks_are_on_the_line_and_say_what_they_are() -> None:
    (line,) = CHART.iter("polyline")
    marks = with_class(CHART, "mark")
    assert [place_of(mark) for mark in marks] == places(line)
    assert [text(mark) for mark in marks] == ["A & B: 0 %", "A & B: 50 %", "A & B: 100 %"]


def test_title_description_and_labels_are_there() -> None:
    assert CHART.get("role") == "img"
    assert CHART.get("aria-labelledby") == "one-title one-desc"
    assert [text(element) for element in CHART if element.tag in ("title", "desc")] == ["Error", "Lower is better."]
    assert [text(label) for label in with_class(CHART, "label")] == ["error (%)", "batch size"]


def test_a_long_line_goes_without_marks() -> None:
    points = tuple(Point(x=place, y=1.0, note="") for place in range(25))
    chart = line_chart(CAPTION, linear("x", [24.0]), linear("y", [1.0]), [Series(label="A", number=0, points=points)])
    assert not with_class(parse(chart), "mark")


def test_colours_repeat_with_dashes() -> None:
    assert len({style(number) for number in range(14)}) == 14


def test_a_legend_names_each_method_beside_its_mark() -> None:
    entries = list(parse(legend([("A", 0), ("B <", 1)])).iter("li"))
    assert [text(entry) for entry in entries] == ["A", "B <"]
    assert len({str(mark.get("d")) for entry in entries for mark in with_class(entry, "mark")}) == 2
