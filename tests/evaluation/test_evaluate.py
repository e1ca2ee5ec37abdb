import base64
import dataclasses
import io
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn

import mixnorm as mn
from mixnorm.adaptation.state_file import fingerprint
from mixnorm.benchmarks import Stream
from mixnorm.errors import ModelError
from mixnorm.evaluation import Protocol, Record, evaluate, iter_evaluate, results_of
from mixnorm.evaluation.record import Results
from tests.evaluation.small import small_model, small_stream
from tests.reference import metrics as reference

METHODS = [mn.Source(), mn.BatchStatistics(), mn.Tent(), mn.MixNorm(m=0.2, tau=0.1), mn.MixNormBN()]


def answered_one_by_one(method: mn.Method, stream: Stream, protocol: Protocol) -> tuple[list[list[float]], list[Any]]:
    """Answer a stream in a plain loop; return the logits and the batches."""
    adapted = mn.adapt(small_model(), method)
    logits: list[list[float]] = []
    batches, segment = [], None
    for batch in stream.batches(protocol.batch_size):
        if protocol.reset == "segment" and segment != batch.segment:
            adapted = mn.adapt(small_model(), method)
        segment = batch.segment
        logits += adapted(batch.images).detach().double().tolist()
        batches.append(batch)
    return logits, batches


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize(("order", "reset"), [("mixed", "never"), ("single", "segment"), ("single", "never")])
def test_results_are_those_of_a_plain_loop(method: mn.Method, order: str, reset: str) -> None:
    protocol = Protocol(order=order, reset=reset, batch_size=7, window=25)
    stream = small_stream(order=order)
    results = results_of(evaluate(mn.adapt(small_model(), method), stream, protocol))
    logits, batches = answered_one_by_one(method, stream, protocol)
    labels = [label for batch in batches for label in batch.labels.tolist()]
    names = [name for batch in batches for name, _ in batch.shifts]
    predictions = [row.index(max(row)) for row in logits]
    confidences = [max(reference.softmax(row)) for row in logits]
    right = [label == prediction for label, prediction in zip(labels, predictions, strict=True)]
    assert results["count"] == len(labels) == 60
    assert results["error"] == pytest.approx(reference.error(labels, predictions))
    assert results["ece"] == pytest.approx(reference.ece(confidences, right, 15))
    assert results["nll"] == pytest.approx(reference.nll(logits, labels))
    assert [each["count"] for each in results["over_time"]] == [25, 25, 10]
    for name, share in results["by_corruption"].items():
        rows = [row for row, each in enumerate(names) if each == name]
        assert share["count"] == len(rows)
        assert share["error"] == pytest.approx(
            reference.error([labels[row] for row in rows], [predictions[row] for row in rows])
        )


def answered_after_fitting(method: mn.Method, stream: Stream, protocol: Protocol) -> list[int]:
    """See each segment several times in a plain loop, then answer it; return the predictions."""
    adapted = mn.adapt(small_model(), method)
    predictions: list[int] = []
    for segment in dict.fromkeys(batch.segment for batch in stream.batches(protocol.batch_size)):
        if protocol.reset == "segment":
            adapted = mn.adapt(small_model(), method)
        batches = [batch.images for batch in stream.batches(protocol.batch_size) if batch.segment == segment]
        adapted.fit(batches, epochs=protocol.epochs)
        for images in batches:
            with adapted.frozen():
                predictions += adapted(images).argmax(1).tolist()
    return predictions


@pytest.mark.parametrize("method", [*METHODS, mn.Shot()], ids=lambda method: method.name)
@pytest.mark.parametrize(("order", "reset"), [("mixed", "never"), ("single", "segment"), ("single", "never")])
def test_offline_results_are_those_of_a_plain_loop(method: mn.Method, order: str, reset: str) -> None:
    protocol = Protocol(order=order, reset=reset, batch_size=7, epochs=2)
    stream = small_stream(order=order)
    record = evaluate(mn.adapt(small_model(), method), stream, protocol)
    labels = [label for batch in stream.batches(7) for label in batch.labels.tolist()]
    expected = reference.error(labels, answered_after_fitting(method, stream, protocol))
    assert results_of(record)["error"] == pytest.approx(expected)
    assert results_of(record)["count"] == 60
    assert record.fingerprint["epochs"] == 2
    assert Record.from_dict(record.to_dict()) == record


def test_what_fitting_costs_stands_apart() -> None:
    offline, online = (
        evaluate(mn.adapt(small_model(), mn.Tent()), small_stream(), Protocol(batch_size=20, epochs=epochs)).cost
        for epochs in (3, 0)
    )
    assert offline is not None
    assert online is not None
    assert "fit" not in online
    assert offline["fit"]["images_per_second"] == pytest.approx(180 / offline["fit"]["seconds"])


def test_progress_counts_the_epochs_too() -> None:
    steps = list(iter_evaluate(mn.adapt(small_model(), mn.Tent()), small_stream(), Protocol(batch_size=40, epochs=2)))
    assert {step.total for step in steps} == {180}
    assert [step.done for step in steps] == [40, 80, 120, 120, 160, 180, 180]
    assert [step.error is None for step in steps] == [True] * 4 + [False] * 3
    assert steps[-1].record is not None


def test_nothing_is_learned_while_answering_offline() -> None:
    adapted = mn.adapt(small_model(), mn.MixNorm(tau=0.1, learn=mn.Entropy()))
    steps = iter_evaluate(adapted, small_stream(), Protocol(batch_size=20, epochs=1))
    states = [adapted.snapshot().tensors for step in steps if step.error is not None]
    assert len(states) == 4
    assert all(torch.equal(state[name], tensor) for state in states for name, tensor in states[0].items())


def test_an_offline_evaluation_that_is_given_up_can_be_begun_again() -> None:
    adapted = mn.adapt(small_model(), mn.Tent())
    steps = iter_evaluate(adapted, small_stream(), Protocol(batch_size=20, epochs=2))
    next(steps)
    steps.close()  # type: ignore[attr-defined]
    protocol = Protocol(batch_size=20, epochs=2)
    again, fresh = (
        evaluate(model, small_stream(), protocol) for model in (adapted, mn.adapt(small_model(), mn.Tent()))
    )
    assert same_but_cost(again) == same_but_cost(fresh)


def test_a_clean_data_set_is_a_stream_too() -> None:
    stream = mn.load_stream("digits", limit=30)
    record = evaluate(mn.adapt(mn.load_model("digits"), mn.Tent()), stream, Protocol(batch_size=10, epochs=1))
    assert (record.fingerprint["corruptions"], results_of(record)["count"]) == (["clean"], 30)


def same_but_cost(record: Record) -> tuple[dict[str, Any], Results]:
    return record.fingerprint, results_of(record)


def test_a_second_evaluation_starts_afresh() -> None:
    adapted = mn.adapt(small_model(), mn.MixNorm(tau=0.1, learn=mn.Entropy()))
    first, second = (evaluate(adapted, small_stream(), Protocol(batch_size=8)) for _ in range(2))
    assert same_but_cost(first) == same_but_cost(second)


class Recorder(nn.Module):
    """Notes what it is called with."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.inner = model
        self.seen: list[Tensor] = []

    def forward(self, images: Tensor) -> Tensor:
        self.seen.append(images.clone())
        answer: Tensor = self.inner(images)
        return answer


def test_batch_invariant_methods_have_the_same_error_at_any_batch_size() -> None:
    errors = {
        size: results_of(
            evaluate(mn.adapt(small_model(), mn.MixNorm(m=0.3, tau=0.05)), small_stream(), Protocol(batch_size=size))
        )["error"]
        for size in (1, 7, 60)
    }
    assert len(set(errors.values())) == 1


def test_each_sample_comes_once_to_the_adapting_model() -> None:
    adapted = mn.adapt(Recorder(small_model()), mn.BatchStatistics())
    recorder = adapted.model
    assert isinstance(recorder, Recorder)
    adapting: list[bool] = []
    recorder.register_forward_pre_hook(lambda *_: adapting.append(not adapted._context.paused))
    stream = small_stream()
    evaluate(adapted, stream, Protocol(batch_size=10))
    seen = torch.cat([images for images, real in zip(recorder.seen, adapting, strict=True) if real])
    assert torch.equal(seen, torch.cat([batch.images for batch in stream.batches(10)]))


def test_progress_ends_with_the_record() -> None:
    steps = list(iter_evaluate(mn.adapt(small_model()), small_stream(), Protocol(batch_size=25)))
    assert [(step.done, step.total) for step in steps] == [(25, 60), (50, 60), (60, 60), (60, 60)]
    assert [step.record is None for step in steps] == [True, True, True, False]
    assert steps[-1].record is not None
    assert results_of(steps[-1].record)["error"] == steps[-1].error == steps[-2].error


def test_the_protocol_decides_the_order() -> None:
    record = evaluate(mn.adapt(small_model()), small_stream(order="mixed"), Protocol(order="single", batch_size=20))
    assert record.fingerprint["order"] == "single"
    assert record.fingerprint["order_hash"] == small_stream(order="single").order_fingerprint()
    assert record.fingerprint["order_hash"] != small_stream(order="mixed").order_fingerprint()


def test_the_fingerprint_names_everything() -> None:
    model, stream = small_model(), small_stream()
    record = evaluate(mn.adapt(model, mn.Tent(), seed=3), stream, Protocol(batch_size=20))
    said = record.fingerprint
    assert said["weights_hash"] == fingerprint(model)
    assert said["data_hash"] == stream.content_fingerprint()
    assert (said["data"], said["count"], said["corruptions"]) == ("small", 60, ["fog", "snow"])
    assert (said["batch_size"], said["reset"], said["severity"], said["seed"]) == (20, "never", 5, 3)
    assert (said["dtype"], said["device"], said["model"]) == ("float32", "cpu", "Sequential")
    assert said["method"]["learn"]["betas"] == [0.9, 0.999]
    assert said["torch_version"] == torch.__version__
    assert said["preprocessing"] == "the model's own"
    assert Record.from_dict(record.to_dict()) == record


def test_the_preprocessing_of_a_named_model_is_told() -> None:
    stream = mn.load_stream("digits", limit=5)
    record = evaluate(mn.adapt(mn.load_model("digits"), mn.Source()), stream, Protocol(batch_size=5))
    assert record.fingerprint["preprocessing"] == "mean 0.5 0.5 0.5, std 0.5 0.5 0.5"


def test_examples_are_the_same_for_every_method_and_batch_size() -> None:
    def chosen(method: mn.Method, size: int) -> list[tuple[object, ...]]:
        results = results_of(evaluate(mn.adapt(small_model(), method), small_stream(), Protocol(batch_size=size)))
        return [(each["corruption"], each["index"], each["label"], each["png"]) for each in results["examples"]]

    first = chosen(mn.Source(), 1)
    assert [name for name, *_ in first] == ["fog", "snow"]
    assert all(chosen(method, size) == first for method in METHODS for size in (7, 60))


def test_an_example_shows_its_sample() -> None:
    stream = small_stream()
    results = results_of(evaluate(mn.adapt(small_model(), mn.Source()), stream, Protocol(batch_size=60)))
    for example in results["examples"]:
        with Image.open(io.BytesIO(base64.b64decode(example["png"]))) as picture:
            stored = stream.data.images([example["index"]], (example["corruption"], example["severity"]))
            assert np.array_equal(np.asarray(picture), stored[0])
        names = [stream.class_names[example[key]] for key in ("label", "prediction")]
        assert example["class_names"] == names


def test_mean_corruption_error_is_relative_to_the_baseline() -> None:
    adapted = mn.adapt(small_model())
    baseline = {"fog": 50.0, "snow": 80.0}
    results = results_of(evaluate(adapted, small_stream(), Protocol(batch_size=20), baseline=baseline))
    errors = {name: share["error"] for name, share in results["by_corruption"].items()}
    assert results["mce"] == pytest.approx(reference.mce(errors, baseline))
    assert results_of(evaluate(adapted, small_stream(), Protocol(batch_size=20)))["mce"] is None


@pytest.mark.parametrize(
    ("classes", "names", "fits"),
    [
        (3, ("cat", "dog", "owl"), True),
        (4, ("cat", "dog", "owl"), False),
        (2, ("cat", "dog", "owl"), False),
        (4, ("0", "1", "2"), True),
        (2, ("0", "1", "2"), False),
    ],
)
def test_a_model_of_other_classes_is_refused_before_any_work(classes: int, names: tuple[str, ...], fits: bool) -> None:
    adapted = mn.adapt(small_model(classes), mn.BatchStatistics())
    stream = small_stream(class_names=names)
    if fits:
        assert results_of(evaluate(adapted, stream, Protocol(batch_size=60)))["count"] == 60
        return
    with pytest.raises(ModelError, match=f"the model answers with {classes} classes, small has 3"):
        evaluate(adapted, stream)
    assert adapted.streams == ()


class BreaksOnBright(nn.Module):
    """Answers with NaN where the first pixel is bright."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = small_model()

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.inner(images)
        return torch.where(images[:, 0, 0, :1] > 0.5, torch.nan, logits)


def test_answers_that_are_not_finite_count_as_wrong_and_leave_the_rest_alone() -> None:
    stream = small_stream()
    results = results_of(evaluate(mn.adapt(BreaksOnBright(), mn.Source()), stream, Protocol(batch_size=20)))
    images = torch.cat([batch.images for batch in stream.batches(60)])
    labels = torch.cat([batch.labels for batch in stream.batches(60)])
    good = images[:, 0, 0, 0] <= 0.5
    logits = small_model()(images).double()
    right = (logits.argmax(1) == labels) & good
    assert results["error"] == pytest.approx(100 * float((~right).double().mean()))
    assert results["nll"] == pytest.approx(reference.nll(logits[good].tolist(), labels[good].tolist()))


def test_troubles_before_a_reset_are_counted() -> None:
    stream = small_stream(order="single")
    adapted = mn.adapt(BreaksOnBright(), mn.Tent())
    results = results_of(evaluate(adapted, stream, Protocol(order="single", reset="segment")))
    bright = [int((batch.images[:, 0, 0, 0] > 0.5).sum()) for batch in stream.batches(30)]
    assert len(bright) == 2
    assert min(bright) > 0
    assert results["skipped_steps"] == sum(bright), "there is nothing to learn from a sample without an answer"


def test_other_number_types_and_models_that_answer_with_a_dictionary() -> None:
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = small_model().double()

        def forward(self, images: Tensor) -> dict[str, Tensor]:
            return {"logits": self.inner(images)}

    record = evaluate(mn.adapt(Named()), small_stream(), Protocol(batch_size=20))
    assert record.fingerprint["dtype"] == "float64"


def test_streams_that_differ_have_other_fingerprints() -> None:
    stream = small_stream()
    other = dataclasses.replace(stream, seed=1)
    assert stream.content_fingerprint() == other.content_fingerprint()
    assert stream.order_fingerprint() != other.order_fingerprint()
