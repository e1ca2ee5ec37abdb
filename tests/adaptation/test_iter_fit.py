"""Fitting batch by batch."""

import pytest
import torch
from torch import Tensor, nn

import mixnorm as mn


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)).eval()


@pytest.fixture
def batches() -> list[Tensor]:
    return list(torch.split(torch.rand(20, 3, 8, 8, generator=torch.Generator().manual_seed(0)), 8))


METHODS = [mn.Source(), mn.Tent(), mn.Shot(), mn.MixNorm(tau=0.1, learn=mn.Entropy())]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_step_by_step_is_the_same_as_at_once(method: mn.Method, batches: list[Tensor]) -> None:
    at_once, by_steps = (mn.adapt(model(), method) for _ in range(2))
    told: list[tuple[int, int | None]] = []
    at_once.fit(batches, epochs=2, progress=lambda done, total: told.append((done, total)))
    assert list(by_steps.iter_fit(batches, epochs=2)) == told == [(done, 6) for done in range(1, 7)]
    first, second = at_once.snapshot().tensors, by_steps.snapshot().tensors
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_what_is_given_up_leaves_the_state_as_it_was(batches: list[Tensor]) -> None:
    adapted = mn.adapt(model(), mn.Tent())
    adapted(batches[0])
    before = adapted.snapshot().tensors
    steps = adapted.iter_fit(batches, epochs=3)
    next(steps)
    next(steps)
    steps.close()
    after = adapted.snapshot().tensors
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
