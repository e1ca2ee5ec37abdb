import copy
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mixnorm.adaptation import BatchStatistics, Shot, Steps, adapt, find_head
from mixnorm.adaptation.methods.shot import ShotLesson, centroids, information_loss, nearest
from mixnorm.adaptation.sample_models import SAMPLE_MODELS, DictOutput
from mixnorm.errors import ModelError, SettingError, UnknownNameError
from tests.reference import shot as reference

SAMPLES = {sample.name: sample for sample in SAMPLE_MODELS}
RESNET = SAMPLES["resnet"]


def drawn(samples: int, features: int, classes: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(samples, features, generator=generator), 2 * torch.randn(samples, classes, generator=generator)


@pytest.mark.parametrize(("samples", "classes"), [(1, 2), (7, 4), (40, 10)])
def test_information_loss_is_that_of_the_definition(samples: int, classes: int) -> None:
    _, logits = drawn(samples, 3, classes)
    assert information_loss(logits).item() == pytest.approx(
        reference.information_loss(logits.double().numpy()), abs=1e-5
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("samples", "classes"), [(1, 3), (6, 5), (50, 4), (12, 20)])
def test_centroids_and_labels_are_those_of_the_definition(samples: int, classes: int, seed: int) -> None:
    features, logits = drawn(samples, 5, classes, seed)
    expected = reference.centroids(features.double().numpy(), logits.double().numpy())
    got = centroids(features, logits)
    assert sorted(expected) == [k for k in range(classes) if not got[k].isnan().any()]
    for k, centroid in expected.items():
        np.testing.assert_allclose(got[k].numpy(), centroid, atol=1e-5)
    assert nearest(features, got).tolist() == reference.nearest(features.double().numpy(), expected)


def test_centroids_find_clusters_that_the_predictions_miss() -> None:
    features = torch.tensor([[5.0, 0.1], [5.0, -0.2], [4.0, 0.0], [0.1, 5.0], [-0.1, 4.0], [0.0, 6.0]])
    logits = torch.tensor([[2.0, 0.0], [2.0, 0.0], [0.0, 0.3], [0.0, 2.0], [0.0, 2.0], [0.3, 0.0]])
    assert nearest(features, centroids(features, logits)).tolist() == [0, 0, 0, 1, 1, 1]


def shot(model: nn.Module, batches: list[Tensor], beta: float, lr: float) -> list[Tensor]:
    """SHOT online in plain torch, its loss by torch and its labels by the reference."""
    model = copy.deepcopy(model).train()
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.track_running_stats = False
            module.running_mean = module.running_var = None
    body, head = model[:-1], model[-1]  # type: ignore[index]
    optimizer = torch.optim.SGD(body.parameters(), lr=lr, momentum=0.9, nesterov=True, weight_decay=1e-3)
    answers = []
    for batch in batches:
        features = body(batch)
        logits = head(features)
        answers.append(logits.detach())
        p = logits.softmax(1)
        x, z = features.detach().double().numpy(), logits.detach().double().numpy()
        labels = reference.nearest(x, reference.centroids(x, z))
        loss = -(p * p.log()).sum(1).mean() + (p.mean(0) * (p.mean(0) + 1e-5).log()).sum()
        loss = loss + beta * F.cross_entropy(logits, torch.tensor(labels))
        assert loss.item() == pytest.approx(reference.shot_loss(x, z, labels, beta), abs=1e-4)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return answers


@pytest.mark.parametrize("beta", [0.0, 0.3, 2.0])
def test_online_steps_are_those_of_plain_torch(beta: float) -> None:
    batches = RESNET.batches(5, 12)
    adapted = adapt(RESNET.model(), Shot(beta=beta))
    for got, expected in zip(
        [adapted(batch) for batch in batches], shot(RESNET.model(), batches, beta, lr=0.01), strict=True
    ):
        torch.testing.assert_close(got, expected, rtol=1e-3, atol=1e-3)


def test_the_head_stays_and_all_before_it_moves() -> None:
    adapted = adapt(RESNET.model(), Shot())
    lesson = adapted._state.lesson
    assert isinstance(lesson, ShotLesson)
    moving = {id(parameter) for parameter in lesson.parameters()}
    names = {name for name, parameter in adapted.model.named_parameters() if id(parameter) in moving}
    assert names == {name for name, _ in RESNET.model().named_parameters() if not name.startswith("7.")}
    for batch in RESNET.batches(2, 6):
        adapted(batch)
    values = [tensor for name, tensor in adapted.snapshot().tensors.items() if name.endswith(".value")]
    for value, source in zip(values, lesson.parameters(), strict=True):
        assert not torch.equal(value, source)


def test_the_source_stays_as_it_is_while_learned_values_stand_in() -> None:
    adapted = adapt(RESNET.model(), Shot(learn=Steps(lr=1.0)))
    for batch in RESNET.batches(3, 6):
        adapted(batch)
    for name, value in RESNET.model().state_dict().items():
        assert torch.equal(adapted.state_dict()[name], value), name


def test_autocast_over_several_batches_uses_the_new_values() -> None:
    batches = RESNET.batches(3, 8)
    method = Shot(learn=Steps(lr=0.5))
    one, each = adapt(RESNET.model(), method), adapt(RESNET.model(), method)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        together = [one(batch) for batch in batches]
    for batch, answer in zip(batches, together, strict=True):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert torch.equal(each(batch), answer)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_models_of_other_precisions_learn(dtype: torch.dtype) -> None:
    adapted = adapt(RESNET.model(), Shot()).to(dtype)
    full = adapt(RESNET.model(), Shot())
    for batch in RESNET.batches(2, 6):
        torch.testing.assert_close(adapted(batch.to(dtype)).float(), full(batch), rtol=0.15, atol=0.15)
    assert adapted.skipped_steps == 0


def test_parameters_of_a_double_precision_model_are_not_rounded() -> None:
    model = RESNET.model().double()
    for parameter in model.parameters():
        parameter.data += 1e-9
    still, plain = adapt(model, Shot(learn=Steps(lr=0.0))), adapt(model, BatchStatistics())
    batch = RESNET.batches(1, 6)[0].double()
    still(batch)
    with still.frozen():
        torch.testing.assert_close(still(batch), plain(batch), rtol=1e-12, atol=1e-12)


def test_a_sample_with_spoilt_logits_does_not_stop_the_others_from_learning() -> None:
    class Spoils(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.where(torch.arange(len(x))[:, None] == 1, torch.inf, x)

    body = nn.Sequential(nn.BatchNorm2d(3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 4))
    adapted = adapt(nn.Sequential(body, Spoils()), Shot())
    adapted(torch.randn(4, 3, 5, 5))
    assert adapted.skipped_steps == 0
    assert any(name.startswith("learned") for name in adapted.snapshot().tensors)


def test_impossible_classes_are_never_a_label() -> None:
    class Masked(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + torch.tensor([0.0, -torch.inf, 0.0])

    body = (nn.BatchNorm2d(3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 3))
    adapted = adapt(nn.Sequential(*body, Masked()), Shot())
    for _ in range(3):
        adapted(torch.randn(8, 3, 5, 5))
    assert adapted.skipped_steps == 0
    assert all(tensor.isfinite().all() for tensor in adapted.snapshot().tensors.values())


def test_the_head_may_be_named() -> None:
    model = nn.Sequential(nn.BatchNorm2d(3), nn.AdaptiveAvgPool2d(1), nn.Conv2d(3, 4, 1), nn.Flatten())
    with pytest.raises(ModelError, match=r"Sequential has no linear layer, .* name the layer .* with head="):
        adapt(model, Shot())
    adapted = adapt(model, Shot(head="2"))
    adapted(torch.randn(4, 3, 5, 5))
    assert {name.split(":")[2] for name in adapted.snapshot().tensors if "value" in name} == {"0.value", "1.value"}


def test_a_head_that_is_not_there_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="DictOutput has no classifier head 'heat'; its nearest names are head"):
        adapt(DictOutput(), Shot(head="heat"))


def test_a_name_that_fits_several_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"'norm' may be any of 3\.norm, 4\.norm; give the whole name"):
        adapt(RESNET.model(), Shot(head="norm"))


def test_a_head_that_does_not_run_is_refused_and_changes_nothing() -> None:
    model = SAMPLES["two heads"].model()
    adapted = adapt(model, Shot(head="rotation_head"))
    before = adapted.snapshot()
    with pytest.raises(ModelError, match="layer 'rotation_head' did not run with the model"):
        adapted(SAMPLES["two heads"].batches(1, 4)[0])
    assert adapted.snapshot().header == before.header


def test_dense_predictions_are_refused() -> None:
    model = nn.Sequential(nn.BatchNorm2d(3), nn.Conv2d(3, 4, 1))
    with pytest.raises(ModelError, match=r"SHOT needs logits \(batch, classes\), got shape \(2, 4, 5, 5\)"):
        adapt(model, Shot(head="1"))(torch.randn(2, 3, 5, 5))


@pytest.mark.parametrize(("name", "head"), [("resnet", "7"), ("shared", "head"), ("two heads", "head")])
def test_the_head_is_the_last_linear_layer_that_is_no_rotation_head(name: str, head: str) -> None:
    assert find_head(SAMPLES[name].model()) == head
    assert find_head(nn.ModuleDict({"network": SAMPLES[name].model()})) == f"network.{head}"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beta": -1}, "beta must be a number of 0 or more, got -1"),
        ({"beta": math.nan}, "beta must be a number of 0 or more, got nan"),
        ({"head": ""}, "head must be None or the name of a module, got ''"),
        ({"head": 3}, "head must be None or the name of a module, got 3"),
        ({"learn": None}, r"Shot without learning is BatchStatistics\(\); got learn=None"),
        ({"learn": "sgd"}, r"learn must be None or a Steps\(...\), got 'sgd'"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Shot(**settings)  # type: ignore[arg-type]
