"""100,000 samples through a tiny model: nothing grows, nothing degenerates."""

import gc
import tracemalloc

import torch
from torch import nn

from mixnorm.adaptation import AdaptedModel, MixNorm, adapt


def tiny() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 2, 2, bias=False), nn.BatchNorm2d(2), nn.ReLU(), nn.BatchNorm2d(2)).eval()


def drive(adapted: AdaptedModel, samples: int, sizes: list[int]) -> None:
    generator = torch.Generator().manual_seed(1)
    pool = torch.randn(4096, 1, 3, 3, generator=generator) * torch.logspace(-3, 3, 4096).view(-1, 1, 1, 1)
    done = turn = 0
    while done < samples:
        size = min(sizes[turn % len(sizes)], samples - done)
        start = done % (len(pool) - 256)
        adapted(pool[start : start + size], streams=f"stream-{turn % 5}")
        done, turn = done + size, turn + 1


def tensors_alive() -> int:
    gc.collect()
    return sum(issubclass(type(thing), torch.Tensor) for thing in gc.get_objects())


@torch.no_grad()
def test_soak() -> None:
    adapted = adapt(tiny(), MixNorm(m=0.2, tau=1e-2, views=0))
    mixed = [1, 7, 64, 200, 3, 128]
    drive(adapted, 10_000, [1])
    drive(adapted, 5_000, mixed)
    tensors = tensors_alive()
    drive(adapted, 75_000, mixed)
    tracemalloc.start()
    held: list[int] = []
    for _ in range(2):
        drive(adapted, 1_000, [1])
        drive(adapted, 4_000, mixed)
        held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert tensors_alive() <= tensors + 10
    # The first turn also counts what Python keeps for itself, such as spare tuples.
    assert held[1] - held[0] < 20_000
    state = adapted.snapshot().tensors
    assert all(tensor.isfinite().all() for tensor in state.values())
    assert all((tensor[1] > 0).all() for tensor in state.values())
    assert sum(adapted.snapshot().header.streams.values()) == 100_000
