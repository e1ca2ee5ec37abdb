import pytest
import torch
from torch import Tensor, nn

from mixnorm.adaptation import MixNorm, Source, Tent, adapt, replace_batchnorm_
from mixnorm.adaptation.sample_models import SAMPLE_MODELS, SharedNorm
from mixnorm.errors import InputError, MixNormError, ModelError, NothingToAdaptError, SettingError, UnknownNameError
from mixnorm.norms import AdaptiveNorm


class FusedActivation(nn.BatchNorm2d):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).relu()


class FrozenNorm(nn.Module):
    """Like the frozen BatchNorm of detection models: buffers only, and no BatchNorm by class."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("weight", "bias", "running_mean", "running_var"):
            self.register_buffer(name, torch.ones(3))


def adaptive(model: nn.Module) -> list[str]:
    return [name for name, module in model.named_modules(remove_duplicate=False) if isinstance(module, AdaptiveNorm)]


def test_a_shared_layer_is_replaced_in_all_its_places_by_one_layer() -> None:
    model = SharedNorm()
    replace_batchnorm_(model)
    assert adaptive(model) == ["norm", "same_norm"]
    assert model.norm is model.same_norm


def test_a_root_that_is_a_batchnorm_is_replaced() -> None:
    assert isinstance(replace_batchnorm_(nn.BatchNorm2d(3)), AdaptiveNorm)


@pytest.mark.parametrize("sample", SAMPLE_MODELS, ids=lambda sample: sample.name)
def test_every_batchnorm_is_replaced(sample) -> None:  # type: ignore[no-untyped-def]
    model = sample.model()
    before = [module for module in model.modules() if isinstance(module, nn.modules.batchnorm._BatchNorm)]
    report = adapt(model, MixNorm(views=0)).report()
    assert len(report.replaced) == len(before) > 0
    assert not report.kept


def test_kept_layers_are_left_and_reported() -> None:
    model = nn.Sequential(nn.BatchNorm2d(3), nn.BatchNorm2d(3))
    report = adapt(model, keep=["0"]).report()
    assert [(layer.names, layer.status) for layer in report.layers] == [(("0",), "kept"), (("1",), "replaced")]
    assert "1 BatchNorm layers replaced, 1 kept" in str(report)


def test_a_layer_that_cannot_adapt_is_left_when_asked() -> None:
    model = nn.Sequential(FusedActivation(3), FrozenNorm(), nn.BatchNorm2d(3))
    model[1] = nn.Identity()
    adapted = adapt(model, MixNorm(views=0), keep="0")
    assert adapted(torch.randn(2, 3, 4, 4)).shape == (2, 3, 4, 4)


@pytest.mark.parametrize(
    "layer", [FusedActivation(3), FrozenNorm(), nn.LazyBatchNorm2d()], ids=lambda x: type(x).__name__
)
def test_an_unknown_kind_is_refused_by_name_and_nothing_is_changed(layer: nn.Module) -> None:
    model = nn.Sequential(nn.BatchNorm2d(3), nn.Sequential(layer))
    with pytest.raises(ModelError, match=rf"layer '1.0' is a {type(layer).__name__}.*keep=\['1.0'\]"):
        replace_batchnorm_(model)
    assert adaptive(model) == []


def test_a_batchnorm_without_running_statistics_is_refused_by_name() -> None:
    model = nn.Sequential(nn.BatchNorm2d(3), nn.BatchNorm2d(3, track_running_stats=False))
    with pytest.raises(ModelError, match=r"layer '1' \(BatchNorm2d\) has no running statistics"):
        adapt(model)


def test_instance_norm_is_not_mistaken_for_a_batchnorm() -> None:
    model = nn.Sequential(nn.InstanceNorm2d(3, track_running_stats=True), nn.BatchNorm2d(3))
    assert len(adapt(model).report().layers) == 1


@pytest.mark.parametrize("model", [nn.Sequential(nn.Conv2d(3, 3, 1)), nn.Identity(), nn.LayerNorm(3)])
def test_nothing_to_adapt_is_an_error(model: nn.Module) -> None:
    with pytest.raises(NothingToAdaptError, match=f"{type(model).__name__} has no BatchNorm layer"):
        adapt(model)
    assert adapt(model, Source()).report().layers == ()


def test_keeping_everything_leaves_nothing_to_adapt() -> None:
    with pytest.raises(NothingToAdaptError, match="all 1 BatchNorm layers of Sequential are to be kept"):
        adapt(nn.Sequential(nn.BatchNorm2d(3)), keep=["0"])


def test_a_name_to_keep_that_is_not_there_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"'norm1'; did you mean 'norm'"):
        adapt(SharedNorm(), keep=["norm1"])


def test_learning_without_affine_parameters_is_refused() -> None:
    with pytest.raises(NothingToAdaptError, match="no replaced BatchNorm has affine parameters"):
        adapt(nn.Sequential(nn.BatchNorm2d(3, affine=False)), Tent())


@pytest.mark.parametrize("model", [None, "resnet50", torch.zeros(3), nn.BatchNorm2d])
def test_what_is_no_module_is_refused(model: object) -> None:
    with pytest.raises(ModelError, match=r"must be a torch.nn.Module, got"):
        adapt(model)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["mixnorm", MixNorm, 0.2])
def test_what_is_no_method_is_refused(method: object) -> None:
    with pytest.raises(SettingError, match=r"such as mixnorm.ShrinkNorm\(\), got"):
        adapt(nn.BatchNorm2d(3), method)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [None, 1.5, "7", True])
def test_a_seed_that_is_no_whole_number_is_refused(seed: object) -> None:
    with pytest.raises(SettingError, match="seed must be a whole number, got"):
        adapt(nn.BatchNorm2d(3), seed=seed)  # type: ignore[arg-type]


def test_an_adapted_model_is_not_adapted_again() -> None:
    adapted = adapt(nn.Sequential(nn.BatchNorm2d(3)))
    for model in (adapted, adapted.model, nn.Sequential(adapted)):
        with pytest.raises(ModelError, match="adapts already"):
            adapt(model)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        ([[1.0]], "must be a tensor with a batch of samples, got list"),
        (torch.zeros(2, 3, 4, 4, dtype=torch.uint8), r"must be floating point, got torch.uint8; convert it, such as"),
        (torch.zeros(0, 3, 4, 4), r"at least one sample, .* got shape \(0, 3, 4, 4\)"),
        (torch.zeros(()), r"at least one sample, .* got shape \(\)"),
        (torch.zeros(2, 3), "got features of shape|views are made of images"),
    ],
)
@pytest.mark.parametrize("method", [MixNorm(), MixNorm(views=0), Tent()])
def test_bad_batches_are_refused_and_change_nothing(images: Tensor, message: str, method: MixNorm) -> None:
    adapted = adapt(nn.Sequential(nn.BatchNorm2d(3)), method)
    adapted(torch.randn(2, 3, 4, 4))
    before = adapted.snapshot()
    with pytest.raises(InputError, match=message) as caught:
        adapted(images)
    assert isinstance(caught.value, MixNormError)
    assert isinstance(caught.value, ValueError)
    after = adapted.snapshot()
    assert before.header == after.header
    assert all(torch.equal(before.tensors[name], after.tensors[name]) for name in before.tensors)


def test_layers_alone_neither_make_views_nor_learn() -> None:
    for method in (MixNorm(), Tent(), Source()):
        with pytest.raises(SettingError, match=r"layers alone can neither make views nor learn.*use adapt\(model"):
            replace_batchnorm_(nn.BatchNorm2d(3), method)
    with pytest.raises(SettingError, match="the method must be one of mixnorm's"):
        replace_batchnorm_(nn.BatchNorm2d(3), MixNorm)  # type: ignore[arg-type]


def test_layers_alone_keep_a_sample_that_is_not_finite_out_of_the_state() -> None:
    model = replace_batchnorm_(nn.Sequential(nn.BatchNorm2d(3)), MixNorm(tau=0.5, views=0))
    model(torch.full((2, 3, 4, 4), torch.nan))
    assert model(torch.randn(2, 3, 4, 4)).isfinite().all()


def test_hooks_that_would_be_lost_are_refused() -> None:
    model = nn.Sequential(nn.BatchNorm2d(3), nn.BatchNorm2d(3))
    model[1].register_forward_hook(lambda module, inputs, output: output * 2)
    with pytest.raises(ModelError, match=r"layer '1' has hooks"):
        adapt(model)


def test_a_layer_without_running_statistics_can_be_kept_and_is_reported() -> None:
    model = nn.Sequential(nn.BatchNorm2d(3, track_running_stats=False), nn.BatchNorm2d(3))
    assert [layer.status for layer in adapt(model, keep=["0"]).report().layers] == ["kept", "replaced"]


def test_a_model_that_cannot_be_copied_is_refused_with_advice() -> None:
    model = nn.Sequential(nn.BatchNorm2d(3))
    model.register_buffer("grown", torch.ones(3, requires_grad=True) * 2)
    with pytest.raises(ModelError, match=r"Sequential cannot be copied: .*old weight_norm"):
        adapt(model)


@pytest.mark.parametrize("keep", [None, 3])
def test_what_are_no_names_to_keep_is_refused(keep: object) -> None:
    with pytest.raises(SettingError, match="keep must be the names of BatchNorm layers, got"):
        adapt(nn.BatchNorm2d(3), keep=keep)  # type: ignore[arg-type]


def test_names_to_keep_are_checked_for_source_too() -> None:
    with pytest.raises(UnknownNameError, match="unknown BatchNorm layer to keep 'nope'"):
        adapt(nn.Sequential(nn.BatchNorm2d(3)), Source(), keep=["nope"])
