"""Bar charts: bars are as long as their values."""

import itertools

import pytest

from mixnorm.report.bars import Measured, bar_chart
from mixnorm.report.chart import Caption
from mixnorm.report.ticks import linear
from tests.report.svg import parse, place_of, text, with_class

CAPTION = Caption(id="bars", title="Error by corruption", note="Bars.")
METHODS = [
    Measured(label="Source", number=0, values={"fog": 40.0, "shot_noise": 80.0}, bar=True),
    Measured(label="BN", number=1, values={"fog": 20.0}, bar=True),
    Measured(label="TENT", number=2, values={"fog": 40.0, "shot_noise": 80.0}, bar=False),
]
CHART = parse(bar_chart(CAPTION, ["fog", "shot_noise"], linear("error (%)", [80.0]), METHODS))


def test_bars_are_in_proportion_and_a_missing_value_has_none() -> None:
    widths = {text(bar): float(bar.get("width") or 0) for bar in with_class(CHART, "bar")}
    assert set(widths) == {"Source, fog: 40.0 %", "BN, fog: 20.0 %", "Source, shot noise: 80.0 %"}
    assert widths["Source, shot noise: 80.0 %"] == pytest.approx(2 * widths["Source, fog: 40.0 %"], abs=0.02)
    assert widths["Source, fog: 40.0 %"] == pytest.approx(2 * widths["BN, fog: 20.0 %"], abs=0.02)


def test_bars_of_a_row_do_not_overlap() -> None:
    spans = sorted((float(bar.get("y") or 0), float(bar.get("height") or 0)) for bar in with_class(CHART, "bar"))
    assert all(top + height <= below for (top, height), (below, _) in itertools.pairwise(spans))


def test_a_mark_stands_at_the_end_of_a_bar_of_its_value() -> None:
    (bar,) = [bar for bar in with_class(CHART, "bar") if "Source, fog" in text(bar)]
    (mark,) = [mark for mark in with_class(CHART, "mark") if "fog" in text(mark)]
    assert place_of(mark)[0] == pytest.approx(float(bar.get("x") or 0) + float(bar.get("width") or 0), abs=0.1)


def test_rows_are_named_in_words() -> None:
    assert [text(name) for name in with_class(CHART, "end")] == ["fog", "shot noise"]
