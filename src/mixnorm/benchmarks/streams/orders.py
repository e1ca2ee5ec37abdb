"""The orders in which samples arrive: which image, under which shift, in which segment.

A segment is a run within which a protocol keeps its state; batches never reach across two segments.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mixnorm.benchmarks.datasets.dataset import Indices, Shift
from mixnorm.errors import SettingError


@dataclass(frozen=True)
class Samples:
    """A sequence of samples, one entry per sample in each array; `corruptions` are positions in the pool's names."""

    indices: Indices
    corruptions: Indices
    severities: Indices
    segments: Indices

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.indices)

    def take(self, positions: npt.NDArray[np.intp] | slice) -> "Samples":
        """Return the samples at `positions`, in that order."""
        return Samples(*(getattr(self, field)[positions] for field in self.__dataclass_fields__))

    def in_one_segment(self) -> "Samples":
        """Return the same samples without boundaries."""
        return replace(self, segments=np.zeros_like(self.segments))


def joined(parts: Iterable[Samples]) -> Samples:
    """Return sequences one after the other."""
    columns = zip(*([getattr(part, field) for field in Samples.__dataclass_fields__] for part in parts), strict=True)
    return Samples(*(np.concatenate(column) for column in columns))


@dataclass(frozen=True, kw_only=True)
class Pool:
    """What an order chooses from: images that exist under shifts, their labels, and the settings of the stream."""

    indices_of: Callable[[Shift], Indices]
    own_severities: Callable[[str], tuple[int, ...] | None]
    labels: Indices
    corruptions: tuple[str, ...]
    severity: int
    seed: int
    limit: int | None
    concentration: float

    def random(self, *purpose: int) -> np.random.Generator:
        """Return a generator of its own for each purpose, so that one draw never moves another."""
        return np.random.default_rng([self.seed, *purpose])

    @cached_property
    def chosen(self) -> npt.NDArray[np.bool_]:
        """Which images take part: `limit` of them at random; a larger limit keeps those of a smaller one."""
        shifts = [(name, level) for name in self.corruptions for level in self.severities_of(name)]
        available = np.unique(np.concatenate([self.indices_of(shift) for shift in shifts]))
        if self.limit is not None and self.limit > len(available):
            raise SettingError(f"limit={self.limit} is more than the {len(available)} images of {self.corruptions}")
        places = self.random(0).permutation(len(self.labels))
        mask = np.zeros(len(places), dtype=np.bool_)
        mask[places[np.isin(places, available)][: self.limit]] = True
        return mask

    def severities_of(self, name: str) -> tuple[int, ...]:
        """Return the severities at which images of a corruption are taken: their own, or the stream's."""
        return self.own_severities(name) or (self.severity,)

    def steps_of(self, name: str) -> tuple[int, ...]:
        """Return the severities up to the largest."""
        return self.own_severities(name) or tuple(range(1, self.severity + 1))

    def runs(self) -> Iterable[Samples]:
        """Yield the images of one corruption after another."""
        for number, name in enumerate(self.corruptions):
            yield self.run(number, self.severities_of(name))

    def run(self, corruption: int, severities: tuple[int, ...], visit: int = 0) -> Samples:
        """Return the images of one corruption at some severities, shuffled, as the segment of that corruption."""
        parts = [self.indices_of((self.corruptions[corruption], level)) for level in severities]
        available, levels = np.concatenate(parts), np.repeat(severities, [len(part) for part in parts])
        places = np.argsort(available, kind="stable")
        places = self.random(1, corruption, visit).permutation(places[self.chosen[available[places]]])
        constant = np.full(len(places), corruption, dtype=np.int64)
        return Samples(available[places], constant, levels[places], constant)


def single(pool: Pool) -> Samples:
    """Take one corruption after another, each in a segment of its own, so that a protocol may reset between them."""
    return joined(pool.runs())


def continual(pool: Pool) -> Samples:
    """Take the sequence of `single` without its boundaries.

    A batch may hold the end of one corruption and the start of the next, as it would where nobody knows when the
    shift changes.
    """
    return single(pool).in_one_segment()


def mixed_all(pool: Pool) -> Samples:
    """Take all images of all corruptions, shuffled together."""
    everything = single(pool).in_one_segment()
    return everything.take(pool.random(2).permutation(len(everything)))


def mixed(pool: Pool) -> Samples:
    """Take each image once, under one of its corruptions at random, shuffled."""
    everything = mixed_all(pool)
    _, first_of_each_image = np.unique(everything.indices, return_index=True)
    return everything.take(np.sort(first_of_each_image))


def gradual(pool: Pool) -> Samples:
    """Let each corruption rise from severity 1 to the stream's and fall back to 1, all images at each step.

    Where images have severities of their own, those are the steps, and each has the images that it has.
    """
    return joined(
        pool.run(number, (severity,), visit)
        for number, name in enumerate(pool.corruptions)
        for visit, severity in enumerate((*pool.steps_of(name)[:-1], *reversed(pool.steps_of(name))))
    )


def correlated(pool: Pool) -> Samples:
    """Take the samples of `single` with labels in bursts: each class spreads over time by a Dirichlet draw."""
    return joined(
        run.take(by_dirichlet(pool.labels[run.indices], pool.concentration, pool.random(3, number)))
        for number, run in enumerate(pool.runs())
    )


def by_dirichlet(labels: Indices, concentration: float, random: np.random.Generator) -> npt.NDArray[np.intp]:
    """Return an order of samples in which labels are correlated in time: slot after slot, each slot shuffled."""
    slots = slots_by_dirichlet(labels, concentration, random)
    return np.lexsort((random.permutation(len(labels)), slots))


def slots_by_dirichlet(labels: Indices, concentration: float, random: np.random.Generator) -> Indices:
    """Return the slot of time of each sample; there are as many slots as classes.

    Each class is cut into slots in proportions drawn from a Dirichlet distribution. A small concentration puts a class
    into few slots; a large one spreads all classes evenly, which leaves a plain shuffle.
    """
    classes = np.unique(labels)
    slots = np.empty(len(labels), dtype=np.int64)
    for label in classes:
        members = random.permutation(np.flatnonzero(labels == label))
        ends = np.cumsum(random.dirichlet(np.full(len(classes), concentration)))
        slots[members] = np.searchsorted(ends[:-1], (np.arange(len(members)) + 0.5) / len(members))
    return slots


ORDERS: dict[str, Callable[[Pool], Samples]] = {
    "continual": continual,
    "correlated": correlated,
    "gradual": gradual,
    "mixed": mixed,
    "mixed-all": mixed_all,
    "single": single,
}
