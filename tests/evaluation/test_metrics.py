import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mixnorm.evaluation.metrics import (
    calibration_error,
    error_by_group,
    error_over_time,
    error_percent,
    mean_corruption_error,
    negative_log_likelihood,
)
from mixnorm.evaluation.tally import NO_ANSWER, answers_of
from tests.reference import metrics as reference

labels = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from("abc")), min_size=1, max_size=40)
confidences = st.lists(
    st.tuples(st.one_of(st.floats(0, 1), st.integers(0, 15).map(lambda k: k / 15)), st.booleans()),
    min_size=1,
    max_size=60,
)


@given(labels)
def test_error_overall_and_by_group(samples: list[tuple[int, int, str]]) -> None:
    truth, answers, groups = (list(column) for column in zip(*samples, strict=True))
    wrong = np.array(truth) != np.array(answers)
    assert error_percent(wrong) == pytest.approx(reference.error(truth, answers))
    by_group = error_by_group(wrong, groups)
    assert set(by_group) == set(groups)
    for name, share in by_group.items():
        members = [(a, b) for a, b, group in samples if group == name]
        assert share["count"] == len(members)
        assert share["error"] == pytest.approx(reference.error([a for a, _ in members], [b for _, b in members]))


@given(labels, st.integers(1, 12))
def test_error_over_time(samples: list[tuple[int, int, str]], window: int) -> None:
    wrong = np.array([a != b for a, b, _ in samples])
    windows = error_over_time(wrong, window)
    assert sum(each["count"] for each in windows) == len(samples)
    for number, each in enumerate(windows):
        part = samples[number * window : (number + 1) * window]
        assert (each["start"], each["count"]) == (number * window, len(part))
        assert each["error"] == pytest.approx(reference.error([a for a, _, _ in part], [b for _, b, _ in part]))


@given(confidences)
def test_calibration_error(samples: list[tuple[float, bool]]) -> None:
    confidence, right = (list(column) for column in zip(*samples, strict=True))
    measured = calibration_error(np.array(confidence), ~np.array(right))
    assert measured == pytest.approx(reference.ece(confidence, right, 15), abs=1e-12)


@given(st.dictionaries(st.sampled_from("abcd"), st.tuples(st.floats(0, 100), st.floats(0.1, 100)), min_size=1))
def test_mean_corruption_error(pairs: dict[str, tuple[float, float]]) -> None:
    errors = {name: pair[0] for name, pair in pairs.items()}
    baseline = {name: pair[1] for name, pair in pairs.items()}
    assert mean_corruption_error(errors, baseline) == pytest.approx(reference.mce(errors, baseline))


@pytest.mark.parametrize("baseline", [{"fog": 0.0}, {"snow": 10.0}, {"fog": 10.0, "snow": 10.0}, {}])
def test_mean_corruption_error_is_none_where_it_is_not_defined(baseline: dict[str, float]) -> None:
    assert mean_corruption_error({"fog": 10.0}, baseline) is None


@given(st.lists(st.tuples(*[st.floats(-30, 30)] * 3, st.integers(0, 2)), min_size=1, max_size=20))
def test_answers_and_likelihood(rows: list[tuple[float, float, float, int]]) -> None:
    logits, truth = [row[:3] for row in rows], [row[3] for row in rows]
    answers = answers_of(torch.tensor(logits, dtype=torch.float64), torch.tensor(truth))
    probabilities = [reference.softmax(row) for row in logits]
    assert answers.confidence == pytest.approx([max(row) for row in probabilities])
    assert all(row[answer] == max(row) for row, answer in zip(probabilities, answers.prediction, strict=True))
    assert negative_log_likelihood(answers.log_probability) == pytest.approx(reference.nll(logits, truth))


def test_logits_that_are_no_distribution_are_no_answer() -> None:
    rows = [[0.0, math.nan], [math.inf, 0.0], [-math.inf, -math.inf], [1.0, 0.0]]
    answers = answers_of(torch.tensor(rows), torch.tensor([0, 0, 0, 0]))
    assert answers.prediction.tolist() == [NO_ANSWER, NO_ANSWER, NO_ANSWER, 0]
    assert answers.confidence.tolist()[:3] == [0, 0, 0]
    assert np.isnan(answers.log_probability).tolist() == [True, True, True, False]


def test_a_class_may_be_impossible() -> None:
    answers = answers_of(torch.tensor([[0.0, -math.inf], [0.0, -math.inf]]), torch.tensor([0, 1]))
    assert answers.prediction.tolist() == [0, 0]
    assert answers.log_probability.tolist() == [0, -math.inf]
    assert negative_log_likelihood(answers.log_probability) is None


def test_without_samples_there_is_no_calibration_and_no_likelihood() -> None:
    assert calibration_error(np.array([]), np.array([], dtype=bool)) is None
    assert negative_log_likelihood(np.array([])) is None
