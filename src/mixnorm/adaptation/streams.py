"""The streams of an adapted model: which slot keeps the state of each, and how many samples it has seen."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from mixnorm.errors import InputError, unknown_name

DEFAULT = ""
"""The stream of samples that name none."""


class Streams:
    """Names, slots and counts. The default stream has slot 0; a slot is free again when its stream is forgotten."""

    def __init__(self) -> None:
        self._slots = {DEFAULT: 0}
        self._seen: Counter[str] = Counter()

    @property
    def names(self) -> tuple[str, ...]:
        """The named streams that have a state."""
        return tuple(name for name in self._slots if name != DEFAULT)

    def __iter__(self) -> Iterator[str]:
        """All streams with a state, in the order of their slots; the default one comes first."""
        return iter(sorted(self._slots, key=self._slots.__getitem__))

    def slot(self, name: str) -> int:
        """Look up the slot of a stream that has a state."""
        if name not in self._slots:
            raise unknown_name("stream", name, self.names)
        return self._slots[name]

    def seen(self, name: str) -> int:
        """How many samples of a stream have been taken in."""
        return self._seen[name]

    def assign(self, names: Iterable[str]) -> dict[str, int]:
        """Find a slot for each name; new names get free slots, which they hold once they have been seen."""
        taken = set(self._slots.values())
        free = (slot for slot in count() if slot not in taken)
        return {name: self._slots[name] if name in self._slots else next(free) for name in dict.fromkeys(names)}

    def places(self, names: Sequence[str]) -> list[int]:
        """Say which sample of its stream, counted from 0, each sample of a batch would be."""
        seen = Counter({name: self._seen[name] for name in set(names)})
        places = []
        for name in names:
            places.append(seen[name])
            seen[name] += 1
        return places

    def take_in(self, names: Sequence[str], slots: dict[str, int]) -> None:
        """Count samples as seen, and let their streams hold their slots."""
        self._seen.update(names)
        self._slots.update((name, slots[name]) for name in names)

    def forget(self, name: str) -> None:
        """Drop a stream."""
        self.slot(name)
        del self._seen[name]
        if name != DEFAULT:
            del self._slots[name]

    def copy(self) -> "Streams":
        """Copy the names, slots and counts."""
        twin = Streams()
        twin._slots, twin._seen = dict(self._slots), Counter(self._seen)
        return twin

    def export(self) -> dict[str, int]:
        """Write the count of each stream in the order of the slots."""
        return {name: self._seen[name] for name in self}

    def load(self, seen: dict[str, int]) -> None:
        """Replace everything by what `export` wrote; the streams get consecutive slots."""
        self._slots = {name: slot for slot, name in enumerate(seen)}
        self._seen = Counter(seen)


def stream_names(streams: str | Sequence[str] | None, samples: int) -> list[str]:
    """Check the stream names of a batch: one for each sample, one for all, or none."""
    if streams is None:
        return [DEFAULT] * samples
    if not isinstance(streams, Iterable):
        raise InputError(f"streams must be a name for each sample, got {streams!r}")
    names = [streams] * samples if isinstance(streams, str) else list(streams)
    for name in names:
        if not isinstance(name, str) or not name:
            raise InputError(f"a stream's name must be a string that is not empty, got {name!r}")
    if len(names) != samples:
        raise InputError(f"got {len(names)} stream names for {samples} samples; give one for each sample")
    return names
