"""Runs of one protocol: what may stand in one table and in one figure."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mixnorm.report.labels import in_order, labels
from mixnorm.report.runs import Run

Words = Callable[[dict[str, Any]], str]
"""Says something about a protocol."""
# What may differ within a group: what a comparison is about.
COMPARED = ("method", "batch_size")


@dataclass(frozen=True, kw_only=True)
class Group:
    """Runs that differ in nothing but method and batch size."""

    protocol: dict[str, Any]
    runs: tuple[Run, ...]
    name: str = ""
    """As few words as set it apart from the other protocols of the page."""
    differs: tuple[str, ...] = ()
    """The fields in which the protocols of the page differ."""

    @property
    def methods(self) -> list[str]:
        """The labels of the methods, in the paper's order."""
        return in_order(run.label for run in self.runs)

    @property
    def batch_sizes(self) -> list[int]:
        """All batch sizes, in increasing order."""
        return sorted({run.batch_size for run in self.runs})

    @property
    def count(self) -> int:
        """The number of samples of a run."""
        return max(run.count for run in self.runs)

    @property
    def fair_sizes(self) -> list[int]:
        """The batch sizes at which methods are compared: those that all have, or else the one that most have."""
        sizes = [{run.batch_size for run in self.of(method)} for method in self.methods]
        shared = sorted(set.intersection(*sizes))
        most = max(self.batch_sizes, key=lambda size: (sum(size in own for own in sizes), -size))
        return shared or [most]

    def run(self, method: str, batch_size: int) -> Run | None:
        """Return the run of a method at a batch size, if there is one."""
        return next((run for run in self.of(method) if run.batch_size == batch_size), None)

    def of(self, method: str) -> list[Run]:
        """Return the runs of a method by increasing batch size."""
        return sorted((run for run in self.runs if run.label == method), key=lambda run: run.batch_size)

    def at(self, batch_size: int) -> list[Run]:
        """Return the runs at a batch size, in the order of the methods."""
        runs = (self.run(method, batch_size) for method in self.methods)
        return [run for run in runs if run is not None]


def grouped(runs: Iterable[Run]) -> list[Group]:
    """Sort runs into protocols; of two runs of the very same protocol, method and batch size the later one counts."""
    by_protocol: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: (run.started, run.id)):
        by_protocol.setdefault(_canonical(_protocol(run)), []).append(run)
    groups = [_group(by_protocol[protocol]) for protocol in sorted(by_protocol)]
    groups.sort(key=_place)
    differs = _differing(groups)
    return [replace(group, name=name, differs=differs) for group, name in zip(groups, _names(groups), strict=True)]


def _place(group: Group) -> tuple[object, ...]:
    """Return what groups are sorted by; numbers count as numbers."""
    numbers = (group.protocol.get(name) for name in ("severity", "seed", "count"))
    words = (_model_and_data(group.protocol), str(group.protocol.get("order")), _reset(group.protocol))
    return (*words, *(number if isinstance(number, int) else 0 for number in numbers))


def _protocol(run: Run) -> dict[str, Any]:
    return {field: value for field, value in run.fingerprint.items() if field not in COMPARED}


def _canonical(data: object) -> str:
    return json.dumps(data, sort_keys=True)


def _group(members: Sequence[Run]) -> Group:
    latest = {_canonical([run.method, run.batch_size]): run for run in members}
    methods = {_canonical(run.method): run.method for run in latest.values()}
    names = dict(zip(methods, labels(list(methods.values())), strict=True))
    named = (run.named(names[_canonical(run.method)]) for run in latest.values())
    return Group(protocol=_protocol(members[0]), runs=tuple(named))


def _differing(groups: Sequence[Group]) -> tuple[str, ...]:
    fields = dict.fromkeys(field for group in groups for field in group.protocol)
    return tuple(field for field in fields if len({_canonical(group.protocol.get(field)) for group in groups}) > 1)


def _names(groups: Sequence[Group]) -> list[str]:
    """Name each group by its order, and by as much more as tells them apart; where nothing does, by number."""
    more = [words for words in MORE if len({words(group.protocol) for group in groups}) > 1]
    for count in range(len(more) + 1):
        names = [_name(group.protocol, more[:count]) for group in groups]
        if len(set(names)) == len(groups):
            return names
    seen: Counter[str] = Counter()
    numbered = []
    for name in names:
        seen[name] += 1
        numbered.append(f"{name} ({seen[name]})")
    return numbered


def _name(protocol: dict[str, Any], more: Sequence[Words]) -> str:
    """Put together what a protocol is called: model and data come before its order, all else after it."""
    first = [words(protocol) for words in more if words is _model_and_data]
    rest = [words(protocol) for words in more if words is not _model_and_data]
    return ", ".join(filter(None, [*first, f"{protocol.get('order')} order", *rest]))


def _model_and_data(protocol: dict[str, Any]) -> str:
    """Name files and folders without the way to them."""
    return f"{Path(str(protocol.get('model'))).name} on {Path(str(protocol.get('data'))).name}"


def _reset(protocol: dict[str, Any]) -> str:
    return "reset at each segment" if protocol.get("reset") == "segment" else ""


def _epochs(protocol: dict[str, Any]) -> str:
    epochs = protocol.get("epochs")
    return f"adapted before in {epochs} epoch{'s' if epochs > 1 else ''}" if epochs else ""


def _field(name: str) -> Words:
    return lambda protocol: f"{name} {protocol.get(name)}"


MORE: tuple[Words, ...] = (
    _model_and_data,
    _reset,
    _epochs,
    *map(_field, ("severity", "seed", "count", "dtype", "device", "threads")),
)
"""What may tell protocols of the same order apart, in the order in which it is tried."""
