"""Uncertainty, against scipy and against chance itself."""

import numpy as np
import pytest
from scipy.stats import binomtest

from mixnorm.report.interval import clearly_lower, wilson


@pytest.mark.parametrize(("wrong", "count"), [(0, 10), (1, 10), (5, 10), (10, 10), (189, 600), (599, 600), (0, 1)])
def test_interval_is_wilsons(wrong: int, count: int) -> None:
    expected = binomtest(wrong, count).proportion_ci(confidence_level=0.95, method="wilson")
    assert wilson(wrong / count, count) == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_equal_methods_are_seldom_called_different() -> None:
    random = np.random.default_rng(0)
    shares = random.binomial(600, 0.4, size=(4000, 2)) / 600
    called = [clearly_lower(first, second, 600) for first, second in shares.tolist()]
    assert 0.015 < np.mean(called) < 0.035  # one side of the 5 %


def test_a_large_difference_is_clear_and_the_wrong_direction_never() -> None:
    assert clearly_lower(0.315, 0.472, 600)
    assert not clearly_lower(0.472, 0.315, 600)
    assert not clearly_lower(0.315, 0.472, 20)
    assert not clearly_lower(0.3, 0.3, 10**9)
