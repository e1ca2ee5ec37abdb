"""Published beside measured: which number is measured, and its difference."""

import dataclasses
import json

import pytest

from mixnorm.evaluation.run import failed
from mixnorm.paper import load_table
from mixnorm.paper.comparison import Comparison, reported_error
from mixnorm.paper.specs import Setup, spec_of
from tests.paper.records import comparison, record

MIXED = load_table("cifar10-c-mixed-wrn28")
SINGLE = load_table("cifar10-c-single-wrn28")


def test_corruptions_one_after_another_count_the_same_however_many_images_they_have() -> None:
    spec = spec_of(SINGLE, SINGLE.cells[0], Setup())
    assert reported_error(record(spec, {"fog": 10.0, "snow": 40.0}, {"fog": 90, "snow": 10})) == 25.0


def test_a_mixture_is_one_evaluation() -> None:
    spec = spec_of(MIXED, MIXED.cells[0], Setup())
    assert reported_error(record(spec, {"fog": 10.0, "snow": 40.0}, {"fog": 90, "snow": 10})) == 13.0


def test_measured_minus_published() -> None:
    made = comparison(MIXED, lambda cell: (cell.published or 0) + 1.25)
    assert all(made.difference(cell) == pytest.approx(1.25) for cell in MIXED.cells)


def test_accuracy_is_what_is_not_error() -> None:
    table = load_table("zero-shot")
    made = comparison(table, lambda cell: 30.0)
    assert [made.measured(cell) for cell in table.cells] == [70.0] * 10
    assert made.difference(table.cells[0]) == pytest.approx(70 - 40.97)


def test_what_has_not_been_run_or_published_has_no_difference() -> None:
    empty = Comparison(table=MIXED, setup=Setup(), records={})
    assert empty.measured(MIXED.cells[0]) is None
    assert empty.difference(MIXED.cells[0]) is None
    unpublished = dataclasses.replace(MIXED, published={})
    assert comparison(unpublished, lambda cell: 1.0).difference(unpublished.cells[0]) is None


def test_a_failed_run_is_told() -> None:
    cell = MIXED.cells[0]
    broken = failed(spec_of(MIXED, cell, Setup()), {"type": "ModelError", "message": "no such layer", "traceback": ""})
    made = Comparison(table=MIXED, setup=Setup(), records={(cell.row.id, cell.column.id): broken})
    assert made.measured(cell) is None
    assert made.failures == {"1, tent": "ModelError: no such layer"}


@pytest.mark.parametrize("setup", [Setup(data="x"), Setup(model="x"), Setup(limit=5), Setup(checkpoint="x")])
def test_what_is_not_the_papers_own(setup: Setup) -> None:
    assert not comparison(MIXED, lambda cell: 1.0, setup).like_the_paper
    assert comparison(MIXED, lambda cell: 1.0, Setup(data_dir="somewhere", seed=3)).like_the_paper


def test_as_plain_data() -> None:
    written = json.loads(json.dumps(comparison(MIXED, lambda cell: 50.0).to_dict()))
    first = written["cells"][0]
    assert (first["row"], first["column"], first["published"], first["measured"]) == ("1", "tent", 89.69, 50.0)
    assert first["record"] == spec_of(MIXED, MIXED.cells[0], Setup()).id
    assert (written["table"], written["measure"], len(written["cells"])) == (MIXED.name, "error in %", 32)
