from collections.abc import Callable

import pytest
import torch
from torch import nn

from mixnorm.norms import (
    measure_natively,
    mix,
    normalise,
    normalise_natively,
    pool_samples,
    pool_views,
    row_statistics,
)
from mixnorm.norms.statistics import Adaptation, Estimate, Stats, _plain_statistics


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


def test_row_statistics_are_over_the_positions_of_each_row() -> None:
    x = torch.randn(5, 3, 4, 6)
    mean, var = row_statistics(x)
    for row in range(5):
        for channel in range(3):
            values = x[row, channel].double()
            torch.testing.assert_close(mean[row, channel].double(), values.mean(), atol=1e-6, rtol=1e-5)
            torch.testing.assert_close(var[row, channel].double(), values.var(correction=0), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 7), (4, 3, 7, 2), (4, 3, 2, 3, 5)])
def test_row_statistics_take_any_number_of_dimensions(shape: tuple[int, ...]) -> None:
    mean, var = row_statistics(torch.randn(shape))
    assert mean.shape == var.shape == (4, 3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_statistics_are_float32_whatever_the_features_are(dtype: torch.dtype) -> None:
    x = torch.randn(2, 3, 8, 8).to(dtype)
    stats = row_statistics(x)
    assert {stat.dtype for stat in stats} == {torch.float32}
    torch.testing.assert_close(stats[1].double(), x.double().var((2, 3), correction=0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("order", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("seed", range(20))
def test_variance_survives_a_large_mean(seed: int, order: torch.memory_format) -> None:
    x = torch.randn(2, 3, 64, 64, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) + 1e4
    expected = x.float().double().var((2, 3), correction=0)
    features = x.float().contiguous(memory_format=order)
    # Float32 numbers around 1e4 are a thousandth apart.
    torch.testing.assert_close(row_statistics(features)[1].double(), expected, rtol=2e-4, atol=0)


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 5), (4, 3, 8, 8), (4, 3, 7, 7), (2, 3, 4, 4, 4)])
def test_formulas_for_a_compiler_give_the_same(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0)) + 1e3
    torch.testing.assert_close(_plain_statistics(x), row_statistics(x), rtol=1e-4, atol=1e-6)


def test_formulas_for_a_compiler_do_not_depend_on_the_first_position() -> None:
    x = torch.randn(1, 1, 32, 32, generator=torch.Generator().manual_seed(0))
    x[..., 0, 0] = 1e4
    torch.testing.assert_close(_plain_statistics(x), row_statistics(x), rtol=1e-3, atol=0)


def test_variance_of_a_large_float16_map_does_not_overflow() -> None:
    x = torch.full((1, 1, 256, 256), 3e4, dtype=torch.float16)
    assert [stat.item() for stat in row_statistics(x)] == [30000.0, 0.0]


@pytest.mark.parametrize("views", [1, 2, 4])
def test_pooled_views_are_the_statistics_of_all_their_positions(views: int) -> None:
    x = torch.randn(views * 3, 2, 5, 5) * 3 + torch.randn(views * 3, 1, 1, 1)
    pooled = pool_views(row_statistics(x), views)
    for sample in range(3):
        together = x[sample::3].transpose(0, 1).flatten(1)
        torch.testing.assert_close(pooled[0][sample], together.mean(1))
        torch.testing.assert_close(pooled[1][sample], together.var(1, correction=0))


def test_pooled_samples_are_the_statistics_of_each_stream() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(5, 2, 4, 4, generator=generator) + 100 * torch.randn(5, 1, 1, 1, generator=generator)
    stream = torch.tensor([0, 1, 0, 0, 1])
    members = torch.arange(2)[:, None] == stream
    pooled = pool_samples(row_statistics(x), members / members.sum(1, keepdim=True), stream)
    for s in range(2):
        together = x[stream == s].transpose(0, 1).flatten(1)
        torch.testing.assert_close(pooled[0][s], together.mean(1))
        torch.testing.assert_close(pooled[1][s], together.var(1, correction=0))


def test_mixing_with_weight_0_and_1_is_exact() -> None:
    start, end = (tuple(torch.randn(2, 3, 2)) for _ in range(2))
    for weight, expected in ((0.0, start), (1.0, end)):
        torch.testing.assert_close(mix(start, end, weight), expected, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("affine", [True, False])
def test_normalise_with_running_statistics_is_batchnorm_in_evaluation_mode(dtype: torch.dtype, affine: bool) -> None:
    norm = nn.BatchNorm2d(3, affine=affine).eval()
    assert norm.running_mean is not None
    assert norm.running_var is not None
    norm.running_mean.normal_()
    norm.running_var.uniform_(0.1, 4)
    x = torch.randn(4, 3, 5, 5).to(dtype)
    stats = norm.running_mean[None], norm.running_var[None]
    y = normalise(x, stats, norm.weight, norm.bias, norm.eps)
    assert y.dtype == dtype
    tolerance = 1e-2 if dtype in (torch.float16, torch.bfloat16) else 1e-6
    torch.testing.assert_close(y.float(), norm(x.float()), rtol=tolerance, atol=tolerance)
    assert torch.equal(normalise_natively(x.float(), stats, norm.weight, norm.bias, norm.eps), norm(x.float()))


SHAPES = [(4, 3), (4, 3, 7), (4, 3, 5, 6), (4, 3, 2, 3, 5), (1, 3, 5, 6), (64, 1, 9, 1)]


@pytest.mark.parametrize("shape", SHAPES)
def test_statistics_are_the_same_with_and_without_gradients(shape: tuple[int, ...]) -> None:
    x = 3 * torch.randn(shape) + 5
    torch.testing.assert_close(row_statistics(x), row_statistics(x.requires_grad_()), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("own", [True, False])
def test_torchs_kernels_normalise_as_the_formulas_do(shape: tuple[int, ...], own: bool) -> None:
    x, rows = 3 * torch.randn(shape) + 5, shape[0] if own else 1
    stats = torch.randn(rows, shape[1]), torch.rand(rows, shape[1])
    weight, bias = torch.randn(2, shape[1])
    y = normalise_natively(x, stats, weight, bias, 1e-5)
    torch.testing.assert_close(y, normalise(x, stats, weight, bias, 1e-5))
    half = normalise_natively(x, stats, weight.half(), bias.half(), 1e-5)
    torch.testing.assert_close(half, normalise(x, stats, weight.half(), bias.half(), 1e-5))


@pytest.mark.parametrize("size", [(5, 7), (32, 40)])
def test_features_of_any_order_in_memory_give_the_same(size: tuple[int, int]) -> None:
    x = torch.randn(4, 6, *size) + 2
    stats, (weight, bias) = row_statistics(x), torch.randn(2, 6)
    expected = normalise(x, stats, weight, bias, 1e-5)
    last = x.contiguous(memory_format=torch.channels_last)
    for other in (last, x.transpose(2, 3).contiguous().transpose(2, 3), torch.cat([x, x], 1)[:, :6]):
        torch.testing.assert_close(row_statistics(other), stats)
        torch.testing.assert_close(normalise(other, stats, weight, bias, 1e-5), expected)
    assert normalise(last, stats, weight, bias, 1e-5).is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("tracked", [False, True])
def test_volumes_whose_channels_come_last_give_the_same(dtype: torch.dtype, tracked: bool) -> None:
    x = (torch.randn(4, 6, 3, 5, 7) + 2).to(dtype)
    for volume in (x, x.repeat(1, 1, 4, 3, 2)):
        last = volume.contiguous(memory_format=torch.channels_last_3d).requires_grad_(tracked)
        torch.testing.assert_close(row_statistics(last), row_statistics(volume), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("order", [torch.contiguous_format, torch.channels_last])
def test_a_constant_channel_has_no_variance(order: torch.memory_format) -> None:
    assert row_statistics(torch.full((2, 3, 8, 8), 0.1).contiguous(memory_format=order))[1].max() < 1e-12


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 7), (4, 3, 5, 6), (4, 3, 2, 3, 5)])
def test_gradients_of_statistics_are_those_of_the_formulas(shape: tuple[int, ...]) -> None:
    x = (3 * torch.randn(shape) + 5).requires_grad_()
    direction = torch.randn(2, *shape[:2])
    (mine,) = torch.autograd.grad((torch.stack(row_statistics(x)) * direction).sum(), x)
    flat = x.reshape(*shape[:2], -1)
    formulas = torch.stack([flat.mean(2), flat.var(2, correction=0)])
    (expected,) = torch.autograd.grad((formulas * direction).sum(), x)
    torch.testing.assert_close(mine, expected, rtol=1e-4, atol=1e-5)


def _first_half(rows: torch.Tensor) -> torch.Tensor:
    return rows[: (len(rows) + 1) // 2]


ESTIMATES: dict[str, Estimate] = {
    "of each row": lambda rows: (rows[0].lerp(torch.ones(1), 0.3), rows[1].lerp(torch.ones(1), 0.3)),
    "of groups of rows": lambda rows: (_first_half(rows[0]) ** 2, _first_half(rows[1]) ** 2),
    "of all rows": lambda rows: (rows[0].mean(0, keepdim=True), rows[1].mean(0, keepdim=True)),
    "with the means in the variance": lambda rows: (rows[0], rows[1] + rows[0].var(0, correction=0)),
    "of the variances alone": lambda rows: (torch.ones(1, rows[0].shape[1]), rows[1].mean(0, keepdim=True)),
    "of none": lambda rows: (torch.ones(1, rows[0].shape[1]), torch.ones(1, rows[0].shape[1])),
}


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 7), (4, 3, 5, 6), (4, 3, 2, 3, 5), (1, 3, 5, 6), (64, 1, 9, 1)])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("estimate", ESTIMATES.values(), ids=ESTIMATES)
def test_gradients_of_adaptation_are_those_of_the_formulas(
    shape: tuple[int, ...], affine: bool, estimate: Estimate
) -> None:
    x = (3 * torch.randn(shape) + 5).requires_grad_()
    weight, bias = (torch.randn(shape[1], requires_grad=True) if affine else None for _ in range(2))
    inputs = [tensor for tensor in (x, weight, bias) if tensor is not None]
    # Not in the order of memory, as the gradient that a sum or a permutation gives.
    direction = torch.randn(shape[::-1]).permute(*range(len(shape))[::-1])
    noted: list[Stats] = []
    y = Adaptation.apply(x, weight, bias, 1e-2, estimate, lambda *both: noted.extend(both))  # type: ignore[no-untyped-call]
    flat = x.reshape(*shape[:2], -1)
    rows = flat.mean(2), flat.var(2, correction=0)
    stats = estimate(rows)
    torch.testing.assert_close(noted, [rows, stats], rtol=1e-4, atol=1e-4)
    mean, var = (each.repeat(shape[0] // len(each), 1).view(*shape[:2], *(1 for _ in shape[2:])) for each in stats)
    expected = (x - mean) / (var + 1e-2).sqrt()
    if weight is not None and bias is not None:
        each = (-1, *(1 for _ in shape[2:]))
        expected = expected * weight.view(each) + bias.view(each)
    torch.testing.assert_close(y, expected, rtol=1e-3, atol=1e-3)
    mine = torch.autograd.grad((y * direction).sum(), inputs)
    for got, wanted in zip(mine, torch.autograd.grad((expected * direction).sum(), inputs), strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-3, atol=1e-3)


def test_parameters_have_gradients_where_features_have_none() -> None:
    x, weight = torch.randn(4, 3, 5, 6), torch.randn(3, requires_grad=True)
    estimate = ESTIMATES["of all rows"]
    y = Adaptation.apply(x, weight, None, 1e-5, estimate, lambda *_: None)  # type: ignore[no-untyped-call]
    (mine,) = torch.autograd.grad(y.square().sum(), weight)
    mean, var = (each[..., None, None] for each in estimate(row_statistics(x)))
    expected = (weight.view(-1, 1, 1) * (x - mean) / (var + 1e-5).sqrt()).square().sum()
    torch.testing.assert_close(mine, torch.autograd.grad(expected, weight)[0])


@pytest.mark.parametrize("estimate", ESTIMATES.values(), ids=ESTIMATES)
@pytest.mark.parametrize("side", [4, 512])
def test_answers_of_adaptation_may_be_changed_in_place(estimate: Estimate, side: int) -> None:
    x = torch.randn(2, 3, side, side, requires_grad=True)
    y, other = (Adaptation.apply(x, None, None, 1e-2, estimate, lambda *_: None) for _ in range(2))  # type: ignore[no-untyped-call]
    mine, expected = (torch.autograd.grad(each.square().sum(), x) for each in (y.relu_(), other.relu()))
    torch.testing.assert_close(mine, expected)


def kept_by(work: Callable[[], object]) -> dict[int, int]:
    """Find what the gradients of some work keep: where it lies in memory, and how many values it has."""
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.data_ptr()] = tensor.numel()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        work()
    return kept


def test_gradients_of_adaptation_keep_the_features_and_parameters_alone() -> None:
    features, weight = torch.randn(2, 3, 8, 8, requires_grad=True) * 1, torch.ones(3, requires_grad=True)
    kept = kept_by(lambda: Adaptation.apply(features, weight, None, 1e-5, lambda rows: rows, lambda *_: None))  # type: ignore[no-untyped-call]
    assert set(kept) == {features.data_ptr(), weight.data_ptr()}


def test_gradients_of_formulas_keep_no_map_but_the_features() -> None:
    features = torch.randn(2, 3, 8, 8, requires_grad=True) * 1
    kept = kept_by(lambda: normalise(features, row_statistics(features), torch.ones(3), torch.zeros(3), 1e-5))
    assert [place for place, values in kept.items() if values == features.numel()] == [features.data_ptr()]


def test_a_spare_map_is_left_over_where_maps_are_large_and_is_written_into() -> None:
    x, (weight, bias) = torch.randn(8, 8, 128, 128) + 3, torch.randn(2, 8)
    assert measure_natively(x[:, :, :4, :4].contiguous(), 16)[1] is None
    for rows in (8, 1):
        stats, spare = measure_natively(x, 128 * 128)
        assert spare is not None
        stats = stats[0][:rows], stats[1][:rows]
        y = normalise_natively(x, stats, weight, bias, 1e-5, into=spare)
        assert y.data_ptr() == spare.data_ptr()
        torch.testing.assert_close(y, normalise(x, stats, weight, bias, 1e-5))


@pytest.mark.parametrize("shape", [(6, 3), (6, 3, 7), (6, 3, 5, 6), (6, 3, 2, 3, 5)])
@pytest.mark.parametrize("order", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("tracked", [False, True])
def test_groups_of_rows_share_statistics(shape: tuple[int, ...], order: torch.memory_format, tracked: bool) -> None:
    x = torch.randn(shape)
    x = (x.contiguous(memory_format=order) if len(shape) == 4 else x).requires_grad_(tracked)
    stats = torch.randn(2, 3), torch.rand(2, 3)
    weight, bias = torch.randn(2, 3)
    expected = normalise(x, (stats[0].repeat(3, 1), stats[1].repeat(3, 1)), weight, bias, 1e-5)
    torch.testing.assert_close(normalise(x, stats, weight, bias, 1e-5, groups=3), expected)
    torch.testing.assert_close(
        normalise_natively(x.detach().contiguous(), stats, weight, bias, 1e-5), expected.detach()
    )
