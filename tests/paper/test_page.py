"""A comparison as a page."""

from mixnorm.paper import load_table
from mixnorm.paper.page import page
from mixnorm.paper.selection import select
from tests.paper.records import comparison

MIXED = load_table("cifar10-c-mixed-wrn28")


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
