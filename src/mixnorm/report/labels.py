"""What a method is called on the page, and in which order methods stand."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

SOURCE = "Source"
_NAMES = {"BatchStatistics": "BN", "Tent": "TENT", "Ttt": "TTT", "Shot": "SHOT"}
# The paper's order: what changes nothing, what it is compared with, its own.
ORDER = (SOURCE, "BN", "TTT", "TENT", "SHOT", "MixNorm fixed", "MixNorm", "MixNormBN fixed", "MixNormBN")
# Each method keeps its colour on every page.
_COLOURED = (SOURCE, "BN", "TENT", "MixNorm fixed", "MixNorm", "MixNormBN fixed", "MixNormBN", "SHOT", "TTT")


def label(method: Mapping[str, Any]) -> str:
    """Return the name of a method by its settings; "fixed" says that its affine parameters are not learned.

    >>> label({"method": "MixNorm", "m": 0.2, "learn": None})
    'MixNorm fixed'
    """
    name = str(method.get("method"))
    return f"{name} fixed" if "learn" in method and method["learn"] is None else _NAMES.get(name, name)


def labels(methods: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a label for each method; those of one name are told apart by the settings in which they differ.

    >>> labels([{"method": "MixNorm", "m": 0.2, "tau": 0.001}, {"method": "MixNorm", "m": 0.3, "tau": 0.001}])
    ['MixNorm (m 0.2)', 'MixNorm (m 0.3)']
    """
    names = [label(method) for method in methods]
    return [
        _told_apart(
            name, method, [other for other, other_name in zip(methods, names, strict=True) if other_name == name]
        )
        for name, method in zip(names, methods, strict=True)
    ]


def in_order(names: Iterable[str]) -> list[str]:
    """Return each label once: those of the paper in its order, then the others by the alphabet."""
    return sorted(set(names), key=lambda name: (_rank(name), name))


def _rank(name: str) -> int:
    base = name.partition(" (")[0]
    return ORDER.index(base) if base in ORDER else len(ORDER)


def _told_apart(name: str, method: Mapping[str, Any], same_name: Sequence[Mapping[str, Any]]) -> str:
    settings, others = flat(method), [flat(other) for other in same_name]
    differing = [field for field in settings if any(other.get(field) != settings[field] for other in others)]
    if not differing:
        return name
    return f"{name} ({', '.join(f'{field} {settings[field]}' for field in differing)})"


def flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings within settings under names with a dot.

    >>> flat({"m": 0.2, "learn": {"lr": 0.001}})
    {'m': 0.2, 'learn.lr': 0.001}
    """
    flattened: dict[str, Any] = {}
    for name, value in settings.items():
        inner = flat(value) if isinstance(value, Mapping) else None
        flattened |= {name: value} if inner is None else {f"{name}.{key}": part for key, part in inner.items()}
    return flattened


def numbered(names: Iterable[str]) -> dict[str, int]:
    """Give each label its number, that is its colour: those of the paper have fixed ones, others take what is free.

    >>> numbered(["MixNorm fixed", "Source", "mine"])
    {'Source': 0, 'MixNorm fixed': 3, 'mine': 1}
    """
    ordered = in_order(names)
    known = {name: _COLOURED.index(name) for name in ordered if name in _COLOURED}
    free = (number for number in itertools.count() if number not in known.values())
    return {name: known[name] if name in known else next(free) for name in ordered}
