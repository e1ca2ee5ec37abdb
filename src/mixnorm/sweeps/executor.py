"""What every executor is: something that does runs and gives their records."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from mixnorm.evaluation import Record, RunSpec


class Executor(Protocol):
    """Does runs somewhere. It gets specs and gives records; models and data are loaded where the work is done."""

    def run(self, specs: Sequence[RunSpec]) -> Iterator[Record]:
        """Yield the record of each run when it is there, in any order; closing the iterator stops the rest.

        A run that fails gives a record with its error.
        """
