"""The tables as data: whole, consistent with the methods' presets, and refused when broken."""

import pytest

import mixnorm as mn
from mixnorm.adaptation import Method
from mixnorm.benchmarks.datasets.catalogue import CATALOGUE
from mixnorm.benchmarks.models import find_model
from mixnorm.benchmarks.streams import ORDERS
from mixnorm.benchmarks.streams.load import RELEASED
from mixnorm.errors import DataError, UnknownNameError
from mixnorm.paper import Table, list_tables, load_table
from mixnorm.paper.tables import read_table

RESULTS = [table for table in list_tables() if table.kind == "results"]
SMALL = """
title = "A table"
where = "nowhere"
kind = "results"
down = "batch size"
across = "method"
[run]
data = "digits-c"
order = "mixed"
reset = "never"
severity = 5
model = "digits"
[[columns]]
id = "mixnorm"
name = "MixNorm"
method = "MixNorm"
[[rows]]
batch_size = 8
values = [1.5]
"""


def test_results_and_their_number() -> None:
    # Six tables by batch size, two ablations, zero-shot and domain adaptation.
    assert sum(len(table.cells) for table in RESULTS) == 4 * 32 + 2 * 24 + 8 + 6 + 10 + 12


@pytest.mark.parametrize("table", RESULTS, ids=lambda table: table.name)
def test_each_cell_is_a_run_of_what_the_package_knows(table: Table) -> None:
    for cell in table.cells:
        run = table.run(cell)
        assert run.data in {*CATALOGUE, *RELEASED}
        assert run.order in ORDERS
        assert find_model(run.model).name == run.model
        assert cell.published is not None
        assert 0 < cell.published < 100


def test_a_row_may_say_something_else_in_each_column() -> None:
    table = load_table("zero-shot")
    methods = [table.run(cell).method for cell in table.cells if cell.row.id == "mixnorm-fixed"]
    assert methods == [mn.MixNorm.preset(column.id) for column in table.columns]


def test_number_of_views() -> None:
    table = load_table("ablation-views")
    assert [table.run(cell).method.augmentations for cell in table.cells] == [1, 3, 5, 7, 9, 15]
    assert table.run(table.cells[0]).method == mn.MixNormBN.preset("imagenet-c/mixed")


@pytest.mark.parametrize("name", ["hyper-parameters-mixnorm", "hyper-parameters-mixnormbn"])
def test_presets_are_the_published_settings(name: str) -> None:
    table = load_table(name)
    kind = Method.registry[table.shared["method"]]
    for row in table.rows:
        said = {column.id: table.published[row.id, column.id] for column in table.columns}
        rate = said.pop("lr")
        method = kind.preset(row.id)
        learnable = kind.preset(f"{row.id}/learnable") if kind is mn.MixNorm and rate else method
        assert {key: getattr(method, key) for key in said} == said
        assert (learnable.learning.lr if learnable.learning else None) == rate


def test_defaults_are_the_algorithm_boxes() -> None:
    table = load_table("algorithm-defaults")
    for cell in table.cells:
        if cell.published is not None:
            assert getattr(Method.registry[cell.row.id](), cell.column.id) == cell.published


def test_ablations_follow_the_printed_scales_but_for_the_misprint() -> None:
    table = load_table("ablation-statistics")
    for cell in table.cells:
        method = table.run(cell).method
        assert isinstance(method, mn.MixNorm)
        local = 0.05 if cell.row.printed["No"] == 5 else cell.row.printed["Local Scale"]
        assert (method.tau, method.m) == (cell.row.printed["Moving Speed"], local)
        assert (method.learn is not None) == (cell.row.id in ("mixed-0.05", "mixed-0.1", "mixed-0.2"))


def test_a_table_that_the_paper_does_not_have() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown table 'cifar10-c-mixed'; did you mean 'cifar10-c-mixed-wrn"):
        load_table("cifar10-c-mixed")


def test_a_small_table_is_read() -> None:
    table = read_table("small", SMALL)
    (cell,) = table.cells
    assert (cell.published, cell.row.id, table.run(cell).batch_size) == (1.5, "8", 8)
    assert (table.by_batch_size, table.methods_along) == (True, "columns")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('kind = "results"', 'kind = "result"', "unknown kind 'result'; did you mean 'results'"),
        ("[1.5]", "[1.5, 2.5]", "zip"),
        ("batch_size = 8", "batchsize = 8", "unknown key of a row 'batchsize'"),
        ('model = "digits"', "", "missing 1 required keyword-only argument: 'model'"),
        ('method = "MixNorm"', 'method = "Mixnorm"', "unknown method 'Mixnorm'"),
        ('method = "MixNorm"', 'method = "MixNorm"\npreset = "cifar10-c"', "unknown preset of MixNorm 'cifar10-c'"),
        ('where = "nowhere"', "", "where"),
        ("title =", "titel =", "unknown key of a table 'titel'"),
        ("[[rows]]", "[rows", "TOMLDecodeError"),
    ],
)
def test_a_broken_table_is_refused(old: str, new: str, reason: str) -> None:
    assert old in SMALL
    with pytest.raises(DataError, match=f"the table small cannot be read: .*{reason}"):
        read_table("small", SMALL.replace(old, new))
