"""Every number of the tables is the one that the source of the paper prints."""

import re

import pytest

from mixnorm.paper import Table, list_tables, load_table
from tests.paper.latex import LatexTable, latex_tables, needs_source, plain, source

pytestmark = needs_source

UNLABELLED = {
    "hyper-parameters-mixnorm": "Hyper-Parameters of MixNorm Experiments",
    "hyper-parameters-mixnormbn": "Hyper-Parameters of MixNormBN Experiments",
}
IN_THE_TEXT = {"algorithm-defaults", "corruption-datasets", "digit-datasets"}
IN_TABLES = [table for table in list_tables() if table.name not in IN_THE_TEXT]


def in_the_paper(table: Table) -> LatexTable:
    (found,) = (each for each in latex_tables() if each in matching(table))
    return found


def matching(table: Table) -> list[LatexTable]:
    if table.label is not None:
        return [each for each in latex_tables() if each.label == table.label]
    return [each for each in latex_tables() if each.caption.startswith(UNLABELLED[table.name])]


def numbers(table: Table, row: str) -> list[float | None]:
    return [table.published[row, column.id] for column in table.columns]


def number(printed: str) -> float | None:
    return None if printed == "-" else float(printed)


def test_each_table_of_the_paper_is_here_once() -> None:
    assert sorted(in_the_paper(table).caption for table in IN_TABLES) == sorted(each.caption for each in latex_tables())


@pytest.mark.parametrize(
    "table", [each for each in IN_TABLES if each.name != "ablation-statistics"], ids=lambda t: t.name
)
def test_headings_and_numbers(table: Table) -> None:
    header, *rows = in_the_paper(table).rows
    assert header[-len(table.columns) :] == [column.name for column in table.columns]
    assert [row[0] for row in rows] == [row.name for row in table.rows]
    for (_, *printed), row in zip(rows, table.rows, strict=True):
        assert [number(each) for each in printed] == numbers(table, row.id), row.name


def test_ablation_of_statistics() -> None:
    table = load_table("ablation-statistics")
    _, header, *rows = in_the_paper(table).rows
    for printed, row in zip(rows, table.rows, strict=True):
        assert row.name == printed.pop(1)
        expected = dict(zip(["No", *header, "Error Rate"], map(float, printed), strict=True))
        assert {**row.printed, "Error Rate": table.published[row.id, "error"]} == expected


@pytest.mark.parametrize(("name", "caption"), [("MixNorm", "Mix-Norm Update"), ("MixNormBN", "MixNormBN: Combines")])
def test_algorithm_boxes(name: str, caption: str) -> None:
    (box,) = (
        each
        for each in re.findall(r"\\begin\{algorithm\}.*?\\end\{algorithm\}", source(), re.DOTALL)
        if caption in each
    )
    said = dict(re.findall(r"\$\\?(m|tau|tau_\{max\}) ?= ?([\d.]+)\$", box))
    table = load_table("algorithm-defaults")
    here = {column.id: table.published[name, column.id] for column in table.columns}
    assert {key: value for key, value in here.items() if value is not None} == {
        key.replace("{max}", "max"): float(value) for key, value in said.items()
    }


def test_sizes_of_the_digit_sets() -> None:
    table = load_table("digit-datasets")
    (sentence,) = re.findall(
        r"SVHN, MNIST, MNIST-M and USPS are all (\d+)-class .*?sizes of (.*?) respectively", source()
    )
    pairs = re.findall(r"(\d+)/(\d+)", sentence[1])
    expected = [[float(sentence[0]), float(train), float(test)] for train, test in pairs]
    assert [numbers(table, row) for row in ("svhn", "mnist", "mnist-m", "usps")] == expected


def test_sizes_of_the_corrupted_sets() -> None:
    table = load_table("corruption-datasets")
    text = plain(source())
    cifar = re.search(
        r"CIFAR-10C includes (\d+) subsets that are composed of (\d+) types of corruptions at (\d+) severity levels. "
        r"It comprises the ([\d,]+) images, each of size (\d+)x\d+ pixels, from the (\d+) classes",
        text,
    )
    imagenet = re.search(
        r"ImageNet-C is composed of a set of (\d+) .*?, with ([\d,]+) images of (\d+)x\d+ pixels from (\d+) classes",
        text,
    )
    levels = re.search(r"with (\d+) severity levels and (\d+) different corruption types", text)
    assert cifar
    assert imagenet
    assert levels
    subsets, images, pixels, classes = imagenet.groups()
    expected = [subsets, levels[2], levels[1], images, pixels, classes]
    assert numbers(table, "cifar10-c") == [float(each.replace(",", "")) for each in cifar.groups()]
    assert numbers(table, "imagenet-c") == [float(each.replace(",", "")) for each in expected]


def test_rows_at_a_batch_size_say_which() -> None:
    for table in IN_TABLES:
        if table.by_batch_size:
            assert [row.settings["batch_size"] for row in table.rows] == [int(row.name) for row in table.rows]
