"""One run after the other, in this process."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mixnorm.evaluation import Loader, Record, RunSpec, run_or_fail


@dataclass(frozen=True, kw_only=True)
class Serial:
    """Does runs one after the other in this process, in the order given."""

    def run(self, specs: Sequence[RunSpec]) -> Iterator[Record]:
        """Yield the record of each run when it is there."""
        loader = Loader()
        for spec in specs:
            yield run_or_fail(spec, loader)
