import pytest

import mixnorm as mn
from mixnorm.errors import DataError, SettingError
from mixnorm.evaluation import Protocol, Record, check_comparable, differences, evaluate, relative_mce, results_of
from mixnorm.evaluation.metrics import mean_corruption_error
from tests.evaluation.small import small_model, small_stream


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
    with pytest.raises(SettingError, match="cannot be its own baseline"):
        relative_mce(source, source)
