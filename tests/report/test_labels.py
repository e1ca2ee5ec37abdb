"""What methods are called, and which colour they get."""

import pytest

import mixnorm as mn
from mixnorm.report.labels import ORDER, in_order, label, labels, numbered
from tests.report.records import METHODS


@pytest.mark.parametrize("name", METHODS)
def test_names_are_the_papers(name: str) -> None:
    assert label(METHODS[name].to_dict()) == name


def test_methods_of_one_name_are_told_apart_by_what_differs() -> None:
    methods = [mn.MixNorm(m=0.2), mn.MixNorm(m=0.3, views=0), mn.Tent()]
    expected = ["MixNorm fixed (m 0.2, views 1)", "MixNorm fixed (m 0.3, views 0)", "TENT"]
    assert labels([method.to_dict() for method in methods]) == expected


def test_settings_of_learning_tell_methods_apart_too() -> None:
    methods = [mn.Tent(), mn.Tent(learn=mn.Entropy(lr=0.01))]
    assert labels([method.to_dict() for method in methods]) == ["TENT (learn.lr 0.001)", "TENT (learn.lr 0.01)"]


def test_order_is_the_papers_then_the_alphabet() -> None:
    assert in_order(["zeta", "MixNorm", "alpha", "Source", "BN (x 1)", "MixNorm"]) == [
        "Source",
        "BN (x 1)",
        "MixNorm",
        "alpha",
        "zeta",
    ]


def test_numbers_are_fixed_for_the_papers_methods_and_unique_for_all() -> None:
    alone = {name: numbered([name])[name] for name in ORDER}
    numbers = numbered(["mine", "yours", *ORDER[2:]])
    assert {name: number for name, number in numbers.items() if name in ORDER[2:]} == {
        name: alone[name] for name in ORDER[2:]
    }
    assert len(set(numbers.values())) == len(numbers)
    assert sorted(alone.values()) == list(range(len(ORDER)))


def test_methods_that_the_paper_has_always_had_keep_their_colours() -> None:
    assert numbered(["Source", "BN", "TENT", "MixNorm fixed", "MixNorm", "MixNormBN"]) == {
        "Source": 0,
        "BN": 1,
        "TENT": 2,
        "MixNorm fixed": 3,
        "MixNorm": 4,
        "MixNormBN": 6,
    }
