import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import mixnorm as mn
from mixnorm.evaluation import cost as cost_module
from mixnorm.evaluation import memory
from mixnorm.evaluation.cost import COMPARED_BATCHES, CostMeter
from mixnorm.evaluation.memory import forget_peak_memory, peak_memory_mb

CPU = torch.device("cpu")


class Clock:
    """A clock that goes only where it is told to: what else the machine does is no part of these tests."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


CLOCK = Clock()


class Slow(nn.Module):
    """Takes 2 ms when it is the source model and 6 ms when it adapts."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(3)
        self.calls: list[bool] = []

    def forward(self, images: Tensor) -> Tensor:
        adapting = not self.norm.context.paused  # type: ignore[union-attr]
        self.calls.append(adapting)
        CLOCK.now += 0.006 if adapting else 0.002
        answer: Tensor = self.norm(images).mean((2, 3))
        return answer


@pytest.fixture
def adapted(monkeypatch: pytest.MonkeyPatch) -> mn.AdaptedModel:
    monkeypatch.setattr(cost_module, "time", CLOCK)
    return mn.adapt(Slow(), mn.MixNorm(views=0))


def test_the_source_model_is_timed_on_the_same_batches_alternately(adapted: mn.AdaptedModel) -> None:
    meter = CostMeter(adapted, CPU)
    for _ in range(COMPARED_BATCHES + 3):
        meter.call(torch.rand(4, 3, 4, 4))
    calls = adapted.model.calls
    assert calls[:8] == [True, False, False, True, True, False, False, True]  # type: ignore[index]
    assert calls.count(False) == COMPARED_BATCHES  # type: ignore[operator, union-attr]
    cost = meter.cost()
    assert cost["ratio_to_source"] == pytest.approx(3)
    assert cost["latency_p50_ms"] == pytest.approx(6)
    assert cost["latency_p95_ms"] == pytest.approx(6)
    assert cost["images_per_second"] == pytest.approx(4 / 0.006)


def test_the_answer_is_the_adapted_model_s(adapted: mn.AdaptedModel) -> None:
    images = torch.rand(4, 3, 4, 4)
    twin = mn.adapt(Slow(), mn.MixNorm(views=0))
    meter = CostMeter(adapted, CPU)
    assert all(torch.equal(meter.call(images), twin(images)) for _ in range(4))


def test_one_batch_is_enough(adapted: mn.AdaptedModel) -> None:
    meter = CostMeter(adapted, CPU)
    meter.call(torch.rand(1, 3, 4, 4))
    assert meter.cost()["ratio_to_source"] == pytest.approx(3)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="this system cannot forget a peak")
def test_the_peak_is_that_since_it_was_forgotten() -> None:
    """In a process of its own: what others have left behind in this one may be taken away at any moment."""
    code = """
import torch
from mixnorm.evaluation.memory import forget_peak_memory, peak_memory_mb
peaks, cpu = [], torch.device("cpu")
for size in (1, 64, 1):
    forget_peak_memory(cpu)
    torch.ones(size * 2**18).sum()
    peaks.append(peak_memory_mb(cpu))
print(*peaks)
"""
    before, large, after = map(float, subprocess.check_output([sys.executable, "-c", code]).split())
    assert large > before + 0.8 * 64
    assert after < before + 0.5 * 64


def test_a_system_without_proc_tells_the_peak_since_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    true_peak = peak_memory_mb(CPU) or 0
    monkeypatch.setattr(memory, "PROCESS", tmp_path / "none")
    forget_peak_memory(CPU)
    assert (peak_memory_mb(CPU) or 0) >= 0.9 * true_peak
