"""What records say together: protocols, the best method of each, failures, and the answer."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from mixnorm.errors import DataError
from mixnorm.evaluation import Record, with_mce
from mixnorm.report.answer import Verdict, answer, verdict
from mixnorm.report.groups import Group, grouped
from mixnorm.report.labels import numbered
from mixnorm.report.runs import finished


@dataclass(frozen=True)
class Findings:
    """Records, and what follows from them; their order makes no difference."""

    records: tuple[Record, ...]

    @staticmethod
    def of(records: Iterable[Record]) -> "Findings":
        """Take each record once, with its mean corruption error relative to Source; none at all is refused."""
        by_id = {record.id: record for record in records}
        if not by_id:
            raise DataError("there are no records to report on; make some with: mixnorm evaluate, sweep or demo")
        return Findings(tuple(with_mce([by_id[one] for one in sorted(by_id)])))

    @cached_property
    def groups(self) -> list[Group]:
        """The runs that have results, by protocol."""
        return grouped(finished(self.records))

    @cached_property
    def failed(self) -> list[Record]:
        """The records of runs that failed."""
        return [record for record in self.records if record.error is not None]

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """The best method of each protocol in which one can be named."""
        return [one for group in self.groups if (one := verdict(group)) is not None]

    @property
    def answer(self) -> str:
        """The answer in one sentence."""
        return answer(self.verdicts)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each method, which is its colour."""
        return numbered(run.label for group in self.groups for run in group.runs)
