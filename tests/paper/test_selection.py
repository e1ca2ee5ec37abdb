"""Choosing methods and batch sizes of a table."""

import pytest

import mixnorm as mn
from mixnorm.errors import SettingError, UnknownNameError
from mixnorm.paper import load_table
from mixnorm.paper.selection import known_methods, select

MIXED = load_table("cifar10-c-mixed-wrn28")
ABLATION = load_table("ablation-statistics")


def test_without_a_choice_it_is_the_whole_table() -> None:
    assert select(MIXED) == MIXED


def test_methods_in_the_order_asked_for_each_once() -> None:
    chosen = select(MIXED, methods=["mixnormbn", "source", "bn", "mixnormbn"])
    assert [column.id for column in chosen.columns] == ["mixnormbn", "source", "bn"]
    methods = [chosen.run(cell).method for cell in chosen.cells[:3]]
    assert methods == [mn.MixNormBN.preset("cifar10-c/mixed"), mn.Source(), mn.BatchStatistics()]


def test_methods_along_the_rows() -> None:
    chosen = select(ABLATION, methods=["source", "instance"])
    assert [chosen.run(cell).method for cell in chosen.cells] == [mn.Source(), mn.MixNorm(m=1.0, tau=0.0, views=0)]
    assert [cell.published for cell in chosen.cells] == [None, 78.21]


def test_a_method_that_the_table_has_is_not_replaced_by_the_one_for_all_tables() -> None:
    table = load_table("domain-adaptation")
    assert [cell.published for cell in select(table, methods=["bn"]).cells] == [22.70, 36.87, 44.04]
    assert known_methods(table) == ("source", "bn", "tent", "mixnormbn", "ttt", "shot")


def test_batch_sizes_old_and_new() -> None:
    chosen = select(MIXED, methods=["tent"], batch_sizes=[200, 2])
    assert [(cell.row.name, cell.published, chosen.run(cell).batch_size) for cell in chosen.cells] == [
        ("200", 33.12, 200),
        ("2", None, 2),
    ]


def test_another_batch_size_for_a_table_with_one() -> None:
    chosen = select(ABLATION, batch_sizes=[64])
    assert {chosen.run(cell).batch_size for cell in chosen.cells} == {64}
    with pytest.raises(
        SettingError, match=r"ablation-statistics has results at one batch size; give one, not \[1, 8\]"
    ):
        select(ABLATION, batch_sizes=[1, 8])


def test_an_unknown_method() -> None:
    with pytest.raises(UnknownNameError, match="unknown method of cifar10-c-mixed-wrn28 'mixnorm-bn'; did you mean"):
        select(MIXED, methods=["mixnorm-bn"])


def test_views_are_no_setting_of_the_source_model() -> None:
    chosen = select(load_table("ablation-views"), methods=["source"])
    with pytest.raises(UnknownNameError, match="unknown setting of Source 'views'"):
        chosen.run(chosen.cells[0])


def test_some_columns_keep_what_rows_say_about_them() -> None:
    table = select(load_table("domain-adaptation"), methods=["mixnormbn"], columns=["mnist-m", "mnist"])
    assert [table.run(cell).method for cell in table.cells] == [
        mn.MixNormBN.preset("mnist-m"),
        mn.MixNormBN.preset("mnist"),
    ]
    assert [cell.published for cell in table.cells] == [42.19, 7.95]
