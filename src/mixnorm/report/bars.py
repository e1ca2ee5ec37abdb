"""Bar charts: a row per name, bars for the methods that matter, marks for the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mixnorm.report.chart import RIGHT, WIDTH, Caption, drawing, mark, style
from mixnorm.report.html import Html, element, join
from mixnorm.report.ticks import Axis

_LEFT = 128
_TOP = 6
_FOOT = 40
_GAP = 6
_BAR = 9.0


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The values of one method by name of the row; `bar` draws them as bars, otherwise as marks."""

    label: str
    number: int
    values: Mapping[str, float]
    bar: bool


def bar_chart(caption: Caption, rows: Sequence[str], axis: Axis, methods: Sequence[Measured]) -> Html:
    """Draw a row for each name, from left to right over one axis."""
    barred = [measured for measured in methods if measured.bar]
    marked = [measured for measured in methods if not measured.bar]
    height = max(1, len(barred)) * _BAR + _GAP
    bottom = _TOP + len(rows) * height
    drawn = [_row(row, _TOP + number * height, barred, marked, axis) for number, row in enumerate(rows)]
    return drawing(caption, bottom + _FOOT, _grid(axis, bottom), *drawn)


def _row(row: str, top: float, barred: Sequence[Measured], marked: Sequence[Measured], axis: Axis) -> Html:
    middle = top + (max(1, len(barred)) * _BAR + _GAP) / 2
    name = element("text", row.replace("_", " "), x=_LEFT - 6, y=middle + 4, class_="end")
    bars = [
        _bar(measured, row, top + _GAP / 2 + place * _BAR, axis)
        for place, measured in enumerate(barred)
        if row in measured.values
    ]
    marks = [_mark(measured, row, middle, axis) for measured in marked if row in measured.values]
    return element("g", name, *bars, *marks, class_="axis")


def _bar(measured: Measured, row: str, top: float, axis: Axis) -> Html:
    return element(
        "rect",
        element("title", _note(measured, row)),
        x=_LEFT,
        y=top,
        width=_across(axis, measured.values[row]) - _LEFT,
        height=_BAR,
        class_=f"bar {style(measured.number)}",
    )


def _mark(measured: Measured, row: str, middle: float, axis: Axis) -> Html:
    place = _across(axis, measured.values[row])
    return element("g", mark(measured.number, place, middle, 0.9, _note(measured, row)), class_=style(measured.number))


def _note(measured: Measured, row: str) -> str:
    return f"{measured.label}, {row.replace('_', ' ')}: {measured.values[row]:.1f} %"


def _across(axis: Axis, value: float) -> float:
    return _LEFT + axis.place(value) * (WIDTH - _LEFT - RIGHT)


def _grid(axis: Axis, bottom: float) -> Html:
    ticks = [
        join(
            element("line", x1=_across(axis, value), x2=_across(axis, value), y1=_TOP, y2=bottom),
            element("text", text, x=_across(axis, value), y=bottom + 15, class_="middle"),
        )
        for value, text in axis.ticks
    ]
    label = element("text", axis.label, x=(_LEFT + WIDTH - RIGHT) / 2, y=bottom + 34, class_="label")
    return element("g", *ticks, label, class_="axis")
