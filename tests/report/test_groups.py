"""Protocols are kept apart, and what differs between them is named."""

import dataclasses

import pytest

import mixnorm as mn
from mixnorm.report.groups import grouped
from mixnorm.report.runs import Run, finished
from tests.report.records import METHODS, SIZES, demo_records, make_record


def runs(**fingerprint: object) -> list[Run]:
    return finished(demo_records(**fingerprint))


def test_methods_and_batch_sizes_of_one_protocol_are_one_group() -> None:
    (group,) = grouped(runs())
    assert group.methods == list(METHODS)
    assert group.batch_sizes == list(SIZES)
    assert group.differs == ()
    assert [run.label for run in group.at(8)] == list(METHODS)


@pytest.mark.parametrize(
    ("field", "value"),
    [("severity", 3), ("data_hash", "00"), ("seed", 1), ("torch_version", "2.12.0"), ("corruptions", ["fog"])],
)
def test_any_other_field_keeps_records_apart_and_is_named(field: str, value: object) -> None:
    groups = grouped([*runs(), *runs(**{field: value})])
    assert len(groups) == 2
    assert all(len(group.runs) == len(METHODS) * len(SIZES) for group in groups)
    assert all(group.differs == (field,) for group in groups)
    assert len({group.name for group in groups}) == 2


def test_names_are_as_short_as_they_can_be() -> None:
    orders = grouped([*runs(), *runs(order="single")])
    assert [group.name for group in orders] == ["mixed order", "single order"]
    models = grouped([*runs(), *runs(model="other")])
    assert [group.name for group in models] == [
        "digits on digits-c, mixed order",
        "other on digits-c, mixed order",
    ]
    severities = grouped([*runs(severity=5), *runs(severity=3)])
    assert [group.name for group in severities] == ["mixed order, severity 3", "mixed order, severity 5"]
    seeds = grouped([*runs(seed=10), *runs(seed=2), *runs(seed=2, order="single")])
    assert [group.name for group in seeds] == [
        "mixed order, seed 2",
        "mixed order, seed 10",
        "single order, seed 2",
    ]


def test_of_two_runs_of_the_same_the_later_counts() -> None:
    early = dataclasses.replace(make_record(error=50.0, started="2026-01-01T00:00:00+00:00"), id="b")
    late = dataclasses.replace(make_record(error=40.0, started="2026-01-02T00:00:00+00:00"), id="a")
    for records in ([early, late], [late, early]):
        (group,) = grouped(finished(records))
        assert [run.error for run in group.runs] == [40.0]


def test_fair_batch_sizes_are_those_that_all_have() -> None:
    records = [make_record(batch_size=1), make_record(batch_size=8), make_record(mn.Tent(), batch_size=8)]
    assert grouped(finished(records))[0].fair_sizes == [8]


def test_without_a_shared_batch_size_the_one_that_most_have_is_fair() -> None:
    records = [
        make_record(batch_size=1),
        make_record(mn.BatchStatistics(), batch_size=64),
        make_record(mn.Tent(), batch_size=64),
    ]
    assert grouped(finished(records))[0].fair_sizes == [64]


def test_a_method_with_other_settings_is_another_method() -> None:
    records = [make_record(mn.MixNorm(m=0.2)), make_record(mn.MixNorm(m=0.3))]
    assert grouped(finished(records))[0].methods == ["MixNorm fixed (m 0.2)", "MixNorm fixed (m 0.3)"]


def test_offline_runs_are_named_as_such() -> None:
    records = [make_record(), make_record(epochs=5), make_record(epochs=1)]
    names = [group.name for group in grouped(finished(records))]
    assert names == [
        "digits on digits-c, mixed order",
        "digits on digits-c, mixed order, adapted before in 1 epoch",
        "digits on digits-c, mixed order, adapted before in 5 epochs",
    ]
