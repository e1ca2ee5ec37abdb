"""What people read: tables in the terminal, a page, rankings, and sentences."""

import io

import pytest
from rich.console import Console

from mixnorm.paper import list_tables, load_table
from mixnorm.paper.page import page
from mixnorm.paper.ranking import rankings
from mixnorm.paper.selection import select
from mixnorm.paper.sentences import sentences
from mixnorm.paper.specs import Setup
from mixnorm.paper.table import Table
from mixnorm.paper.terminal import comparison_table, measured_table, published_table, ranking_table
from tests.paper.records import comparison

MIXED = load_table("cifar10-c-mixed-wrn28")
OWN = Setup(model="models.py:small", data="photos", limit=100)


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
    assert "CIFAR-10-C, all corruptions mixed" in text
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


def test_a_page_has_the_papers_rows_and_columns() -> None:
    made = comparison(select(MIXED, methods=["source", "tent"], batch_sizes=[1, 5]), lambda cell: 40.0)
    assert (
        "| batch size | Source | TENT |\n| --- | --- | --- |\n"
        "| 1 | 40.00 (-) | 40.00 (89.69) |\n| 5 | 40.00 (-) | 40.00 (39.39) |\n"
    ) in page(made)


def test_a_page_shows_the_figure_the_ranking_and_the_sentences() -> None:
    text = page(comparison(MIXED, lambda cell: cell.published or 0.0), "figure.svg")
    assert text.startswith(f"# {MIXED.title}\n\nAppendix A")
    assert f"![{MIXED.title}](figure.svg)\n" in text
    order = "mixnorm-fixed < mixnorm = mixnormbn < tent"
    assert f"| 1 | {order} | {order} |" in text
    assert "- Error in %; a difference is measured - published.\n" in text


def test_sentences_tell_other_data_and_misprints() -> None:
    text = "\n".join(sentences(comparison(MIXED, lambda cell: 40.0, OWN)))
    assert "Measured with models.py:small on photos, 100 images; published with wrn-28-10 on cifar10-c." in text
    assert "compare the order of the methods, not the numbers" in text
    assert "In the paper: The learnable MixNorm has one value for all batch sizes" in text
    assert "compare the order" not in "\n".join(sentences(comparison(MIXED, lambda cell: 40.0)))


def test_ranking_with_ties_and_without_what_is_not_published() -> None:
    errors = {"tent": 50.0, "mixnorm-fixed": 20.0, "mixnorm": 30.0, "mixnormbn": 30.0, "bn": 1.0}
    table = select(MIXED, methods=list(errors), batch_sizes=[1])
    made = comparison(table, lambda cell: errors[cell.column.id])
    (ranking,) = rankings(made)
    assert ranking.published == "mixnorm-fixed < mixnorm = mixnormbn < tent"
    assert ranking.measured == "mixnorm-fixed < mixnorm = mixnormbn < tent"
    assert "Lowest error first" in shown(ranking_table(made))


def test_nothing_to_rank() -> None:
    assert ranking_table(comparison(select(MIXED, methods=["tent"]), lambda cell: 1.0)) is None
    assert rankings(comparison(load_table("ablation-statistics"), lambda cell: 1.0)) == ()
