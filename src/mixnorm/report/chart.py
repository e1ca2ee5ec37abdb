"""Line charts as SVG that follows the page's colours, in light, dark and on paper."""

from collections.abc import Sequence
from dataclasses import dataclass

from mixnorm.report.html import Html, element, join
from mixnorm.report.ticks import Axis

# Sizes are in units of the drawing, which is as wide as a phone, so that its text is readable there too.
WIDTH, HEIGHT = 420, 290
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 10, 44
_MANY = 24  # points above which a line goes without marks
_MARKS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "M-3.6 -3.6h7.2v7.2h-7.2z",
    "M0 -4.8l4.6 8.2h-9.2z",
    "M0 -5l5 5l-5 5l-5 -5z",
    "M0 4.8l4.6 -8.2h-9.2z",
    "M-1.6 -4.6h3.2v3h3v3.2h-3v3h-3.2v-3h-3v-3.2h3z",
    "M-4.6 -2.6l2 -2l2.6 2.6l2.6 -2.6l2 2l-2.6 2.6l2.6 2.6l-2 2l-2.6 -2.6l-2.6 2.6l-2 -2l2.6 -2.6z",
    "M-5.2 -1.8h10.4v3.6h-10.4z",
    "M-1.8 -5.2h3.6v10.4h-3.6z",
)
_COLOURS = 9


@dataclass(frozen=True, kw_only=True)
class Caption:
    """What a figure is called and how it is read; `id` is its own on the whole page."""

    id: str
    title: str
    note: str


@dataclass(frozen=True, kw_only=True)
class Point:
    """A point of a series; `note` is shown when it is pointed at, `size` is that of its mark."""

    x: float
    y: float
    note: str
    size: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Series:
    """The points of one method; `number` is its colour and mark on the whole page."""

    label: str
    number: int
    points: tuple[Point, ...]
    joined: bool = True
    """Whether a line leads from point to point."""


def style(number: int) -> str:
    """Return the class that gives a method its colour; from the tenth on colours repeat with other dashes."""
    return f"s{number % _COLOURS}" + (" again" if number >= _COLOURS else "")


def mark(number: int, x: float, y: float, size: float = 1.0, note: str = "") -> Html:
    """Draw the mark of a method."""
    shape = _MARKS[number % len(_MARKS)]
    scale = "" if size == 1 else f" scale({size:.2f})"
    note_element = [element("title", note)] if note else []
    return element("path", *note_element, d=shape, class_="mark", transform=f"translate({x:.1f} {y:.1f}){scale}")


def line_chart(caption: Caption, x: Axis, y: Axis, series: Sequence[Series]) -> Html:
    """Draw series over two axes."""
    lines = [_series(one, x, y) for one in series]
    return drawing(caption, HEIGHT, _vertical(y), _horizontal(x), *lines)


def drawing(caption: Caption, height: float, *parts: Html) -> Html:
    """Wrap the parts of a drawing, with its title and description for those who cannot see it."""
    return element(
        "svg",
        element("title", caption.title, id=f"{caption.id}-title"),
        element("desc", caption.note, id=f"{caption.id}-desc"),
        *parts,
        viewBox=f"0 0 {WIDTH} {height:g}",
        role="img",
        aria_labelledby=f"{caption.id}-title {caption.id}-desc",
    )


def legend(labels: Sequence[tuple[str, int]]) -> Html:
    """List methods with their marks; it wraps where the page is narrow."""
    return element("ul", *(element("li", _swatch(number), label) for label, number in labels), class_="legend")


def _swatch(number: int) -> Html:
    line = element("line", x1=0, x2=26, y1=6, y2=6)
    return element(
        "svg",
        line,
        mark(number, 13, 6),
        viewBox="0 0 26 12",
        width=26,
        height=12,
        class_=style(number),
        aria_hidden="true",
    )


def _series(series: Series, x: Axis, y: Axis) -> Html:
    places = [(_across(x, point.x), _down(y, point.y)) for point in series.points]
    corners = " ".join(f"{left:.1f},{top:.1f}" for left, top in places)
    marks = [
        mark(series.number, *place, size=point.size, note=f"{series.label}: {point.note}")
        for place, point in zip(places, series.points, strict=True)
        if len(places) <= _MANY
    ]
    line = [element("polyline", points=corners)] if series.joined else []
    return element("g", *line, *marks, class_=style(series.number))


def _across(axis: Axis, value: float) -> float:
    return LEFT + axis.place(value) * (WIDTH - LEFT - RIGHT)


def _down(axis: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - axis.place(value) * (HEIGHT - TOP - BOTTOM)


def _vertical(axis: Axis) -> Html:
    middle = TOP + (HEIGHT - TOP - BOTTOM) / 2
    label = element("text", axis.label, transform=f"translate(13 {middle:g}) rotate(-90)", class_="label")
    ticks = [
        join(
            element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=_down(axis, value), y2=_down(axis, value)),
            element("text", text, x=LEFT - 6, y=_down(axis, value) + 4, class_="end"),
        )
        for value, text in axis.ticks
    ]
    return element("g", *ticks, label, class_="axis")


def _horizontal(axis: Axis) -> Html:
    bottom = HEIGHT - BOTTOM
    label = element("text", axis.label, x=(LEFT + WIDTH - RIGHT) / 2, y=HEIGHT - 6, class_="label")
    base = element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=bottom, y2=bottom, class_="base")
    ticks = [
        join(
            element("line", x1=_across(axis, value), x2=_across(axis, value), y1=bottom, y2=bottom + 5, class_="base"),
            element("text", text, x=_across(axis, value), y=bottom + 18, class_="middle"),
        )
        for value, text in axis.ticks
    ]
    return element("g", base, *ticks, label, class_="axis")
