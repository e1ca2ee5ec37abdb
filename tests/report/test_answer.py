"""The sentence on top says what the records say, also when that is disappointing."""

import mixnorm as mn
from mixnorm.evaluation import Record
from mixnorm.report.findings import Findings
from mixnorm.report.page import page
from tests.report.records import demo_records, make_record


def answer(*records: Record) -> str:
    return Findings.of(records).answer.replace("\N{NO-BREAK SPACE}", " ")


def test_a_method_that_helps_is_named_with_gain_and_cost() -> None:
    assert answer(*demo_records()) == (
        "MixNorm fixed lowers the error from 47.2 % to 31.5 % at every batch size from 1 to 200, 33 % fewer mistakes, "
        "and takes about 2.4 times the source model's time."
    )


def test_errors_that_depend_on_the_batch_size_are_averages() -> None:
    records = [make_record(batch_size=size, error=50.0) for size in (1, 64)]
    records += [make_record(mn.Tent(), batch_size=1, error=40.0, slowdown=2.0)]
    records += [make_record(mn.Tent(), batch_size=64, error=20.0, slowdown=3.0)]
    assert answer(*records) == (
        "TENT lowers the error from 50.0 % to 30.0 % on average over the batch sizes 1 and 64, 40 % fewer mistakes, "
        "and takes about 2.5 times the source model's time."
    )


def test_a_batch_size_at_which_the_best_method_is_worse_is_named() -> None:
    records = [make_record(batch_size=size, error=50.0) for size in (1, 64)]
    records += [make_record(mn.Tent(), batch_size=1, error=60.0), make_record(mn.Tent(), batch_size=64, error=10.0)]
    expected = "to 35.0 % on average over the batch sizes 1 and 64 (worse at 1), 30 % fewer mistakes"
    assert expected in answer(*records)


def test_if_all_are_worse_it_says_that_none_helps() -> None:
    records = [make_record(error=20.0), make_record(mn.Tent(), error=22.0), make_record(mn.MixNorm(), error=30.0)]
    assert answer(*records) == (
        "No method helps here: the best of them, TENT, has 22.0 % error at batch size 1, the source model 20.0 %."
    )


def test_one_method_alone_is_not_the_best_of_several() -> None:
    assert answer(make_record(error=20.0), make_record(mn.Tent(), error=22.0)) == (
        "TENT does not help here: it has 22.0 % error at batch size 1, the source model 20.0 %."
    )
    said = answer(make_record(error=45.0, count=60), make_record(mn.Tent(), error=40.0, count=60))
    assert said.startswith("TENT is not clearly better than the source model: it has 40.0 % error at batch size 1")
    assert said.endswith("with 60 samples chance may explain the difference.")


def test_if_none_helps_in_several_protocols_all_of_them_are_meant() -> None:
    worse = [
        make_record(method, error=error, model=model)
        for model, source in (("a", 30.0), ("b", 40.0))
        for method, error in ((mn.Source(), source), (mn.Tent(), source + 10 + source / 10))
    ]
    assert answer(*worse) == (
        "In none of 2 protocols a method clearly helps; nearest, in a on digits-c, mixed order: TENT does not help "
        "here: it has 43.0 % error at batch size 1, the source model 30.0 %."
    )


def test_several_models_are_named_without_their_folders() -> None:
    records = [
        make_record(method, error=error, model=f"/home/me/{model}.py:network", weights_hash=model)
        for model in ("small", "large")
        for method, error in ((mn.Source(), 40.0), (mn.Tent(), 20.0))
    ]
    said = answer(*records)
    assert "50 % of the mistakes in large.py:network on digits-c, mixed order (TENT: error 40.0 % to 20.0 %" in said
    assert "50 % in small.py:network on digits-c, mixed order" in said


def test_a_difference_that_chance_explains_is_not_called_a_gain() -> None:
    records = [make_record(method, error=error, count=60) for method, error in ((mn.Source(), 45.0), (mn.Tent(), 40.0))]
    said = answer(*records, make_record(mn.MixNorm(), error=50.0, count=60))
    assert said.startswith("No method is clearly better than the source model: the best of them, TENT, has 40.0 %")
    assert said.endswith("with 60 samples chance may explain the difference.")
    assert "lowers" in answer(make_record(error=45.0, count=60_000), make_record(mn.Tent(), error=40.0, count=60_000))


def test_without_source_or_without_a_method_the_answer_is_open() -> None:
    assert answer(make_record(mn.Tent(), error=10.0)).startswith("Whether adaptation helps is open")
    assert answer(make_record()).startswith("Whether adaptation helps is open")


def test_source_of_another_protocol_is_no_baseline() -> None:
    assert answer(make_record(), make_record(mn.Tent(), error=1.0, severity=1)).startswith("Whether adaptation helps")


def test_several_protocols_are_answered_apart() -> None:
    said = answer(*demo_records(), *demo_records(order="single"), *demo_records(order="continual"))
    assert said.startswith("Adaptation removes 33 % of the mistakes in continual order (MixNorm fixed: error 47.2 % to")
    assert said.count("33 %") == 3
    hopeless = [make_record(order="single"), make_record(mn.Tent(), error=60.0, order="single")]
    assert answer(*demo_records(), *hopeless).endswith("; in 1 of 2 protocols no method clearly helps.")


def test_many_protocols_are_counted() -> None:
    records = [record for severity in range(1, 6) for record in demo_records(severity=severity)]
    assert answer(*records).endswith(", and helps in 2 more protocols.")
    records = [record for severity in range(1, 5) for record in demo_records(severity=severity)]
    assert answer(*records).endswith(", and helps in 1 more protocol.")


def test_a_cost_that_was_not_measured_is_not_made_up() -> None:
    said = answer(make_record(slowdown=None), make_record(mn.Tent(), error=10.0, slowdown=None))
    assert said.endswith("and its time was not measured.")


def test_the_time_of_adapting_before_is_told_apart() -> None:
    offline = Findings.of(demo_records(epochs=3))
    assert answer(*demo_records(epochs=3)).endswith(
        "and takes about 2.4 times the source model's time, the adapting before it not counted."
    )
    assert "Adapting before that took 12.5 to 12.5 seconds" in page(offline)
    assert "Adapting before" not in page(Findings.of(demo_records()))
