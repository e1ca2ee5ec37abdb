"""Scales and ticks: where a value stands on an axis, and which values to name."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

_STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, kw_only=True)
class Axis:
    """An axis: its label, the values it spans, those that are named, and how they are spaced."""

    label: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    spacing: Callable[[float], float] = float

    def place(self, value: float) -> float:
        """Return where a value stands, from 0 at the low end to 1 at the high end."""
        low, high = self.spacing(self.low), self.spacing(self.high)
        return (self.spacing(value) - low) / (high - low)


def linear(label: str, values: Iterable[float], low: float = 0.0, count: int = 6) -> Axis:
    """Make an axis from `low` to a round value that covers all values, with about `count` ticks.

    >>> [name for _, name in linear("error (%)", [47.2, 31.5]).ticks]
    ['0', '10', '20', '30', '40', '50']
    """
    top = max(values, default=low)
    step = _round_step((top - low) / (count - 1))
    steps = max(1, math.ceil((top - low) / step - 1e-9))
    ticks = [low + number * step for number in range(steps + 1)]
    return Axis(label=label, low=low, high=ticks[-1], ticks=tuple((tick, f"{tick:,.10g}") for tick in ticks))


def _round_step(step: float) -> float:
    if step <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(step) + 1e-9)
    return next(round_step * power for round_step in _STEPS if round_step * power >= step * (1 - 1e-9))


def logarithmic(label: str, values: Sequence[float]) -> Axis:
    """Make an axis whose ticks are the values themselves, spaced by their ratios, with room at both ends."""
    low, high = min(values), max(values)
    room = (high / low) ** 0.06 if high > low else 2.0
    ticks = _apart([(value, f"{value:g}") for value in sorted(set(values))], math.log(high / low * room**2) / 9)
    return Axis(label=label, low=low / room, high=high * room, ticks=ticks, spacing=math.log)


def _apart(ticks: list[tuple[float, str]], least: float) -> tuple[tuple[float, str], ...]:
    """Take the names off ticks that stand too near the one before them to be read."""
    named: list[tuple[float, str]] = []
    last = -math.inf
    for value, name in ticks:
        near = math.log(value) - last < least
        named.append((value, "" if near else name))
        last = last if near else math.log(value)
    return tuple(named)
