"""Promises that must hold for any shape, dtype, batch, stream pattern and bad sample."""

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from mixnorm.adaptation import BatchStatistics, Method, MixNorm, MixNormBN, adapt

DTYPES = st.sampled_from([torch.float16, torch.bfloat16, torch.float32, torch.float64])
STREAMS = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=9)
METHODS = st.one_of(
    st.builds(MixNorm, m=st.floats(0, 1), tau=st.floats(0, 1), views=st.just(0)),
    st.builds(MixNormBN, m=st.floats(0, 1), tau_max=st.floats(0, 2), views=st.just(0)),
    st.just(BatchStatistics()),
)
PER_SAMPLE = st.builds(MixNorm, m=st.floats(0, 1), tau=st.floats(0, 1), views=st.integers(0, 2))
SHAPES = st.sampled_from([(4,), (4, 6), (4, 3, 5), (4, 2, 3, 2)])
few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def network(shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> nn.Module:
    norms = {1: nn.BatchNorm1d, 2: nn.BatchNorm1d, 3: nn.BatchNorm2d, 4: nn.BatchNorm3d}
    norm = norms[len(shape)](shape[0])
    # Not near zero: a map that is all but constant has a variance below the rounding of the one it is averaged with.
    nn.init.uniform_(norm.weight, 0.5, 1.5)
    nn.init.normal_(norm.bias)
    return nn.Sequential(norm, nn.Tanh(), norms[len(shape)](shape[0])).to(dtype).eval()


def close(mine: Tensor, other: Tensor, tolerance: float = 1e-5) -> bool:
    scale = other.double().abs().max().clamp(min=1)
    return bool(((mine.double() - other.double()).abs().max() / scale) < tolerance)


@few
@given(METHODS, SHAPES, DTYPES, st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_answers_keep_shape_and_dtype_and_are_finite(
    method: Method, shape: tuple[int, ...], dtype: torch.dtype, size: int, seed: int
) -> None:
    torch.manual_seed(seed)
    adapted = adapt(network(shape, dtype), method)
    x = (torch.randn(size, *shape) * 3 + 1).to(dtype)
    y = adapted(x)
    assert y.shape == x.shape
    assert y.dtype == dtype
    assert y.isfinite().all()


@few
@given(PER_SAMPLE, st.lists(st.integers(1, 7), min_size=1, max_size=5), st.integers(0, 2**32 - 1))
def test_any_cut_of_a_stream_into_batches_gives_the_same(method: Method, cut: list[int], seed: int) -> None:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Tanh(), nn.BatchNorm2d(4)).eval()
    x = torch.randn(sum(cut), 3, 7, 6) * 2
    pieces, whole = adapt(model, method), adapt(model, method)
    assert close(torch.cat([pieces(batch) for batch in torch.split(x, cut)]), whole(x))
    for name, tensor in whole.snapshot().tensors.items():
        assert close(pieces.snapshot().tensors[name], tensor), name


@few
@given(METHODS, STREAMS, SHAPES, st.integers(0, 2**32 - 1))
def test_streams_never_meet(method: Method, names: list[str], shape: tuple[int, ...], seed: int) -> None:
    torch.manual_seed(seed)
    model = network(shape)
    x = torch.randn(2, len(names), *shape) * 2
    mixed = adapt(model, method)
    together = [mixed(batch, streams=names) for batch in x]
    for name in set(names):
        rows = [row for row, stream in enumerate(names) if stream == name]
        alone = adapt(model, method)
        for batch, answer in zip(x, together, strict=True):
            assert close(answer[rows], alone(batch[rows]), 1e-4)


@few
@given(
    METHODS,
    SHAPES,
    st.integers(2, 6),
    st.sets(st.integers(0, 5), min_size=1, max_size=6),
    st.sampled_from([torch.nan, torch.inf, -torch.inf]),
    st.integers(0, 2**32 - 1),
)
def test_bad_samples_anywhere_change_nothing_else(
    method: Method, shape: tuple[int, ...], size: int, bad: set[int], value: float, seed: int
) -> None:
    torch.manual_seed(seed)
    model = network(shape)
    x = torch.randn(size, *shape)
    spoilt = x.clone()
    for row in bad & set(range(size)):
        spoilt[row].view(-1)[int(torch.randint(spoilt[row].numel(), ()))] = value
    good = [row for row in range(size) if row not in bad]
    clean, dirty = adapt(model, method), adapt(model, method)
    answer = dirty(spoilt)
    if good:
        assert close(answer[good], clean(x[good]))
    assert dirty.rejected == size - len(good)
    assert dirty.snapshot().tensors.keys() == clean.snapshot().tensors.keys()
    for name, tensor in clean.snapshot().tensors.items():
        assert torch.equal(dirty.snapshot().tensors[name], tensor), name
