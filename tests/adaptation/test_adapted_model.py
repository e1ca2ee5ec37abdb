import copy
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import pytest
import torch
from torch import Tensor, nn

from mixnorm.adaptation import BatchStatistics, Entropy, Method, MixNorm, MixNormBN, Source, Tent, adapt
from mixnorm.adaptation.sample_models import SAMPLE_MODELS, SharedNorm
from mixnorm.errors import InputError, ModelError, UnknownNameError

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
def test_models_of_other_precisions_adapt_with_float32_statistics(method: Method, dtype: torch.dtype) -> None:
    adapted = adapt(RESNET.model(), method).to(dtype)
    batches = RESNET.batches(2, 4)
    got = torch.cat([adapted(batch.to(dtype)) for batch in batches])
    assert got.dtype == dtype
    tolerance = 1e-4 if dtype == torch.float64 else 0.15
    torch.testing.assert_close(got.float(), answers(method, batches), rtol=tolerance, atol=tolerance)
    assert {t.dtype for name, t in adapted.snapshot().tensors.items() if name.startswith(("mean", "var"))} <= {
        torch.float32
    }


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
    means = adapted.snapshot().tensors["mean:0:1"]
    assert means.shape == (3, 8)
    assert not torch.allclose(means[1], means[2])
    adapted.reset("dark")
    assert list(adapted.streams) == ["bright"]
    assert torch.equal(adapted.snapshot().tensors["mean:0:1"][1], means[2])
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


def test_one_position_per_sample_is_reported() -> None:
    adapted = adapt(SIGNAL.model(), MixNorm(views=0))
    adapted(SIGNAL.batches(1, 3)[0])
    reasons = {layer.names[0]: layer.reason for layer in adapted.report().layers}
    assert reasons == {"1": "adapts", "5": "keeps the source statistics: it sees one position per sample"}


def test_views_of_signals_are_refused() -> None:
    with pytest.raises(InputError, match=r"views are crops of images .* got shape \(3, 2, 16\)"):
        adapt(SIGNAL.model(), MixNorm(views=1))(SIGNAL.batches(1, 3)[0])


@pytest.mark.parametrize("method", [MixNorm(m=0.0, tau=0.2, views=0), MixNormBN(m=0.0, tau_max=0.9, views=0)])
@pytest.mark.parametrize("name", ["resnet", "root", "volume", "dict", "synchronised"])
def test_a_baked_model_is_the_frozen_one_in_plain_batchnorm(method: Method, name: str) -> None:
    sample = SAMPLES[name]
    adapted = adapt(sample.model(), method)
    for batch in sample.batches(3, 6):
        adapted(batch, streams="door")
    baked = adapted.bake("door")
    assert not any(hasattr(module, "memory") for module in baked.modules())
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
    torch.testing.assert_close(adapted.bake()(x), RESNET.model()(x))


def test_a_baked_shared_layer_carries_the_mean_of_its_places() -> None:
    adapted = adapt(SharedNorm(), MixNorm(m=0.0, tau=0.5, views=0))
    adapted(SAMPLES["shared"].batches(1, 4)[0])
    tensors, baked = adapted.snapshot().tensors, adapted.bake()
    assert isinstance(baked, SharedNorm)
    assert baked.norm is baked.same_norm
    assert baked.norm.running_mean is not None
    torch.testing.assert_close(baked.norm.running_mean, (tensors["mean:0:norm"] + tensors["mean:1:norm"])[0] / 2)


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
