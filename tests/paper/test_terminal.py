"""Tables in the terminal: each number at its place."""

import io

import pytest
from rich.console import Console

from mixnorm.paper import list_tables, load_table
from mixnorm.paper.selection import select
from mixnorm.paper.table import Table
from mixnorm.paper.terminal import comparison_table, heading, measured_table, published_table, ranking_table
from tests.paper.records import comparison

MIXED = load_table("cifar10-c-mixed-wrn28")


def shown(renderable: object) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(renderable)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def line_with(text: str, *words: str) -> str:
    (line,) = (each for each in text.splitlines() if all(word in each for word in words))
    return line


def test_published_measured_difference() -> None:
    made = comparison(select(MIXED, methods=["tent", "bn"], batch_sizes=[1, 200]), lambda cell: 40.0)
    text = shown(comparison_table(made))
    headings = [part.strip() for part in line_with(text, "published").split("┃")[1:-1]]
    assert headings == ["method", "batch size", "published", "measured", "difference"]
    assert line_with(text, "TENT", "200").split("│")[3:6] == ["     33.12 ", "    40.00 ", "      +6.88 "]
    assert line_with(text, "BN", "200").split("│")[3:6] == ["         - ", "    40.00 ", "          - "]


@pytest.mark.parametrize("table", list_tables(), ids=lambda table: table.name)
def test_every_table_can_be_shown_with_all_its_published_numbers(table: Table) -> None:
    text = shown(published_table(table))
    for cell in table.cells:
        if cell.published is not None:
            assert (f"{cell.published:.2f}" if table.kind == "results" else f"{cell.published:g}") in text
    if table.kind == "results":
        lines = shown(comparison_table(comparison(table, lambda cell: 40.0))).splitlines()
        assert len([line for line in lines if line.startswith("│")]) >= len(table.cells)


def test_rows_of_the_same_name_are_told_apart() -> None:
    text = shown(comparison_table(comparison(load_table("ablation-statistics"), lambda cell: 50.0)))
    assert line_with(text, "Mixed Norm (mixed-0.1)", "32.66")
    assert line_with(text, "Instance Norm ", "78.21")


def test_small_settings_are_shown_in_full() -> None:
    row = line_with(shown(published_table(load_table("hyper-parameters-mixnorm"))), "Food-101")
    assert [part.strip() for part in row.split("│")[1:-1]] == ["Food-101", "0.005", "1e-07", "-"]


def test_the_best_of_a_grid_is_marked() -> None:
    table = load_table("ablation-views")
    made = comparison(table, lambda cell: float(cell.column.id))
    row = line_with(shown(measured_table(made, table.cells[0])), "ImageNet-C Error Rate")
    assert row.split("│")[2:4] == [" * 1.00 ", " 3.00 "]


def test_the_ranking_is_shown_where_there_is_one() -> None:
    made = comparison(select(MIXED, batch_sizes=[1]), lambda cell: cell.published or 0.0)
    text = shown(ranking_table(made))
    assert "Lowest error first" in text
    assert text.count("mixnorm-fixed < mixnorm") == 2
    assert ranking_table(comparison(select(MIXED, methods=["tent"]), lambda cell: 1.0)) is None


def test_the_heading_tells_where_the_table_stands() -> None:
    expected = "Settings in the algorithm boxes\nSection 3, Algorithms 1 and 2 of the paper"
    assert heading(load_table("algorithm-defaults")) == expected
