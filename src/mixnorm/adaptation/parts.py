"""Cutting a batch into parts that run one after the other."""

from collections.abc import Callable, Sequence


def before_looks(names: Sequence[str], index: Sequence[int], until_look: Callable[[str], float]) -> list[int]:
    """Say which samples, of some of a batch, come before their streams are looked at.

    `names` are the streams of all samples of the batch, and `until_look` says how many samples of each come before.

    >>> before_looks(["a", "b", "a", "a", "b"], [0, 1, 2, 3, 4], {"a": 2, "b": 9}.__getitem__)
    [0, 1, 2, 4]
    """
    left = {name: until_look(name) for name in {names[place] for place in index}}
    before = []
    for place in index:
        left[names[place]] -= 1
        if left[names[place]] >= 0:
            before.append(place)
    return before


def evenly(index: list[int], most: int) -> list[list[int]]:
    """Cut a list into as few parts as may be, which are as even as they can be.

    >>> evenly([3, 4, 5, 6, 7], most=4)
    [[3, 4, 5], [6, 7]]
    """
    length = -(-len(index) // -(-len(index) // most))
    return [index[start : start + length] for start in range(0, len(index), length)]
