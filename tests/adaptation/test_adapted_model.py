import copy
import pickle
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from mixnorm.adaptation import BatchStatistics, Entropy, Method, MixNorm, MixNormBN, Shot, Source, Steps, Tent, adapt
from mixnorm.adaptation.sample_models import SAMPLE_MODELS, SharedNorm
from mixnorm.errors import InputError, ModelError, UnknownNameError
from mixnorm.norms.found import Found, Step

SAMPLES = {sample.name: sample for sample in SAMPLE_MODELS}
RESNET, SIGNAL = SAMPLES["resnet"], SAMPLES["signal"]
FIXED = [BatchStatistics(), MixNorm(m=0.2, tau=0.1, views=1), MixNormBN(m=0.2, views=1)]
LEARNING = [Tent(), MixNorm(tau=0.1, learn=Entropy()), MixNormBN(learn=Entropy(optimizer="sgd", lr=0.1))]


def answers(
    method: Method, batches: list[Tensor], mode: Callable[[], AbstractContextManager[object]] = nullcontext
) -> Tensor:
    adapted = adapt(RESNET.model(), method)
    with mode():
        return torch.cat([adapted(batch).detach() for batch in batches])


def test_tau_0_and_m_0_is_the_source_model() -> None:
    model = RESNET.model()
    x = torch.cat(RESNET.batches(2, 6))
    for method in (MixNorm(m=0.0, tau=0.0, views=0), MixNorm(m=0.0, tau=0.0, views=2)):
        torch.testing.assert_close(adapt(model, method)(x), model(x), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("method", FIXED + LEARNING, ids=str)
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_gradient_modes_do_not_change_the_answers(method: Method, mode: type[torch.no_grad]) -> None:
    batches = RESNET.batches(3, 4)
    assert torch.equal(answers(method, batches, mode), answers(method, batches))


@pytest.mark.parametrize("method", FIXED + LEARNING, ids=str)
def test_state_moves_on_between_inference_mode_and_others(method: Method) -> None:
    batches = RESNET.batches(4, 4)
    adapted = adapt(RESNET.model(), method)
    got = []
    for batch, mode in zip(
        batches, [torch.inference_mode, nullcontext, torch.inference_mode, torch.no_grad], strict=True
    ):
        with mode():
            got.append(adapted(batch.clone(), streams="door").detach().clone())
    assert torch.equal(torch.cat(got), answers(method, batches))


@pytest.mark.parametrize("method", FIXED + LEARNING, ids=str)
def test_autocast_works(method: Method) -> None:
    batches = RESNET.batches(3, 4)
    low = answers(method, batches, lambda: torch.autocast("cpu", dtype=torch.bfloat16))
    torch.testing.assert_close(low.float(), answers(method, batches), rtol=0.1, atol=0.1)


@pytest.mark.parametrize("method", FIXED + LEARNING, ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_models_of_other_precisions_adapt_without_rounding_the_state(method: Method, dtype: torch.dtype) -> None:
    adapted = adapt(RESNET.model(), method).to(dtype)
    batches = RESNET.batches(2, 4)
    got = torch.cat([adapted(batch.to(dtype)) for batch in batches])
    assert got.dtype == dtype
    tolerance = 1e-4 if dtype == torch.float64 else 0.15
    torch.testing.assert_close(got.float(), answers(method, batches), rtol=tolerance, atol=tolerance)
    state = adapted.snapshot().tensors
    assert {tensor.dtype for name, tensor in state.items() if name.startswith("statistics")} <= {torch.float64}


@pytest.mark.parametrize("method", FIXED + LEARNING, ids=str)
def test_a_model_built_and_adapted_in_inference_mode_adapts(method: Method) -> None:
    with torch.inference_mode():
        model = RESNET.make().eval()
        inside = adapt(model, method)
    outside = adapt(model, method)
    for batch in RESNET.batches(2, 4):
        assert torch.equal(inside(batch), outside(batch))


def test_nothing_needs_gradients_without_learning() -> None:
    adapted = adapt(RESNET.model(), MixNorm())
    assert not adapted(RESNET.batches(1, 2)[0]).requires_grad


@pytest.mark.parametrize("method", [MixNorm(tau=0.5, views=0), MixNormBN(views=0)])
def test_gradients_of_a_batch_do_not_change_with_the_next_one(method: Method) -> None:
    x = torch.randn(2, 3, 5, 5, requires_grad=True)
    gradients: list[Tensor] = []
    for another in (False, True):
        adapted = adapt(nn.Sequential(nn.BatchNorm2d(3), nn.BatchNorm2d(3)).eval(), method)
        y = adapted(x)
        if another:
            with torch.no_grad():
                adapted(9 * torch.ones(1, 3, 5, 5) + 5 * torch.randn(1, 3, 5, 5))
        gradients += torch.autograd.grad(y.pow(3).sum(), x)
    assert torch.equal(*gradients)


def test_gradients_reach_the_input_when_asked_for() -> None:
    x = RESNET.batches(1, 2)[0].requires_grad_()
    adapted = adapt(RESNET.model(), MixNorm(tau=0.1, views=1))
    adapted(x).sum().backward()
    assert x.grad is not None
    adapted(x.detach())
    assert all(not tensor.requires_grad for tensor in adapted.snapshot().tensors.values())


@pytest.mark.parametrize("method", FIXED + LEARNING, ids=str)
def test_a_model_left_in_training_mode_is_adapted_as_in_evaluation_mode(method: Method) -> None:
    model = nn.Sequential(RESNET.model(), nn.Dropout(0.5))
    x = RESNET.batches(1, 4)[0]
    assert torch.equal(adapt(copy.deepcopy(model).train(), method).train()(x), adapt(model.eval(), method)(x))


class Overflow(nn.Module):
    """Makes one value of a sample infinite where the sample says so, deep inside the model."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.where(x > 50, torch.inf, x)


@pytest.mark.parametrize("method", FIXED + LEARNING, ids=str)
def test_a_sample_that_overflows_inside_the_model_touches_no_other(method: Method) -> None:
    model = nn.Sequential(nn.Conv2d(3, 3, 1), Overflow(), nn.BatchNorm2d(3), nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3))
    batch = torch.randn(5, 3, 8, 8)
    spoilt = batch.clone()
    spoilt[1] *= 1e6
    clean, dirty = adapt(model, method), adapt(model, method)
    rest = [0, 2, 3, 4]
    for _ in range(2):
        torch.testing.assert_close(dirty(spoilt)[rest], clean(batch[rest]))
    before, after = clean.snapshot().tensors, dirty.snapshot().tensors
    for name, tensor in before.items():
        torch.testing.assert_close(after[name], tensor, msg=name)
    assert (clean.rejected, dirty.rejected) == (0, 2)


class ViewOverflow(nn.Module):
    """Makes the view of a sample infinite where the sample itself says so, and leaves that one alone."""

    def forward(self, x: Tensor) -> Tensor:
        if len(x) == 1:  # the source model, which has no views
            return x
        samples, views = x.chunk(2)
        marked = samples.abs().amax((1, 2, 3), keepdim=True) > 50
        return torch.cat([samples, torch.where(marked, torch.inf, views)])


@pytest.mark.parametrize("method", [MixNorm(m=0.2, tau=0.1), MixNormBN(m=0.2)], ids=str)
def test_a_view_that_overflows_inside_the_model_touches_no_other_sample(method: Method) -> None:
    model = nn.Sequential(ViewOverflow(), nn.BatchNorm2d(3))
    batch = torch.rand(4, 3, 8, 8)
    spoilt = batch.clone()
    spoilt[1] += 99
    clean, dirty = adapt(model, method), adapt(model, method)
    torch.testing.assert_close(dirty(spoilt)[[0, 2, 3]], clean(batch[[0, 2, 3]]))
    assert dirty.rejected == 1


def test_rows_that_never_meet_need_no_rejection() -> None:
    model = nn.Sequential(Overflow(), nn.BatchNorm2d(3))
    adapted = adapt(model, MixNorm(tau=0.0, views=0))
    x = torch.randn(3, 3, 4, 4)
    x[1, 0, 0, 0] = 99
    assert adapted(x)[[0, 2]].isfinite().all()
    assert adapted.rejected == 0


def test_rejected_samples_get_the_source_models_answer() -> None:
    model = SAMPLES["dict"].model()
    adapted = adapt(model, MixNorm(tau=0.1))
    x = SAMPLES["dict"].batches(1, 4)[0]
    x[2, 0, 0, 0] = torch.inf
    torch.testing.assert_close(adapted(x)["logits"][2:3], model(x[2:3])["logits"], equal_nan=True)
    x[:] = torch.nan
    before = adapted.snapshot()
    assert adapted(x)["logits"].isnan().all()
    assert adapted.snapshot().tensors.keys() == before.tensors.keys()


@pytest.mark.parametrize("method", FIXED + LEARNING, ids=str)
def test_a_failure_in_the_middle_changes_no_state(method: Method) -> None:
    class Fails(nn.Module):
        armed = False

        def forward(self, x: Tensor) -> Tensor:
            if Fails.armed:
                raise KeyboardInterrupt
            return x

    adapted = adapt(nn.Sequential(nn.BatchNorm2d(3), Fails(), nn.BatchNorm2d(3), nn.Flatten()), method)
    x = torch.randn(4, 3, 4, 4)
    adapted(x)
    before, twin = adapted.snapshot(), copy.deepcopy(adapted)
    Fails.armed = True
    with pytest.raises(KeyboardInterrupt):
        adapted(x, streams=["new", "", "other", "new"][0:1] * 4)
    Fails.armed = False
    assert adapted.streams == ()
    assert adapted.snapshot().header == before.header
    assert torch.equal(adapted(x), twin(x))


def test_a_learning_step_on_a_loss_that_is_not_finite_is_skipped_and_counted() -> None:
    class Huge(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * torch.inf

    adapted = adapt(nn.Sequential(nn.BatchNorm2d(3), nn.Flatten(), Huge()), MixNorm(learn=Entropy()))
    adapted(torch.randn(2, 3, 4, 4))
    assert adapted.skipped_steps == 1
    assert not any(name.startswith("learned") for name in adapted.snapshot().tensors)


def test_streams_have_their_own_state_over_shared_weights() -> None:
    adapted = adapt(RESNET.model(), MixNorm(m=0.0, tau=0.5, views=0))
    dark, bright = RESNET.batches(2, 4)
    adapted(torch.cat([dark - 3, bright + 3]), streams=["dark"] * 4 + ["bright"] * 4)
    assert adapted.streams == ("dark", "bright")
    before = adapted.snapshot().tensors["statistics:0:1"]
    assert before.shape == (2, 3, 8)
    assert not torch.allclose(before[:, 1], before[:, 2])
    adapted.reset("dark")
    assert list(adapted.streams) == ["bright"]
    assert torch.equal(adapted.snapshot().tensors["statistics:0:1"][:, 1], before[:, 2])
    with pytest.raises(UnknownNameError, match="unknown stream 'dark'"):
        adapted.reset("dark")


def test_a_stream_that_was_reset_starts_from_the_source_again() -> None:
    batches = RESNET.batches(3, 4)
    adapted = adapt(RESNET.model(), MixNorm(tau=0.3))
    adapted(batches[0], streams="a")
    adapted.reset("a")
    fresh = adapt(RESNET.model(), MixNorm(tau=0.3))
    assert torch.equal(adapted(batches[1], streams="b"), fresh(batches[1], streams="b"))
    assert torch.equal(adapted(batches[2], streams="a"), adapt(RESNET.model(), MixNorm(tau=0.3))(batches[2]))


def test_frozen_streams_that_are_new_see_the_source_statistics_and_leave_no_trace() -> None:
    adapted = adapt(RESNET.model(), MixNorm(m=0.0, tau=0.3, views=0))
    x = RESNET.batches(1, 4)[0]
    adapted(x)
    with adapted.frozen():
        torch.testing.assert_close(adapted(x, streams="new"), RESNET.model()(x))
    assert adapted.streams == ()


def test_many_streams_in_one_batch_equal_separate_runs() -> None:
    names = [f"cam-{index % 8}" for index in range(48)]
    together = adapt(RESNET.model(), MixNorm(m=0.2, tau=0.1, views=1))
    batches = RESNET.batches(2, 48)
    mixed = [together(batch, streams=names) for batch in batches]
    for camera in range(8):
        alone = adapt(RESNET.model(), MixNorm(m=0.2, tau=0.1, views=1))
        for batch, answer in zip(batches, mixed, strict=True):
            torch.testing.assert_close(answer[camera::8], alone(batch[camera::8]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("views", [0, 1, 3])
def test_200_samples_at_once_equal_200_calls(views: int) -> None:
    batch = RESNET.batches(1, 200)[0]
    method = MixNorm(m=0.2, tau=1e-2, views=views)
    together, alone = adapt(RESNET.model(), method), adapt(RESNET.model(), method)
    whole = together(batch)
    singles = torch.cat([alone(sample[None]) for sample in batch])
    assert ((whole - singles).abs().max() / singles.abs().max()) < 1e-5
    for name, tensor in together.snapshot().tensors.items():
        torch.testing.assert_close(tensor, alone.snapshot().tensors[name], rtol=1e-5, atol=1e-6, msg=name)


def test_a_batch_of_many_blocks_and_streams_equals_small_ones() -> None:
    batch = torch.randn(700, 3, 4, 4) * torch.rand(700, 1, 1, 1)
    names = [f"camera-{int(number)}" for number in torch.randint(5, (700,))]
    whole, pieces = (adapt(nn.Sequential(nn.BatchNorm2d(3)), MixNorm(m=0.2, tau=0.02, views=0)) for _ in range(2))
    answer = whole(batch, streams=names)
    for start in range(0, 700, 50):
        piece = pieces(batch[start : start + 50], streams=names[start : start + 50])
        torch.testing.assert_close(answer[start : start + 50], piece, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(*(dict(model.snapshot().tensors) for model in (whole, pieces)), rtol=1e-5, atol=1e-6)


def test_one_position_per_sample_is_reported() -> None:
    adapted = adapt(SIGNAL.model(), MixNorm(views=0))
    adapted(SIGNAL.batches(1, 3)[0])
    reasons = {layer.names[0]: layer.reason for layer in adapted.report().layers}
    assert reasons == {"1": "adapts", "5": "keeps the source statistics: it sees one position per sample"}


def test_views_of_signals_are_refused() -> None:
    with pytest.raises(InputError, match=r"views are made of images .* got shape \(3, 2, 16\)"):
        adapt(SIGNAL.model(), MixNorm(views=1))(SIGNAL.batches(1, 3)[0])


@pytest.mark.parametrize("method", [MixNorm(m=0.0, tau=0.2, views=0), MixNormBN(m=0.0, tau_max=0.9, views=0)])
@pytest.mark.parametrize("name", ["resnet", "root", "volume", "dict", "synchronised"])
def test_a_baked_model_is_the_frozen_one_in_plain_batchnorm(method: Method, name: str) -> None:
    sample = SAMPLES[name]
    adapted = adapt(sample.model(), method)
    for batch in sample.batches(3, 6):
        adapted(batch, streams="door")
    baked = adapted.bake("door")
    assert not any(hasattr(module, "context") for module in baked.modules())
    assert list(baked.state_dict()) == list(sample.model().state_dict())
    x = sample.batches(4, 6)[3]
    with adapted.frozen():
        expected, got = adapted(x, streams="door"), baked(x)
    for key in expected if isinstance(expected, dict) else [...]:
        torch.testing.assert_close(got[key], expected[key], rtol=1e-5, atol=1e-5)


def test_a_baked_model_has_the_learned_parameters_of_its_stream() -> None:
    adapted = adapt(RESNET.model(), MixNorm(m=0.0, tau=0.1, views=0, learn=Entropy(lr=0.1)))
    for batch in RESNET.batches(3, 6):
        adapted(batch, streams="door")
    x = RESNET.batches(4, 6)[3]
    with adapted.frozen():
        expected = adapted(x, streams="door")
    torch.testing.assert_close(adapted.bake("door")(x), expected, rtol=1e-5, atol=1e-5)
    untouched = adapt(RESNET.model(), MixNorm(learn=Entropy())).bake()
    torch.testing.assert_close(untouched(x), RESNET.model()(x))


def test_a_baked_shared_layer_carries_the_mean_of_its_places() -> None:
    adapted = adapt(SharedNorm(), MixNorm(m=0.0, tau=0.5, views=0))
    adapted(SAMPLES["shared"].batches(1, 4)[0])
    tensors, baked = adapted.snapshot().tensors, adapted.bake()
    assert isinstance(baked, SharedNorm)
    assert baked.norm is baked.same_norm
    assert baked.norm.running_mean is not None
    expected = (tensors["statistics:0:norm"] + tensors["statistics:1:norm"])[0, 0] / 2
    torch.testing.assert_close(baked.norm.running_mean, expected.float())


@pytest.mark.parametrize("method", [BatchStatistics(), Tent()])
def test_batch_statistics_cannot_be_baked(method: Method) -> None:
    with pytest.raises(ModelError, match=f"{method.name} keeps no statistics for a BatchNorm"):
        adapt(RESNET.model(), method).bake()


def test_source_is_the_model_itself() -> None:
    model = RESNET.model()
    x = RESNET.batches(1, 4)[0]
    adapted = adapt(model, Source())
    assert torch.equal(adapted(x), model(x))
    assert torch.equal(adapted.bake()(x), model(x))
    assert "0 BatchNorm layers replaced, 3 kept" in str(adapted.report())


def test_inside_a_larger_module_its_state_goes_out_and_in() -> None:
    def larger() -> nn.Sequential:
        return nn.Sequential(adapt(RESNET.model(), MixNorm(tau=0.1)), nn.Linear(5, 2))

    first, second = larger(), larger()
    second[1].reset_parameters()  # type: ignore[operator]
    second[0](RESNET.batches(1, 2)[0])
    second.load_state_dict(first.state_dict(), strict=True)
    x = RESNET.batches(2, 4)[1]
    assert torch.equal(first(x), second(x))


def test_the_learned_parameters_are_dropped_with_the_source_they_came_from() -> None:
    adapted = adapt(RESNET.model(), Tent(learn=Entropy(lr=0.1)))
    adapted(RESNET.batches(1, 4)[0])
    other = RESNET.make().eval()
    adapted.load_state_dict(other.state_dict())
    x = RESNET.batches(2, 4)[1]
    assert torch.equal(adapted(x), adapt(other, Tent(learn=Entropy(lr=0.1)))(x))


@pytest.mark.parametrize("method", [MixNorm(m=0.0, tau=0.2, views=0), MixNorm(m=0.0, views=0, learn=Entropy(lr=0.1))])
def test_a_weight_without_a_bias_adapts_and_is_baked(method: Method) -> None:
    norm = nn.BatchNorm2d(3)
    norm.bias = None  # type: ignore[assignment]
    adapted = adapt(nn.Sequential(norm, nn.Flatten()), method)
    for _ in range(2):
        adapted(torch.randn(4, 3, 5, 5) + 1)
    x = torch.randn(2, 3, 5, 5)
    with adapted.frozen():
        torch.testing.assert_close(adapted.bake()(x), adapted(x), rtol=1e-5, atol=1e-5)


def test_answers_stay_in_their_rows_when_all_samples_are_rejected() -> None:
    model = nn.Sequential(nn.BatchNorm2d(1), nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval()
    x = torch.randn(2, 1, 4, 4)
    x[0] *= 1e25
    x[1, 0, 0, 0] = torch.nan
    torch.testing.assert_close(adapt(model, MixNorm(views=0))(x), model(x), equal_nan=True)


@pytest.mark.parametrize("method", [MixNormBN(views=0), BatchStatistics(), MixNorm(views=0)], ids=str)
def test_a_finite_sample_whose_statistics_overflow_does_not_stay_in_the_state(method: Method) -> None:
    adapted = adapt(nn.BatchNorm2d(1), method)
    x = torch.randn(3, 1, 4, 4)
    x[1] = 1e20
    adapted(x)
    assert adapted(torch.randn(2, 1, 4, 4)).isfinite().all()
    assert all(tensor.isfinite().all() for tensor in adapted.snapshot().tensors.values())
    assert adapted.rejected == 1


def test_a_gradient_that_is_not_finite_is_not_learned_from() -> None:
    class Root(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.head = nn.BatchNorm2d(3), nn.Linear(3, 4)

        def forward(self, x: Tensor) -> Tensor:
            gate = (x.mean() < 5).float()
            features: Tensor = (self.norm(x).relu() * gate).square().mean((2, 3)).sqrt()
            return self.head(features)  # type: ignore[no-any-return]

    adapted = adapt(Root(), Tent())
    x = torch.randn(4, 3, 8, 8)
    adapted(x)
    adapted(x + 10)
    assert adapted.skipped_steps == 1
    assert adapted(x).isfinite().all()


def test_logits_of_impossible_classes_are_learned_from() -> None:
    class Masked(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + torch.tensor([0.0, -torch.inf, 0.0])

    adapted = adapt(nn.Sequential(nn.BatchNorm2d(3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), Masked()), Tent())
    adapted(torch.randn(4, 3, 5, 5))
    assert adapted.skipped_steps == 0
    assert all(tensor.isfinite().all() for tensor in adapted.snapshot().tensors.values())


def test_a_sample_with_spoilt_logits_does_not_stop_the_others_from_learning() -> None:
    class Spoils(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.where(torch.arange(len(x))[:, None] == 1, torch.inf, x)

    body = nn.Sequential(nn.BatchNorm2d(3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    adapted = adapt(nn.Sequential(body, Spoils()), Tent())
    adapted(torch.randn(4, 3, 5, 5))
    assert adapted.skipped_steps == 0
    assert any(name.startswith("learned") for name in adapted.snapshot().tensors)


@pytest.mark.parametrize("tau", [1e-7, 1e-6, 1e-3])
def test_a_slow_moving_average_moves_sample_by_sample_as_in_a_batch(tau: float) -> None:
    x = torch.tensor([-1.2, 1.2]).repeat(1, 1, 2, 1)
    singles, batch = (adapt(nn.BatchNorm2d(1), MixNorm(m=0.0, tau=tau, views=0)) for _ in range(2))
    for _ in range(2000):
        singles(x)
    batch(x.repeat(2000, 1, 1, 1))
    exact = 1.44 + (1 - 1.44) * (1 - tau) ** 2000
    for adapted in (singles, batch):
        mean, var = adapted.snapshot().tensors["statistics:0:"].flatten().tolist()
        assert mean == pytest.approx(0, abs=1e-6)
        assert var == pytest.approx(exact, rel=1e-6)


class PerSampleList(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(3)

    def forward(self, x: Tensor) -> list[dict[str, Tensor]]:
        return [{"score": row.mean()} for row in self.norm(x)]


def test_a_list_with_an_item_for_each_sample_is_cut_and_merged() -> None:
    adapted = adapt(PerSampleList(), MixNorm(views=1))
    x = torch.randn(4, 3, 6, 6)
    assert len(adapted(x)) == 4
    x[1, 0, 0, 0] = torch.nan
    scores = [item["score"] for item in adapted(x)]
    assert [bool(score.isnan()) for score in scores] == [False, True, False, False]


@pytest.mark.parametrize("shape", [(-1, 3), (3, -1)])
def test_an_output_without_a_row_for_each_sample_is_refused(shape: tuple[int, int]) -> None:
    class Reshaped(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.transpose(0, 1).reshape(shape) if shape[0] == 3 else x.reshape(shape)

    adapted = adapt(nn.Sequential(nn.BatchNorm2d(3), Reshaped()), MixNorm(views=1))
    with pytest.raises(ModelError, match=r"8 rows went into the model, and nothing in its output has a row for each"):
        adapted(torch.randn(4, 3, 2, 2))


def test_layers_that_a_model_reaches_in_another_way_are_found_out() -> None:
    class Listed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm2d(3)
            self.steps = [self.norm]

        def forward(self, x: Tensor) -> Tensor:
            return self.steps[0](x)  # type: ignore[no-any-return]

    adapted = adapt(Listed())
    assert adapted.report().layers[0].reason == "adapts; has not run yet"
    with pytest.raises(ModelError, match="none of the replaced layers ran"):
        adapted(torch.randn(2, 3, 4, 4))


def test_threads_take_turns() -> None:
    batches = {name: [scale * torch.randn(4, 3, 6, 6) for _ in range(20)] for name, scale in (("a", 1.0), ("b", 9.0))}
    method = MixNorm(m=0.1, tau=0.1, views=0)
    together = adapt(nn.BatchNorm2d(3), method)
    threads = [
        threading.Thread(target=lambda name=name: [together(batch, streams=name) for batch in batches[name]])
        for name in batches
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, own in batches.items():
        alone = adapt(nn.BatchNorm2d(3), method)
        for batch in own:
            alone(batch, streams=name)
        slots = [list(model.snapshot().header.streams).index(name) for model in (together, alone)]
        for key in alone.snapshot().tensors:
            mine, other = (m.snapshot().tensors[key][:, slot] for m, slot in zip((together, alone), slots, strict=True))
            torch.testing.assert_close(mine, other)


def test_a_model_that_changes_its_input_in_place_changes_no_other_input() -> None:
    class InPlace(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.sub_(0.5).div_(0.25)

    model = nn.Sequential(InPlace(), nn.BatchNorm2d(3))
    x = torch.randn(4, 3, 5, 5)
    x[2] *= 1e30
    before, rest = x.clone(), [0, 1, 3]
    answer = adapt(model, MixNorm(tau=0.1, views=0))(x)
    assert torch.equal(x[rest], before[rest])
    torch.testing.assert_close(answer[rest], adapt(model, MixNorm(tau=0.1, views=0))(before[rest]))


class NotAtFirst(nn.Module):
    """Changes its input in place from the second call on."""

    calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x.clone() if self.calls == 1 else x.sub_(0.5)


def test_images_are_copied_only_until_the_model_has_left_its_input_alone() -> None:
    seen: list[int] = []

    class Watching(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            seen.append(x.data_ptr())
            return x + 1

    x = torch.randn(2, 3, 4, 4)
    adapted = adapt(nn.Sequential(Watching(), nn.BatchNorm2d(3)), MixNorm(tau=0.1, views=0))
    adapted(x)
    adapted(x)
    with torch.inference_mode():
        adapted(x * 1)
    assert [place == x.data_ptr() for place in seen] == [False, True, False]


def test_a_model_that_changes_its_input_later_on_is_copied_for_again() -> None:
    adapted = adapt(nn.Sequential(NotAtFirst(), nn.BatchNorm2d(3)), MixNorm(tau=0.1, views=0))
    x = torch.randn(2, 3, 4, 4)
    adapted(x)
    adapted(x)
    before = x.clone()
    adapted(x)
    assert torch.equal(x, before)


def test_a_sample_that_overflows_where_the_input_has_changed_is_refused_and_changes_no_state() -> None:
    adapted = adapt(nn.Sequential(NotAtFirst(), nn.BatchNorm2d(3)), MixNorm(tau=0.1, views=0))
    x = torch.randn(2, 3, 4, 4)
    adapted(x)
    before = adapted.snapshot()
    x[1] *= 1e30
    with pytest.raises(ModelError, match="changed its input in place, which it had not done before"):
        adapted(x)
    assert adapted.snapshot().header == before.header
    for name, tensor in before.tensors.items():
        assert torch.equal(adapted.snapshot().tensors[name], tensor)


def test_learning_needs_more_than_one_class() -> None:
    with pytest.raises(ModelError, match=r"two classes or more, got shape \(4, 1\)"):
        adapt(nn.Sequential(nn.BatchNorm2d(1), nn.AdaptiveAvgPool2d(1), nn.Flatten()), Tent())(torch.randn(4, 1, 3, 3))


def test_a_model_that_hides_its_gradients_is_refused_and_learns_nothing() -> None:
    class Hidden(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm2d(3)

        def forward(self, x: Tensor) -> Tensor:
            with torch.no_grad():
                return self.norm(x).mean((2, 3))  # type: ignore[no-any-return]

    adapted = adapt(Hidden(), MixNorm(tau=0.1, learn=Entropy()))
    before = adapted.snapshot()
    with pytest.raises(ModelError, match="the loss does not depend on any of the parameters to learn"):
        adapted(torch.randn(2, 3, 8, 8))
    assert adapted.snapshot().header == before.header
    assert not adapted.snapshot().tensors


def test_layers_computed_again_for_the_backward_pass_give_the_same_steps() -> None:
    class Checkpointed(nn.Module):
        def __init__(self, again: bool) -> None:
            super().__init__()
            self.body, self.again = RESNET.model(), again

        def forward(self, x: Tensor) -> Tensor:
            if self.again:
                return checkpoint(self.body, x, use_reentrant=False)  # type: ignore[no-any-return]
            return self.body(x)  # type: ignore[no-any-return]

    method = MixNorm(tau=0.2, views=1, learn=Entropy(optimizer="sgd", lr=0.5))
    plain, again = (adapt(Checkpointed(again), method) for again in (False, True))
    for batch in RESNET.batches(3, 4):
        torch.testing.assert_close(plain(batch), again(batch))
    assert plain.snapshot().tensors.keys() == again.snapshot().tensors.keys()


def test_a_checkpoint_that_does_not_fit_changes_nothing() -> None:
    adapted = adapt(RESNET.model(), MixNorm(tau=0.1))
    adapted(RESNET.batches(1, 4)[0], streams="door")
    before = adapted.snapshot()
    for checkpoint_ in ({"nope": torch.zeros(1)}, {**RESNET.model().state_dict(), "extra": torch.zeros(1)}):
        with pytest.raises(RuntimeError, match=r"nope|extra"):
            adapted.load_state_dict(checkpoint_)
    assert adapted.streams == ("door",)
    for name, tensor in before.tensors.items():
        assert torch.equal(adapted.snapshot().tensors[name], tensor)


def test_a_layer_that_runs_only_sometimes_keeps_up_with_the_streams() -> None:
    class Sometimes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.always, self.large = nn.BatchNorm2d(3), nn.BatchNorm2d(3)

        def forward(self, x: Tensor) -> Tensor:
            x = self.always(x)
            return self.large(x) if x.shape[-1] > 8 else x

    adapted = adapt(Sometimes(), MixNorm(tau=0.1, views=0))
    adapted(torch.randn(2, 3, 8, 8), streams=["p", "q"])
    adapted.restore(adapted.snapshot())
    adapted(torch.randn(2, 3, 10, 10))
    assert adapted.snapshot().tensors["statistics:0:large"].shape == (2, 3, 3)


def test_a_copy_made_in_a_pause_or_in_inference_mode_adapts() -> None:
    x = RESNET.batches(1, 4)[0]
    for method in (MixNorm(tau=0.1), Tent()):
        adapted = adapt(RESNET.model(), method)
        adapted(x)
        with adapted.paused(), torch.inference_mode():
            twins = [copy.deepcopy(adapted), pickle.loads(pickle.dumps(adapted))]
        expected = adapted(x)
        for twin in twins[:1]:
            assert torch.equal(twin(x), expected)


def test_a_model_baked_in_inference_mode_runs_outside_and_trains_what_the_source_trained() -> None:
    model = RESNET.model()
    model[0].weight.requires_grad_(False)  # type: ignore[index]
    adapted = adapt(model, MixNorm(tau=0.1))
    adapted(RESNET.batches(1, 4)[0])
    with torch.inference_mode():
        baked = adapted.bake()
    baked(RESNET.batches(1, 4)[0]).sum().backward()
    flags = {name: parameter.requires_grad for name, parameter in baked.named_parameters()}
    assert flags == {name: parameter.requires_grad for name, parameter in model.named_parameters()}


def test_baking_asks_for_the_stream_where_only_named_ones_were_seen() -> None:
    adapted = adapt(RESNET.model(), MixNorm(tau=0.1))
    adapted(RESNET.batches(1, 4)[0], streams="door")
    with pytest.raises(InputError, match="say which to bake, one of door"):
        adapted.bake()


def test_a_state_fits_a_model_that_was_converted_the_same_way() -> None:
    adapted = adapt(RESNET.model(), MixNorm(tau=0.1))
    adapted.snapshot()
    snapshot = adapted.half().snapshot()
    adapt(RESNET.model(), MixNorm(tau=0.1)).half().restore(snapshot)


def test_other_threads_see_the_source_while_learned_values_stand_in() -> None:
    class Asks(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            if adapted.streams:
                threads.append(threading.Thread(target=ask))
                threads[-1].start()
                threads[-1].join(timeout=0.2)
            return x

    def ask() -> None:
        seen.append(adapted.state_dict()["0.weight"].clone())
        twins.append(copy.deepcopy(adapted))

    threads: list[threading.Thread] = []
    seen: list[Tensor] = []
    twins: list[nn.Module] = []
    body = (nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    model = nn.Sequential(*body, nn.Linear(4, 3))
    model.insert(1, Asks())
    adapted = adapt(model, Shot(learn=Steps(lr=1.0)))
    for _ in range(2):
        adapted(torch.randn(4, 3, 6, 6), streams="door")
    threads[-1].join()
    assert torch.equal(seen[-1], model.state_dict()["0.weight"])
    assert torch.equal(twins[-1].state_dict()["0.weight"], seen[-1])


def test_finite_samples_whose_sum_overflows_are_not_taken_for_others() -> None:
    class Shrink(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x / 1e38

    adapted = adapt(nn.Sequential(Shrink(), nn.BatchNorm2d(3)), MixNorm(views=0))
    x = torch.full((4, 3, 8, 8), 3e38)
    adapted(x)
    assert adapted.rejected == 0
    x[1, 0, 0, 0] = torch.nan
    adapted(x)
    assert adapted.rejected == 1


@pytest.mark.parametrize("method", [*LEARNING, MixNorm()], ids=str)
def test_a_pass_that_learns_holds_no_statistics_of_its_rows(method: Method, monkeypatch: pytest.MonkeyPatch) -> None:
    columns: list[int] = []
    together = Found.of

    def spy(steps: list[Step]) -> Found:
        columns.extend(each.rows[0].shape[1] for each in steps)
        return together(steps)

    monkeypatch.setattr(Found, "of", spy)
    adapt(RESNET.model(), method)(torch.rand(4, *RESNET.shape))
    assert columns
    assert (max(columns) == 1) is (method.learning is not None)
