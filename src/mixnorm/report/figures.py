"""The figures of a protocol, each with its title, legend, and the numbers behind it."""

from collections.abc import Sequence
from itertools import chain

from mixnorm.report.bars import Measured, bar_chart
from mixnorm.report.chart import Caption, Point, Series, legend, line_chart
from mixnorm.report.groups import Group
from mixnorm.report.html import Html, element
from mixnorm.report.labels import SOURCE
from mixnorm.report.runs import Run
from mixnorm.report.tables import ABSENT, number, table
from mixnorm.report.ticks import Axis, linear, logarithmic

ERROR = "error (%)"
Numbers = dict[str, int]
"""The colour of each method."""


def figures(group: Group, best: str | None, numbers: Numbers, name: str) -> list[Html]:
    """Draw all figures of a protocol; `best` is the method that stands out, `name` makes ids unique."""
    size = group.fair_sizes[-1]
    drawn = [
        batch_figure(group, numbers, f"{name}-batch"),
        corruption_figure(group.at(size), best, numbers, f"{name}-corruptions"),
    ]
    if any(len(run.results["over_time"]) > 1 for run in group.at(size)):
        drawn.append(time_figure(group.at(size), numbers, f"{name}-time"))
    if any(run.slowdown is not None for run in group.runs):
        drawn.append(cost_figure(group, numbers, f"{name}-cost"))
    return drawn


def batch_figure(group: Group, numbers: Numbers, name: str) -> Html:
    """Draw the error against the batch size."""
    series = [
        Series(label=method, number=numbers[method], points=tuple(_batch_point(run) for run in group.of(method)))
        for method in group.methods
    ]
    note = "Lower is better; a level line does not depend on the batch size."
    caption = Caption(id=name, title="Error against batch size", note=note)
    x = logarithmic("batch size (samples)", group.batch_sizes)
    rows = [[str(size), *(_error(group.run(method, size)) for method in group.methods)] for size in group.batch_sizes]
    data = table(["batch size", *group.methods], rows)
    return _figure(caption, line_chart(caption, x, _errors(series), series), _key(series), data)


def _batch_point(run: Run) -> Point:
    return Point(x=run.batch_size, y=run.error, note=_at(run))


def _error(run: Run | None) -> str:
    return ABSENT if run is None else f"{run.error:.1f}"


def corruption_figure(runs: Sequence[Run], best: str | None, numbers: Numbers, name: str) -> Html:
    """Draw the error under each corruption: bars for Source and the best method, marks for the others."""
    methods = [
        Measured(label=run.label, number=numbers[run.label], values=run.corruptions, bar=run.label in (SOURCE, best))
        for run in runs
    ]
    rows = list(dict.fromkeys(chain.from_iterable(method.values for method in methods)))
    caption = Caption(
        id=name, title=f"Error by corruption, batch size {runs[0].batch_size}", note=_bars_and_marks(methods)
    )
    axis = linear(ERROR, chain.from_iterable(method.values.values() for method in methods), count=5)
    cells = [[_words(row), *(number(method.values.get(row), ".1f") for method in methods)] for row in rows]
    data = table(["corruption", *(method.label for method in methods)], cells)
    key = legend([(method.label, method.number) for method in methods])
    return _figure(caption, bar_chart(caption, rows, axis, methods), key, data)


def _bars_and_marks(methods: Sequence[Measured]) -> str:
    bars = [method.label for method in methods if method.bar]
    drawn = [f"Bars: {' and '.join(bars)}."] if bars else []
    return " ".join([*drawn, "Marks: the other methods."] if len(bars) < len(methods) else drawn)


def time_figure(runs: Sequence[Run], numbers: Numbers, name: str) -> Html:
    """Draw the error of each window of the stream."""
    series = [Series(label=run.label, number=numbers[run.label], points=_windows(run)) for run in runs]
    window = max(part["count"] for run in runs for part in run.results["over_time"])
    note = f"Each point is the error of up to {window:,} samples in a row."
    caption = Caption(id=name, title=f"Error over time, batch size {runs[0].batch_size}", note=note)
    places = sorted({point.x for one in series for point in one.points})
    values = {(one.label, point.x): f"{point.y:.1f}" for one in series for point in one.points}
    rows = [[f"{place:,.0f}", *(values.get((one.label, place), ABSENT) for one in series)] for place in places]
    data = table(["samples seen", *(one.label for one in series)], rows)
    chart = line_chart(caption, linear("samples seen", places), _errors(series), series)
    return _figure(caption, chart, _key(series), data)


def _windows(run: Run) -> tuple[Point, ...]:
    ends = [(part["start"] + part["count"], part["error"]) for part in run.results["over_time"]]
    return tuple(Point(x=end, y=error, note=f"{error:.1f} % before sample {end:,}") for end, error in ends)


def cost_figure(group: Group, numbers: Numbers, name: str) -> Html:
    """Draw the error against the time, a point for each batch size."""
    runs = [run for method in group.methods for run in group.of(method)]
    series = [
        Series(
            label=method,
            number=numbers[method],
            points=_cost_points(group.of(method), group.batch_sizes),
            joined=False,
        )
        for method in group.methods
    ]
    note = "Down and left is better; the larger the mark, the larger the batch."
    caption = Caption(id=name, title="Error against cost", note=note)
    x = linear("time (multiples of the source model's)", (point.x for one in series for point in one.points))
    rows = [[run.label, str(run.batch_size), number(run.slowdown, ".2f"), f"{run.error:.1f}"] for run in runs]
    data = table(["method", "batch size", "time / Source", ERROR], rows)
    return _figure(caption, line_chart(caption, x, _errors(series), series), _key(series), data)


def _cost_points(runs: Sequence[Run], sizes: Sequence[int]) -> tuple[Point, ...]:
    measured = [(run, run.slowdown) for run in runs if run.slowdown is not None]
    return tuple(
        Point(
            x=slowdown,
            y=run.error,
            note=f"{_at(run)}, {slowdown:.2f} times the time",
            size=0.8 + 0.8 * sizes.index(run.batch_size) / max(1, len(sizes) - 1),
        )
        for run, slowdown in measured
    )


def _figure(caption: Caption, chart: Html, key: Html, data: Html) -> Html:
    words = element("figcaption", element("h3", caption.title), element("p", caption.note))
    return element("figure", words, chart, key, element("details", element("summary", "Numbers"), data))


def _errors(series: Sequence[Series]) -> Axis:
    return linear(ERROR, (point.y for one in series for point in one.points))


def _key(series: Sequence[Series]) -> Html:
    return legend([(one.label, one.number) for one in series])


def _at(run: Run) -> str:
    return f"{run.error:.1f} % at batch size {run.batch_size}"


def _words(name: str) -> str:
    return name.replace("_", " ")
