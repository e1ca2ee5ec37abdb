"""The order of methods, published and measured."""

from mixnorm.paper import load_table
from mixnorm.paper.ranking import rankings
from mixnorm.paper.selection import select
from tests.paper.records import comparison

MIXED = load_table("cifar10-c-mixed-wrn28")


def test_ranking_with_ties_and_without_what_is_not_published() -> None:
    errors = {"tent": 50.0, "mixnorm-fixed": 20.0, "mixnorm": 30.0, "mixnormbn": 30.0, "bn": 1.0}
    table = select(MIXED, methods=list(errors), batch_sizes=[1])
    made = comparison(table, lambda cell: errors[cell.column.id] % 50)
    (ranking,) = rankings(made)
    assert ranking.published == "mixnorm-fixed < mixnorm = mixnormbn < tent"
    assert ranking.measured == "tent < mixnorm-fixed < mixnorm = mixnormbn"


def test_nothing_to_rank() -> None:
    assert rankings(comparison(select(MIXED, methods=["tent"]), lambda cell: 1.0)) == ()
    assert rankings(comparison(load_table("ablation-statistics"), lambda cell: 1.0)) == ()
