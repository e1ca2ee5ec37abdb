"""What is said about the numbers."""

from mixnorm.evaluation.record import Failure
from mixnorm.evaluation.run import failed as failed_record
from mixnorm.paper import Comparison, load_table
from mixnorm.paper.sentences import failed, sentences
from mixnorm.paper.specs import Setup, spec_of
from tests.paper.records import comparison

MIXED = load_table("cifar10-c-mixed-wrn28")
OWN = Setup(model="models.py:small", data="photos", limit=100)


def test_sentences_tell_other_data_and_misprints() -> None:
    text = "\n".join(sentences(comparison(MIXED, lambda cell: 40.0, OWN)))
    assert "Measured with models.py:small on photos, 100 images; published with wrn-28-10 on cifar10-c." in text
    assert "compare the order of the methods, not the numbers" in text
    assert "In the paper: The learnable MixNorm has one value for all batch sizes" in text
    assert "compare the order" not in "\n".join(sentences(comparison(MIXED, lambda cell: 40.0)))


def test_all_data_sets_of_a_table_are_named() -> None:
    text = "\n".join(sentences(comparison(load_table("zero-shot"), lambda cell: 40.0, Setup(model="m.py:clip"))))
    sets = "cifar100, stanford-cars, cifar10, food101, stl10"
    assert f"Measured with m.py:clip on {sets}; published with clip-rn50 on {sets}." in text
    assert "Accuracy in %; a difference is measured - published." in text


def test_runs_that_failed_for_the_same_reason_are_told_together() -> None:
    cells = MIXED.cells[:2]
    failure: Failure = {"type": "ModelError", "message": "no such layer", "traceback": ""}
    records = {(cell.row.id, cell.column.id): failed_record(spec_of(MIXED, cell, Setup()), failure) for cell in cells}
    (sentence,) = failed(Comparison(table=MIXED, setup=Setup(), records=records))
    assert sentence == "Failed: 1, tent; 1, mixnorm-fixed: ModelError: no such layer"
