from dataclasses import replace

import pytest

import mixnorm as mn
from mixnorm.errors import DataError
from mixnorm.evaluation import (
    Protocol,
    Record,
    check_comparable,
    corruption_errors,
    differences,
    evaluate,
    relative_mce,
    results_of,
    with_mce,
)
from mixnorm.evaluation.metrics import mean_corruption_error
from tests.evaluation.small import small_model, small_stream
from tests.reference import metrics as reference


def record(method: mn.Method, batch_size: int = 30, order: str = "mixed", seed: int = 0) -> Record:
    protocol = Protocol(batch_size=batch_size, order=order)
    return evaluate(mn.adapt(small_model(), method), small_stream(seed=seed), protocol)


def test_methods_and_batch_sizes_may_differ() -> None:
    records = [record(mn.Source()), record(mn.Tent()), record(mn.Tent(), batch_size=10)]
    check_comparable(records)
    assert set(differences(records[0], records[2])) == {"method", "batch_size"}
    with pytest.raises(DataError, match=r"not made under the same protocol: batch_size: 30 and 10"):
        check_comparable(records, across=["method"])


def test_what_differs_is_named() -> None:
    with pytest.raises(DataError, match=r"order_hash: .* Compare records that share these, or ask for it with across="):
        check_comparable([record(mn.Source()), record(mn.Source(), seed=1)])
    with pytest.raises(DataError, match=r"order: 'mixed' and 'single'; order_hash"):
        check_comparable([record(mn.Source()), record(mn.Source(), order="single")])


def test_what_is_asked_for_may_differ() -> None:
    check_comparable([record(mn.Source()), record(mn.Source(), order="single")], across=["order"])
    check_comparable([record(mn.Source()), record(mn.Source(), seed=1)], across=["order_hash"])


def test_a_relative_mean_corruption_error() -> None:
    source, adapted = record(mn.Source()), record(mn.BatchStatistics())
    errors, baseline = (
        {name: share["error"] for name, share in results_of(each)["by_corruption"].items()}
        for each in (adapted, source)
    )
    assert relative_mce(adapted, source) == mean_corruption_error(errors, baseline)
    with pytest.raises(DataError, match="order: 'mixed' and 'single'"):
        relative_mce(record(mn.BatchStatistics(), order="single"), source)
    assert relative_mce(source, source) == pytest.approx(100)


def test_a_baseline_of_another_model() -> None:
    adapted = record(mn.BatchStatistics())
    other = evaluate(mn.adapt(small_model(seed=1), mn.Source()), small_stream(), Protocol(batch_size=30))
    assert differences(adapted, other).keys() == {"method", "weights_hash"}
    assert relative_mce(adapted, other) == reference.mce(corruption_errors(adapted), corruption_errors(other))


def test_each_mean_corruption_error_is_relative_to_source_of_the_same_protocol() -> None:
    source, small, single = record(mn.Source()), record(mn.Tent(), batch_size=7), record(mn.Tent(), order="single")
    found = with_mce([small, record(mn.BatchStatistics()), single, source])
    errors = corruption_errors(source)
    expected = [reference.mce(corruption_errors(each), errors) for each in (small, record(mn.BatchStatistics()))]
    assert [results_of(each)["mce"] for each in found] == [*map(pytest.approx, expected), None, pytest.approx(100)]
    assert with_mce([small])[0].results == small.results


def test_source_of_the_same_batch_size_comes_first() -> None:
    large, small, adapted = record(mn.Source()), record(mn.Source(), batch_size=7), record(mn.Tent(), batch_size=7)
    others = {name: {**share, "error": 50.0} for name, share in results_of(large)["by_corruption"].items()}
    large = replace(large, results={**results_of(large), "by_corruption": others})  # type: ignore[arg-type]
    expected = reference.mce(corruption_errors(adapted), corruption_errors(small))
    assert results_of(with_mce([large, adapted, small])[1])["mce"] == pytest.approx(expected)


def test_what_a_record_says_of_an_unknown_baseline_does_not_count() -> None:
    relative = evaluate(
        mn.adapt(small_model()), small_stream(), Protocol(batch_size=30), baseline={"fog": 50.0, "snow": 50.0}
    )
    assert results_of(relative)["mce"] is not None
    assert results_of(with_mce([relative])[0])["mce"] is None
