"""The paper's selection of settings: a grid over the mixing scale and the moving speed on one corruption.

The paper chooses on Gaussian noise of severity 5 and keeps the settings for all other corruptions; its grid is not
published. The choice looks at labels, so it belongs before a deployment, on data like Gaussian noise on the user's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mixnorm.adaptation import Entropy, MixNorm, MixNormBN
from mixnorm.errors import SettingError, unknown_name
from mixnorm.paper.comparison import Comparison
from mixnorm.paper.table import Cell, Line, Table
from mixnorm.paper.tables import load_table

CORRUPTION = "gaussian_noise"
SEVERITY = 5
SOURCE = "Source"
TUNED: dict[str, MixNorm | MixNormBN] = {
    "mixnorm-fixed": MixNorm(),
    "mixnorm": MixNorm(learn=Entropy()),
    "mixnormbn": MixNormBN(learn=Entropy()),
}
"""The methods whose settings the paper chooses, as its tables call them."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """The settings to try: each `m` with each speed, which is `tau` for MixNorm and `tau_max` for MixNormBN."""

    method: MixNorm | MixNormBN
    """What the settings are put into; its views and its learning stay."""
    m: tuple[float, ...]
    speed: tuple[float, ...]
    batch_size: int = 200

    def __post_init__(self) -> None:
        for name, values in (("m", self.m), (speed_name(self.method), self.speed)):
            if not values or len(set(values)) < len(values):
                raise SettingError(f"{name} must be at least one value, each once, got {list(values)}")


def speed_name(method: MixNorm | MixNormBN) -> str:
    """Return what a method calls its moving speed."""
    return "tau" if isinstance(method, MixNorm) else "tau_max"


def published_values(method: MixNorm | MixNormBN) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the values of `m` and of the speed that the paper's Appendix B uses, in increasing order.

    >>> published_values(MixNorm())
    ((0.005, 0.01, 0.05, 0.2), (1e-07, 1e-06, 0.001))
    """
    table = load_table(f"hyper-parameters-{method.name.lower()}")
    m, speed = (
        sorted({value for row in table.rows if (value := table.published[row.id, name]) is not None})
        for name in ("m", speed_name(method))
    )
    return tuple(m), tuple(speed)


def grid_of(
    name: str, *, m: Sequence[float] | None = None, speed: Sequence[float] | None = None, batch_size: int = 200
) -> Grid:
    """Return the grid of a method by its name; values that are not given are the published ones.

    >>> grid_of("mixnormbn", m=[0.1, 0.2]).speed
    (0.5, 0.75, 1.1)
    """
    if name not in TUNED:
        raise unknown_name("method to tune", name, TUNED)
    published_m, published_speed = published_values(TUNED[name])
    return Grid(
        method=TUNED[name],
        m=published_m if m is None else tuple(m),
        speed=published_speed if speed is None else tuple(speed),
        batch_size=batch_size,
    )


def tuning_table(grid: Grid, *, data: str, model: str) -> Table:
    """Return the grid as a table of runs without published numbers, for `reproduce`; its last row is Source."""
    speed = speed_name(grid.method)
    source = Line(id=SOURCE, name=SOURCE, settings={"method": SOURCE})
    return Table(
        name="tune",
        title=f"{grid.method.name} on {CORRUPTION} of severity {SEVERITY}",
        where="Section 4, Implementation Details",
        kind="results",
        down=f"m \\ {speed}",
        across=speed,
        rows=(*(_row(grid, m) for m in grid.m), source),
        columns=tuple(Line(id=f"{value:g}", name=f"{value:g}") for value in grid.speed),
        published={},
        shared={
            "data": data,
            "model": model,
            "order": "single",
            "reset": "segment",
            "severity": SEVERITY,
            "corruptions": (CORRUPTION,),
            "batch_size": grid.batch_size,
        },
    )


def tried(comparison: Comparison) -> Comparison:
    """Return the grid alone, without Source."""
    rows = tuple(row for row in comparison.table.rows if row.id != SOURCE)
    return replace(comparison, table=replace(comparison.table, rows=rows))


def source_error(comparison: Comparison) -> float | None:
    """Return the error without adaptation, or None where it was not measured."""
    return next((comparison.measured(cell) for cell in comparison.table.cells if cell.row.id == SOURCE), None)


def best(comparison: Comparison) -> Cell | None:
    """Return the cell of the grid with the lowest error, the first of several, or None where no run succeeded."""
    cells = [cell for cell in tried(comparison).table.cells if comparison.measured(cell) is not None]
    return min(cells, key=lambda cell: comparison.measured(cell) or 0.0, default=None)


def best_settings(comparison: Comparison) -> dict[str, float] | None:
    """Return the settings of the best cell by their names, or None where no run succeeded."""
    cell = best(comparison)
    if cell is None:
        return None
    method = comparison.table.run(cell).method.to_dict()
    return {name: method[name] for name in ("m", "tau", "tau_max") if name in method}


def _row(grid: Grid, m: float) -> Line:
    """Return the row of an m: the whole method for each speed."""
    fixed = {key: value for key, value in grid.method.to_dict().items() if key != "method"}
    settings = [{**fixed, "m": m, speed_name(grid.method): value} for value in grid.speed]
    return Line(id=f"{m:g}", name=f"{m:g}", settings={"method": grid.method.name, "settings": settings})
