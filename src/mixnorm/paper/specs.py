"""From a cell of a table to the run that repeats it."""

from collections.abc import Mapping
from dataclasses import dataclass

from mixnorm.evaluation import Protocol, RunSpec
from mixnorm.paper.table import Cell, Table


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a table is repeated with; what is None is the paper's own."""

    data: str | Mapping[str, str] | None = None
    """Another data set, by name or path, in the same protocol; or one for each column of the table, by its id."""
    model: str | None = None
    checkpoint: str | None = None
    data_dir: str | None = None
    """The folder of data and weights, in place of the usual one."""
    limit: int | None = None
    """How many images take part."""
    split: str | None = None
    resize: int | None = None
    crop: int | None = None
    epochs: int = 0
    """How often a model sees all samples before it answers them; 0 is online."""
    seed: int = 0
    device: str = "cpu"
    threads: int = 1

    def data_of(self, column: str) -> str | None:
        """Return the data set for a column of the table, or None for the paper's own."""
        return self.data if isinstance(self.data, str | None) else self.data[column]


def spec_of(table: Table, cell: Cell, setup: Setup) -> RunSpec:
    """Return the run behind a cell, with the user's own data and model in the place of the paper's.

    >>> from mixnorm.paper import load_table
    >>> table = load_table("cifar10-c-mixed-wrn28")
    >>> spec = spec_of(table, table.cells[0], Setup(model="digits", data="digits-c", limit=30))
    >>> spec.model, spec.data["limit"], spec.protocol.batch_size, spec.method["method"]
    ('digits', 30, 1, 'Tent')
    """
    run = table.run(cell)
    return RunSpec(
        model=setup.model or run.model,
        checkpoint=setup.checkpoint,
        data={
            "name": setup.data_of(cell.column.id) or run.data,
            "severity": run.severity,
            "corruptions": run.corruptions,
            "seed": setup.seed,
            "limit": setup.limit,
            "data_dir": setup.data_dir,
            "split": setup.split,
            "resize": setup.resize or run.resize,
            "crop": setup.crop,
        },
        protocol=Protocol(order=run.order, reset=run.reset, batch_size=run.batch_size, epochs=setup.epochs),
        method=run.method.to_dict(),
        seed=setup.seed,
        device=setup.device,
        threads=setup.threads,
    )
