"""Metrics: pure functions of what was answered, each an entry per sample in the order of arrival.

Errors are percentages. B bins, N samples.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from mixnorm.evaluation.record import Share, Window

Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.float64]

CALIBRATION_BINS = 15


def error_percent(wrong_N: Flags) -> float:
    """Return the percentage of wrong answers.

    >>> error_percent(np.array([True, False, False, False]))
    25.0
    """
    return 100 * float(np.mean(wrong_N))


def error_by_group(wrong_N: Flags, group_N: Sequence[str]) -> dict[str, Share]:
    """Return the error of each group of samples, groups in the order of their first sample.

    >>> error_by_group(np.array([True, False, True]), ["fog", "fog", "snow"])
    {'fog': {'count': 2, 'error': 50.0}, 'snow': {'count': 1, 'error': 100.0}}
    """
    groups = np.asarray(group_N)
    return {name: _share(wrong_N[groups == name]) for name in dict.fromkeys(group_N)}


def error_over_time(wrong_N: Flags, window: int) -> list[Window]:
    """Return the error of consecutive windows; the last one may be shorter.

    >>> error_over_time(np.array([True, False, True]), 2)
    [{'start': 0, 'count': 2, 'error': 50.0}, {'start': 2, 'count': 1, 'error': 100.0}]
    """
    return [{"start": start, **_share(wrong_N[start : start + window])} for start in range(0, len(wrong_N), window)]


def mean_corruption_error(errors: Mapping[str, float], baseline: Mapping[str, float]) -> float | None:
    """Average each corruption's error as a percentage of a baseline's (mCE).

    It is None where it is not defined: the baseline has other corruptions, or one that it answers without error.

    >>> mean_corruption_error({"fog": 10, "snow": 30}, {"fog": 20, "snow": 40})
    62.5
    """
    if set(errors) != set(baseline) or not errors or min(baseline.values()) <= 0:
        return None
    return float(np.mean([100 * errors[name] / baseline[name] for name in errors]))


def calibration_error(confidence_N: Numbers, wrong_N: Flags, bins: int = CALIBRATION_BINS) -> float | None:
    """Return the expected calibration error: the mean distance of confidence and accuracy over bins of equal width.

    Bins are closed above: a confidence of exactly `k / bins` belongs to bin `k`. None where there is no sample.

    >>> calibration_error(np.array([0.9, 0.9]), np.array([False, True]))
    0.4
    """
    if not len(confidence_N):
        return None
    edges_B = np.linspace(0, 1, bins + 1)[1:-1]
    bin_N = np.searchsorted(edges_B, confidence_N, side="left")
    # |sum of confidence - sum of right answers| of a bin is its size times the distance of the two means.
    gap_B = np.bincount(bin_N, weights=confidence_N - ~wrong_N, minlength=bins)
    return float(np.abs(gap_B).sum() / len(confidence_N))


def negative_log_likelihood(log_probability_N: Numbers) -> float | None:
    """Average minus the logarithm of the probability given to the right class.

    It is None where there is no sample, and where it is infinite: the right class was taken for impossible.

    >>> negative_log_likelihood(np.log([0.5, 0.5]))
    0.6931471805599453
    """
    mean = float(np.mean(log_probability_N)) if len(log_probability_N) else -math.inf
    return -mean if math.isfinite(mean) else None


def _share(wrong_N: Flags) -> Share:
    return {"count": len(wrong_N), "error": error_percent(wrong_N)}
