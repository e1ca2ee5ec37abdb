"""The answer in one sentence: which method, how much error it removes, what it costs."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from mixnorm.report.groups import Group
from mixnorm.report.interval import clearly_lower
from mixnorm.report.labels import SOURCE
from mixnorm.report.runs import Run

_FEW = 3  # protocols that still fit into one sentence
_NEEDED = "that takes runs of Source and of a method under one protocol, at one batch size"
_STEADY = 1.0  # points of error between batch sizes that are not worth a word


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The best method of a protocol beside the source model, at the batch sizes that all have; errors in percent."""

    group: Group
    method: str
    runs: tuple[Run, ...]
    source_runs: tuple[Run, ...]

    @property
    def error(self) -> float:
        """Its mean error over the batch sizes."""
        return fmean(run.error for run in self.runs)

    @property
    def source(self) -> float:
        """The mean error of the source model over the batch sizes."""
        return fmean(run.error for run in self.source_runs)

    @property
    def gain(self) -> float:
        """How many points of error it removes."""
        return self.source - self.error

    @property
    def worse_at(self) -> list[int]:
        """The batch sizes at which it is worse than the source model all the same."""
        pairs = zip(self.runs, self.source_runs, strict=True)
        return [run.batch_size for run, source in pairs if run.error > source.error]

    @property
    def helps(self) -> bool:
        """Whether it is better than the source model by more than chance explains."""
        return clearly_lower(self.error / 100, self.source / 100, self.group.count)


def verdict(group: Group) -> Verdict | None:
    """Choose the method of the lowest mean error over the batch sizes that all have; None without Source or a rival."""
    sizes = group.fair_sizes
    runs = {method: tuple(run for run in group.of(method) if run.batch_size in sizes) for method in group.methods}
    source = runs.pop(SOURCE, ())
    verdicts = [
        Verdict(group=group, method=method, runs=own, source_runs=source)
        for method, own in runs.items()
        if own and source
    ]
    return min(verdicts, key=lambda one: one.error, default=None)


def answer(verdicts: Sequence[Verdict]) -> str:
    """Answer for all protocols of a page in one sentence."""
    helping = sorted((one for one in verdicts if one.helps), key=lambda one: -one.gain)
    if not verdicts:
        return f"Whether adaptation helps is open: {_NEEDED}."
    if len(verdicts) == 1:
        return sentence(verdicts[0])
    if not helping:
        nearest = max(verdicts, key=lambda one: one.gain)
        none = f"In none of {len(verdicts)} protocols a method clearly helps"
        return f"{none}; nearest, in {nearest.group.name}: {sentence(nearest)}"
    gains = [f"{_removed(one)} in {one.group.name} ({_short(one)})" for one in helping[:_FEW]]
    gains[0] = gains[0].replace(" in ", " of the mistakes in ", 1)
    return f"Adaptation removes {_enumerated(gains)}{_others(len(helping), len(verdicts))}."


def sentence(one: Verdict) -> str:
    """Answer for one protocol."""
    if one.helps:
        error = f"{one.method} lowers the error from {_percent(one.source)} to {_percent(one.error)}"
        times = _times(one)
        cost = f"takes {times} the source model's time{_uncounted(one)}" if times else "its time was not measured"
        return f"{error} {_where(one)}{_but(one)}, {_removed(one)} fewer mistakes, and {cost}."
    facts = f"{_percent(one.error)} error {_where(one)}, the source model {_percent(one.source)}"
    several = len(one.group.methods) > 2  # Source is one of them
    if one.gain <= 0:
        best = (
            f"No method helps here: the best of them, {one.method},"
            if several
            else f"{one.method} does not help here: it"
        )
        return f"{best} has {facts}."
    none = "No method is" if several else f"{one.method} is not"
    best = f"the best of them, {one.method}," if several else "it"
    chance = f"with {one.group.count:,} samples chance may explain the difference"
    return f"{none} clearly better than the source model: {best} has {facts}, and {chance}."


def _short(one: Verdict) -> str:
    exception = f", worse at batch size {_enumerated([str(size) for size in one.worse_at])}" if one.worse_at else ""
    cost = f", {times} the time{_uncounted(one)}" if (times := _times(one)) else ""
    return f"{one.method}: error {_percent(one.source)} to {_percent(one.error)}{exception}{cost}"


def _enumerated(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _others(helping: int, every: int) -> str:
    more = f", and helps in {helping - _FEW} more protocol{'s' if helping - _FEW > 1 else ''}" if helping > _FEW else ""
    return more + (f"; in {every - helping} of {every} protocols no method clearly helps" if every > helping else "")


def _removed(one: Verdict) -> str:
    return f"{100 * one.gain / one.source:.0f}\N{NO-BREAK SPACE}%"


def _percent(error: float) -> str:
    return f"{error:.1f}\N{NO-BREAK SPACE}%"


def _where(one: Verdict) -> str:
    sizes, errors = [run.batch_size for run in one.runs], [run.error for run in one.runs]
    if len(sizes) == 1:
        return f"at batch size {sizes[0]}"
    if max(errors) - min(errors) < _STEADY:
        return f"at every batch size from {sizes[0]} to {sizes[-1]}"
    return f"on average over the batch sizes {_enumerated([str(size) for size in sizes])}"


def _but(one: Verdict) -> str:
    return f" (worse at {_enumerated([str(size) for size in one.worse_at])})" if one.worse_at else ""


def _times(one: Verdict) -> str | None:
    measured = [run.slowdown for run in one.runs if run.slowdown is not None]
    return f"about {median(measured):.1f} times" if measured else None


def _uncounted(one: Verdict) -> str:
    return ", the adapting before it not counted" if one.group.protocol.get("epochs") else ""
