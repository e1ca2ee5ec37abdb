"""Axes: all values are on them, and ticks are round."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixnorm.report.ticks import linear, logarithmic

VALUES = st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=1, max_size=8)


@given(values=VALUES)
def test_all_values_are_on_a_linear_axis(values: list[float]) -> None:
    axis = linear("x", values)
    assert all(0 <= axis.place(value) <= 1 + 1e-9 for value in values)
    assert 2 <= len(axis.ticks) <= 8


@pytest.mark.parametrize(
    ("top", "ticks"),
    [(0.0, ["0", "1"]), (47.2, ["0", "10", "20", "30", "40", "50"]), (100.0, ["0", "20", "40", "60", "80", "100"])],
)
def test_ticks_are_round(top: float, ticks: list[str]) -> None:
    assert [name for _, name in linear("x", [top]).ticks] == ticks


def test_a_logarithmic_axis_spaces_by_ratio() -> None:
    axis = logarithmic("batch size", [1, 8, 64])
    places = [axis.place(value) for value in (1, 8, 64)]
    assert places[1] - places[0] == pytest.approx(places[2] - places[1])
    assert 0 < places[0] < places[2] < 1
    assert [name for _, name in axis.ticks] == ["1", "8", "64"]


def test_a_single_value_stands_in_the_middle() -> None:
    assert logarithmic("batch size", [64]).place(64) == pytest.approx(0.5)


def test_names_that_would_touch_are_left_out() -> None:
    names = [name for _, name in logarithmic("batch size", [1, 5, 8, 100, 101]).ticks]
    assert names[0] == "1"
    assert names[3:] == ["100", ""]
