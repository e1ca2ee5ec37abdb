"""How far a share that was counted in few samples may lie from the true one."""

import math

Z = 1.959964  # 95 % of a normal distribution lie within this many standard deviations


def wilson(share: float, count: int) -> tuple[float, float]:
    """Return the 95 % interval of Wilson for a share of `count` samples; it never leaves 0 to 1.

    >>> [round(bound, 3) for bound in wilson(0.0, 100)]
    [0.0, 0.037]
    """
    spread = Z**2 / count
    centre = (share + spread / 2) / (1 + spread)
    half = math.sqrt(share * (1 - share) * spread + spread**2 / 4) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)


def clearly_lower(share: float, other: float, count: int) -> bool:
    """Whether a share of `count` samples is lower than another by more than chance explains in 95 of 100 cases.

    Both shares count as if of different samples. Here they are of the same ones, so the answer errs on the safe side.
    """
    deviation = math.sqrt((share * (1 - share) + other * (1 - other)) / count)
    return other - share > Z * deviation
