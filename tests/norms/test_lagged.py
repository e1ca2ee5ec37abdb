from dataclasses import replace

import pytest
import torch
from torch import Tensor

from mixnorm.norms import LaggedPlan, Rows
from mixnorm.norms.lagged import Speeds, less_recent, pairs

SPEEDS = Speeds(every=0.1, recent=0.3, part=0.1 / 0.3)
CPU = torch.device("cpu")
STREAMS = (0, 1, 0, 0, 1, 2)


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


def plan_of(streams: tuple[int, ...], *, update: bool = True) -> LaggedPlan:
    rows = Rows(samples=len(streams), groups=1, slots=tuple(range(max(streams) + 1)), stream_of=streams)
    return LaggedPlan.of(rows, SPEEDS, CPU, update)


def one_by_one(state_2SC: Tensor, samples_2BN: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What was known before each sample, the weights of all, and the state at the end: an update after the other."""
    before, weights, state_2SC = [], [], state_2SC.clone()
    for number, stream in enumerate(STREAMS):
        sums_2N, every_2N = (each[:, stream] for each in less_recent(state_2SC, SPEEDS.part))
        before.append(sums_2N)
        weights.append(every_2N[:, -1:].clone())
        for own_2N, tau in zip(pairs(state_2SC[:, stream : stream + 1]), SPEEDS[:2], strict=True):
            own_2N += tau * (samples_2BN[:, number : number + 1] - own_2N)
    return torch.stack(before, 1), torch.stack(weights, 1), state_2SC


@pytest.mark.parametrize("at_once", [True, False])
def test_what_was_known_before_each_sample_is_that_of_one_after_the_other(at_once: bool) -> None:
    plan = plan_of(STREAMS) if at_once else replace(plan_of(STREAMS), at_once=None)
    # The state starts from nothing; the last column counts samples.
    state_2SC, samples_2BN = torch.rand(2, 3, 10), torch.randn(2, 6, 5)
    state_2SC[:, 1] = 0
    samples_2BN[:, :, -1] = 1
    before_2BN, weights_2B1, end_2SC = one_by_one(state_2SC, samples_2BN)
    torch.testing.assert_close(plan.known_before(state_2SC, samples_2BN), (before_2BN, weights_2B1))
    torch.testing.assert_close(state_2SC + plan.advance(state_2SC, samples_2BN), end_2SC)


def test_a_single_sample_of_a_stream_tells_nothing_yet() -> None:
    plan, samples_2BN = plan_of((0, 0)), torch.randn(2, 2, 5)
    sums_2BN, _ = plan.known_before(torch.zeros(2, 1, 10), samples_2BN)
    torch.testing.assert_close(sums_2BN, torch.zeros(2, 2, 5))


def test_a_frozen_plan_moves_nothing() -> None:
    plan = plan_of((0, 0), update=False)
    assert plan.at_once is None
    assert not plan.update
