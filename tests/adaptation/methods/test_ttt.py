import dataclasses
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mixnorm.adaptation import Entropy, Method, MixNorm, MixNormBN, Steps, Ttt, adapt
from mixnorm.adaptation.methods import Seen
from mixnorm.adaptation.methods.ttt import TttLesson, turned
from mixnorm.adaptation.sample_models import SAMPLE_MODELS, TwoHeads
from mixnorm.errors import InputError, ModelError, NothingToAdaptError, SettingError, UnknownNameError
from tests.reference import ttt as reference

TWO_HEADS = next(sample for sample in SAMPLE_MODELS if sample.name == "two heads")


def affine(model: nn.Module) -> list[nn.Parameter]:
    return [
        parameter
        for module in model.modules()
        if isinstance(module, nn.BatchNorm2d)
        for parameter in module.parameters()
    ]


def extractor(model: nn.Module) -> list[nn.Parameter]:
    return [parameter for name, parameter in model.named_parameters() if "head" not in name]


def features(model: nn.Module, x: Tensor) -> Tensor:
    assert isinstance(model, TwoHeads)
    return model.pool(model.block(model.stem(x)))  # type: ignore[no-any-return]


def test_each_kind_of_parameters_has_a_step_of_its_own() -> None:
    assert Ttt().learn == Ttt(learn=None).learn == Steps(optimizer="adam", lr=1e-3)  # type: ignore[arg-type]
    assert Ttt(parameters="features").learn == Steps(optimizer="sgd", lr=1e-3)
    assert Ttt(parameters="features") == Ttt.preset("cifar10-c")


def test_images_are_turned_by_quarters() -> None:
    images = torch.randn(3, 2, 5, 5)
    expected = [reference.turned(image, quarters) for quarters in range(4) for image in images]
    assert torch.equal(turned(images), torch.stack(expected))


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3, 4), (2, 1, 4, 4, 4)])
def test_what_is_no_square_image_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="TTT turns square images"):
        turned(torch.zeros(shape))


def test_the_loss_is_that_of_the_definition() -> None:
    adapted = adapt(TWO_HEADS.model(), Ttt())
    lesson = adapted._state.lesson
    assert isinstance(lesson, TttLesson)
    logits = torch.randn(12, 4)
    lesson._head.forward = lambda rows: logits
    images = TWO_HEADS.batches(1, 3)[0]
    loss = lesson.loss(Seen(images, None, None, None, lambda rows, groups: torch.zeros(12, 6)))
    turns = [quarters for quarters in range(4) for _ in images]
    assert loss.item() == pytest.approx(reference.rotation_loss(logits.tolist(), turns), abs=1e-5)
    torch.testing.assert_close(loss, F.cross_entropy(logits, torch.tensor(turns)))


@pytest.mark.parametrize(("parameters", "moves"), [("affine", affine), ("features", extractor)])
def test_steps_are_those_of_plain_torch(parameters: str, moves: Callable[[nn.Module], list[nn.Parameter]]) -> None:
    batches = TWO_HEADS.batches(5, 6)
    adapted = adapt(TWO_HEADS.model(), Ttt(parameters=parameters, learn=Steps(lr=0.3)))  # type: ignore[arg-type]
    expected = reference.ttt(TWO_HEADS.model(), batches, features, moves, lr=0.3)
    for got, answer in zip([adapted(batch) for batch in batches], expected, strict=True):
        torch.testing.assert_close(got, answer, rtol=1e-4, atol=1e-4)


def test_a_head_may_read_the_output_of_a_named_layer_and_hold_a_batchnorm() -> None:
    class Middle(TwoHeads):
        def __init__(self) -> None:
            super().__init__()
            pool = (nn.AdaptiveAvgPool2d(1), nn.Flatten())
            self.rotation_head = nn.Sequential(nn.Conv2d(6, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), *pool, nn.Linear(6, 4))  # type: ignore[assignment]

    batches = TWO_HEADS.batches(4, 6)
    torch.manual_seed(0)
    model = Middle().eval()
    adapted = adapt(model, Ttt(layer="stem", parameters="features", learn=Steps(lr=0.3)))
    expected = reference.ttt(
        model,
        batches,
        lambda model, x: model.get_submodule("stem")(x),
        lambda model: list(model.get_submodule("stem").parameters()),
        lr=0.3,
    )
    for got, answer in zip([adapted(batch) for batch in batches], expected, strict=True):
        torch.testing.assert_close(got, answer, rtol=1e-4, atol=1e-4)
    with adapted.paused():
        assert torch.equal(adapted(batches[0]), model(batches[0]))


def test_only_what_the_features_depend_on_moves() -> None:
    adapted = adapt(TWO_HEADS.model(), Ttt(parameters="features", learn=Steps(lr=0.3)))
    adapted(TWO_HEADS.batches(1, 6)[0])
    values = [tensor for name, tensor in adapted.snapshot().tensors.items() if name.endswith(".value")]
    for value, source in zip(values, extractor(TWO_HEADS.model()), strict=True):
        assert not torch.equal(value, source)


def test_the_answer_is_the_one_before_the_step() -> None:
    batch = TWO_HEADS.batches(1, 6)[0]
    eager, still = (adapt(TWO_HEADS.model(), Ttt(learn=Steps(lr=lr))) for lr in (10.0, 0.0))
    assert torch.equal(eager(batch), still(batch))
    assert not torch.allclose(eager(batch), still(batch))


@pytest.mark.parametrize("method", [MixNorm(tau=0.1, views=0), MixNormBN(tau_max=0.9, views=0)], ids=str)
def test_reading_turned_images_moves_no_statistics(monkeypatch: pytest.MonkeyPatch, method: Method) -> None:
    plain, still = adapt(TWO_HEADS.model(), method), Ttt(learn=Steps(lr=0.0))
    monkeypatch.setattr(type(method), "lesson", lambda self, model, layers: TttLesson(model, still, layers))
    reading = adapt(TWO_HEADS.model(), dataclasses.replace(method, learn=Entropy()))  # type: ignore[call-arg]
    for batch in TWO_HEADS.batches(3, 6):
        torch.testing.assert_close(reading(batch), plain(batch))
    expected, moved = plain.snapshot().tensors, reading.snapshot().tensors
    assert expected
    assert any(name.startswith("learned") for name in moved)
    for name, table in expected.items():
        torch.testing.assert_close(moved[name], table)


def test_steps_lower_the_loss() -> None:
    adapted = adapt(TWO_HEADS.model(), Ttt(parameters="features", learn=Steps(lr=0.1)))
    batch = TWO_HEADS.batches(1, 16)[0]
    losses = []
    lesson = adapted._state.lesson
    assert lesson is not None
    original = lesson.loss
    lesson.loss = lambda seen: losses.append(original(seen)) or losses[-1]  # type: ignore[method-assign, func-returns-value]
    for _ in range(20):
        adapted(batch)
    assert losses[-1] < losses[0] - 0.01


def test_pictures_that_are_not_square_are_refused_and_change_nothing() -> None:
    adapted = adapt(TWO_HEADS.model(), Ttt())
    before = adapted.snapshot()
    with pytest.raises(InputError, match=r"TTT turns square images .* got shape \(2, 3, 10, 12\); crop or pad them"):
        adapted(torch.randn(2, 3, 10, 12))
    assert adapted.snapshot().header == before.header
    with adapted.frozen():
        assert adapted(torch.randn(2, 3, 10, 12)).shape == (2, 5)


def with_head(head: nn.Module) -> nn.Module:
    model = TwoHeads().eval()
    model.rotation_head = head  # type: ignore[assignment]
    return model


def test_a_head_of_the_wrong_width_is_refused() -> None:
    with pytest.raises(ModelError, match=r"'rotation_head' must answer with 4 logits, .* linear layer has 5"):
        adapt(with_head(nn.Linear(6, 5)), Ttt())


def test_a_head_that_takes_other_features_is_refused() -> None:
    with pytest.raises(ModelError, match="takes 7 features, and layer 'head' gets 6; name the layer"):
        adapt(with_head(nn.Linear(7, 4)), Ttt())


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (nn.Identity(), r"must answer with 4 logits for each row, \(2, 4\), and answers with \(2, 6\)"),
        (nn.Sequential(nn.Unflatten(1, (2, 3)), nn.Flatten()), r"must answer with 4 logits for each row, \(2, 4\)"),
        (
            nn.Sequential(nn.Linear(7, 4)),
            r"does not take the features at layer 'head', of shape \(2, 6\): .*layer=\.\.\.",
        ),
        (nn.Conv2d(6, 4, 1), r"does not take the features at layer 'head', of shape \(2, 6\)"),
    ],
)
def test_a_head_that_does_not_fit_the_features_is_refused_at_once(head: nn.Module, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        adapt(with_head(head), Ttt())


@pytest.mark.parametrize(
    "head",
    [nn.Linear(7, 4), nn.Sequential(nn.Flatten(), nn.Linear(6, 4)), nn.Sequential(nn.BatchNorm1d(7), nn.Linear(7, 4))],
)
def test_a_head_that_turns_out_not_to_fit_is_refused_and_changes_nothing(head: nn.Module) -> None:
    """What a named layer gives, and what a head with layers that adapt makes of it, the first batch shows."""
    layer = None if isinstance(head, nn.Sequential) and isinstance(head[0], nn.BatchNorm1d) else "stem"
    adapted = adapt(with_head(head), Ttt(layer=layer))
    before = adapted.snapshot()
    with pytest.raises(ModelError, match="does not take the features at layer"):
        adapted(torch.randn(2, 3, 10, 10))
    assert adapted.snapshot().header == before.header


def test_a_head_is_tried_where_and_as_precisely_as_the_model_is() -> None:
    head = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4))
    assert adapt(with_head(head).double(), Ttt())(torch.randn(2, 3, 10, 10).double()).dtype == torch.float64
    assert adapt(with_head(head).bfloat16(), Ttt()).seed == 0


def test_pictures_that_are_not_square_are_refused_before_the_model_runs() -> None:
    model, calls = TWO_HEADS.model(), []
    adapted = adapt(model, Ttt())
    adapted.model.register_forward_pre_hook(lambda *_: calls.append(1))
    with pytest.raises(InputError, match="TTT turns square images"):
        adapted(torch.randn(2, 3, 10, 12))
    with pytest.raises(InputError, match="TTT turns square images"):
        adapted.fit([torch.randn(2, 3, 10, 12)])
    assert calls == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"head": "rotation"}, "TwoHeads has no rotation head 'rotation'; its nearest names are rotation_head"),
        ({"layer": "stem.4"}, "TwoHeads has no layer 'stem.4'; its nearest names are stem"),
    ],
)
def test_names_that_are_not_there_are_answered_with_the_nearest(settings: dict[str, str], message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        adapt(TwoHeads(), Ttt(**settings))  # type: ignore[arg-type]


def test_a_model_without_another_linear_layer_must_name_the_layer() -> None:
    model = nn.Sequential(nn.BatchNorm2d(3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    model.rotation_head = nn.Linear(3, 4)
    with pytest.raises(ModelError, match="has no linear layer"):
        adapt(model, Ttt())


def test_a_network_without_affine_parameters_is_told_what_else_to_learn() -> None:
    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, affine=False))
            self.head, self.rotation_head = nn.Linear(4, 3), nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.body(x).mean((2, 3)))  # type: ignore[no-any-return]

    with pytest.raises(NothingToAdaptError, match="use parameters='features'"):
        adapt(Plain(), Ttt())
    adapted = adapt(Plain(), Ttt(parameters="features"))
    adapted(torch.randn(2, 3, 6, 6))
    assert adapted.skipped_steps == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"head": None}, "head must be the name of a rotation head in the model, got None"),
        ({"head": 1}, "head must be None or the name of a module, got 1"),
        ({"layer": ""}, "layer must be None or the name of a module, got ''"),
        ({"parameters": "all"}, "parameters must be 'affine' or 'features', got 'all'"),
        ({"learn": 0.1}, r"learn must be None or a Steps\(...\), got 0.1"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Ttt(**settings)  # type: ignore[arg-type]
