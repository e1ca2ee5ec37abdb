import json
import math
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
import torch
from torch import nn

from mixnorm.adaptation import (
    BatchStatistics,
    Entropy,
    Method,
    MixNorm,
    MixNormBN,
    Shot,
    ShrinkNorm,
    Source,
    Steps,
    Tent,
    Ttt,
    adapt,
)
from mixnorm.adaptation.methods import mean_entropy
from mixnorm.errors import MixNormError, SettingError, UnknownNameError

METHODS = [
    Source(),
    BatchStatistics(),
    Tent(learn=Entropy(optimizer="sgd", lr=2.5e-4, momentum=0.5)),
    MixNorm(m=0.3, tau=0.0, views=2),
    ShrinkNorm(
        views=1, content=0.2, spread=0.3, view_doubt=1, stream_doubt=0.1, stream_cap=1, alike=1, cap=0.2, tau=0.1
    ),
    ShrinkNorm(reach=1, usual_scatter=0.5, far_doubt=1, often=16, stream_reach=10),
    MixNormBN(tau_max=1.1, learn=Entropy(betas=(0.5, 0.9))),
    Shot(head="fc", beta=0.1, learn=Steps(optimizer="adam", betas=(0.5, 0.9), weight_decay=0.1)),
    Ttt(head="turns", layer="block2", parameters="features", learn=Steps(momentum=0.5, nesterov=True)),
]


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_methods_go_to_json_and_back(method: Method) -> None:
    assert Method.from_dict(json.loads(json.dumps(method.to_dict()))) == method


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (MixNorm, {"m": -0.1}, "m must be a number from 0 to 1, got -0.1"),
        (MixNorm, {"m": 1.01}, "m must be a number from 0 to 1, got 1.01"),
        (MixNorm, {"m": math.nan}, "m must be a number from 0 to 1, got nan"),
        (MixNorm, {"m": "0.2"}, "m must be a number from 0 to 1, got '0.2'"),
        (MixNorm, {"m": True}, "m must be a number from 0 to 1, got True"),
        (MixNorm, {"m": torch.tensor(0.1)}, "m must be a number from 0 to 1, got tensor"),
        (MixNorm, {"tau": 2}, "tau must be a number from 0 to 1, got 2"),
        (MixNorm, {"tau": None}, "tau must be a number from 0 to 1, got None"),
        (MixNorm, {"views": -1}, "views must be a whole number of 0 or more, got -1"),
        (MixNorm, {"views": 1.0}, "views must be a whole number of 0 or more, got 1.0"),
        (MixNorm, {"learn": "adam"}, r"learn must be None or a Entropy\(...\), got 'adam'"),
        (MixNormBN, {"tau_max": -1}, "tau_max must be a number of 0 or more, got -1"),
        (MixNormBN, {"views": True}, "views must be a whole number of 0 or more, got True"),
        (ShrinkNorm, {"views": 2}, "views must be 0, or 1 for the mirror image, got 2"),
        (ShrinkNorm, {"views": True}, "views must be 0, or 1 for the mirror image, got True"),
        (ShrinkNorm, {"content": 0}, "content must be a number of 1e-06 or more, got 0"),
        (ShrinkNorm, {"spread": "wide"}, "spread must be a number of 1e-06 or more, got 'wide'"),
        (ShrinkNorm, {"doubt": -1}, "doubt must be a number of 0 or more, got -1"),
        (ShrinkNorm, {"stream_doubt": math.nan}, "stream_doubt must be a number of 0 or more, got nan"),
        (ShrinkNorm, {"view_doubt": "0.4"}, "view_doubt must be a number of 0 or more, got '0.4'"),
        (ShrinkNorm, {"alike": 0}, "alike must be a number from 1 to 1e\\+06, got 0"),
        (ShrinkNorm, {"stream_doubt": -0.1}, "stream_doubt must be a number of 0 or more, got -0.1"),
        (ShrinkNorm, {"reach": 0}, "reach must be a number of 1e-06 or more, got 0"),
        (ShrinkNorm, {"stream_reach": 0}, "stream_reach must be a number of 1e-06 or more, got 0"),
        (ShrinkNorm, {"often": 0}, "often must be a whole number of 1 or more, got 0"),
        (ShrinkNorm, {"often": 8.0}, "often must be a whole number of 1 or more, got 8.0"),
        (ShrinkNorm, {"usual_scatter": -1}, "usual_scatter must be a number of 0 or more, got -1"),
        (ShrinkNorm, {"far_doubt": -1}, "far_doubt must be a number of 0 or more, got -1"),
        (ShrinkNorm, {"stream_cap": 1.5}, "stream_cap must be a number from 0 to 1, got 1.5"),
        (ShrinkNorm, {"cap": 1.5}, "cap must be a number from 0 to 1, got 1.5"),
        (ShrinkNorm, {"tau": 2}, "tau must be a number from 0 to 1, got 2"),
        (Tent, {"learn": None}, r"Tent without learning is BatchStatistics\(\); got learn=None"),
        (Entropy, {"optimizer": "lion"}, "optimizer must be 'adam' or 'sgd', got 'lion'"),
        (Entropy, {"lr": -1e-3}, "lr must be a number of 0 or more, got -0.001"),
        (Entropy, {"betas": 0.9}, "betas must be two numbers, got 0.9"),
        (Entropy, {"betas": (0.9, 1)}, "betas must be a number from 0 to 1, got 1"),
        (Steps, {"weight_decay": -1}, "weight_decay must be a number of 0 or more, got -1"),
        (Steps, {"nesterov": 1}, "nesterov must be False, or True for SGD with a momentum, got 1"),
        (Steps, {"nesterov": True}, "nesterov must be False, or True for SGD with a momentum, got True"),
        (Steps, {"optimizer": "adam", "momentum": 0.9, "nesterov": True}, "nesterov must be False"),
    ],
)
def test_settings_out_of_range_are_refused(kind: type[Any], settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message) as caught:
        kind(**settings)
    assert isinstance(caught.value, MixNormError)
    assert isinstance(caught.value, ValueError)


def test_methods_are_frozen_and_keyword_only() -> None:
    with pytest.raises(FrozenInstanceError):
        MixNorm().m = 0.5  # type: ignore[misc]
    with pytest.raises(TypeError):
        MixNorm(0.5)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"method": "MixNrm"}, r"unknown method 'MixNrm'; did you mean 'MixNorm'"),
        ({}, "unknown method None"),
        ({"method": "MixNorm", "taus": 1}, r"unknown setting of MixNorm 'taus'; did you mean 'tau'\?"),
        ({"method": "Tent", "learn": {"rate": 1}}, "unknown setting of Entropy 'rate'"),
        ({"method": "Shot", "learn": {"rate": 1}}, "unknown setting of Steps 'rate'"),
    ],
)
def test_plain_data_that_does_not_fit_is_refused(data: dict[str, Any], message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        Method.from_dict(data)


def test_settings_of_learning_that_are_not_given_are_the_methods_own() -> None:
    assert Method.from_dict({"method": "Shot", "learn": {"lr": 0.1}}) == Shot(
        learn=Steps(lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-3)
    )
    assert Method.from_dict({"method": "MixNorm", "learn": {"lr": 0.1}}) == MixNorm(learn=Entropy(lr=0.1))


def test_plain_data_of_methods_that_were_there_before_stays_the_same() -> None:
    learn = {"optimizer": "adam", "lr": 1e-3, "betas": (0.9, 0.999), "momentum": 0.9}
    assert Tent().to_dict() == {"method": "Tent", "learn": learn}


PRESETS = [(kind, preset.name) for kind in Method.registry.values() for preset in kind.presets]


SOURCES = ("Appendix B", "Section 4", "Liang et al. 2020", "Sun et al. 2020")


@pytest.mark.parametrize(("kind", "name"), PRESETS)
def test_every_preset_can_be_made_and_says_where_it_comes_from(kind: type[Method], name: str) -> None:
    method = kind.preset(name)
    assert isinstance(method, kind)
    assert next(preset for preset in kind.presets if preset.name == name).table.startswith(SOURCES)


def test_an_unknown_preset_is_answered_with_the_nearest() -> None:
    with pytest.raises(
        UnknownNameError, match=r"unknown preset of MixNorm 'cifar10-c/mix'; did you mean 'cifar10-c/mixed'"
    ):
        MixNorm.preset("cifar10-c/mix")


def test_presets_are_those_of_the_paper() -> None:
    # Appendix B, row by row.
    rows = {
        "cifar10-c/single": (0.05, 1e-3),
        "cifar10-c/mixed": (0.2, 1e-3),
        "imagenet-c/single": (0.01, 1e-3),
        "imagenet-c/mixed": (0.05, 1e-6),
        "cifar10": (0.01, 1e-6),
        "cifar100": (0.01, 1e-6),
        "stl10": (0.01, 1e-6),
        "stanford-cars": (0.01, 1e-7),
        "food101": (0.005, 1e-7),
    }
    for name, (m, tau) in rows.items():
        assert MixNorm.preset(name) == MixNorm(m=m, tau=tau, views=1)
    adam, sgd = Entropy(optimizer="adam", lr=1e-3), Entropy(optimizer="sgd", lr=2.5e-4, momentum=0.9)
    assert MixNorm.preset("cifar10-c/mixed/learnable") == MixNorm(m=0.2, tau=1e-3, learn=adam)
    assert MixNorm.preset("imagenet-c/single/learnable") == MixNorm(m=0.01, tau=1e-3, learn=sgd)
    assert MixNormBN.preset("cifar10-c/single") == MixNormBN(m=0.01, tau_max=0.75, learn=adam)
    assert MixNormBN.preset("imagenet-c/mixed") == MixNormBN(m=0.05, tau_max=1.1, learn=sgd)
    assert MixNormBN.preset("usps").tau_max == 0.5
    assert Tent.preset("cifar10-c") == Tent(learn=adam)
    assert Tent.preset("imagenet-c") == Tent(learn=sgd)


def test_presets_of_other_papers_are_theirs() -> None:
    steps = Steps(optimizer="sgd", lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-3)
    assert Shot.preset("digits") == Shot(beta=0.1, learn=steps)
    assert Ttt.preset("cifar10-c") == Ttt(parameters="features", learn=Steps(optimizer="sgd", lr=1e-3))


def test_steps_are_made_with_all_their_settings() -> None:
    parameters = [torch.zeros(2, requires_grad=True)]
    sgd = Steps(lr=0.5, momentum=0.9, nesterov=True, weight_decay=0.1).make_optimizer(parameters).param_groups[0]
    assert (sgd["lr"], sgd["momentum"], sgd["nesterov"], sgd["weight_decay"]) == (0.5, 0.9, True, 0.1)
    adam = Steps(optimizer="adam", betas=(0.5, 0.6), weight_decay=0.1).make_optimizer(parameters).param_groups[0]
    assert (adam["betas"], adam["weight_decay"]) == ((0.5, 0.6), 0.1)


def test_ablations_are_settings() -> None:
    # Table 2: moving speed, share of local statistics, and whether there are views.
    assert MixNorm.preset("ablation/instance") == MixNorm(tau=0.0, m=1.0, views=0)
    assert MixNorm.preset("ablation/augmentation") == MixNorm(tau=0.0, m=1.0, views=1)
    assert MixNorm.preset("ablation/fixed-global") == MixNorm(tau=0.0, m=0.0, views=0)
    assert MixNorm.preset("ablation/moving-global") == MixNorm(tau=1e-3, m=0.0, views=0)


def test_algorithm_boxes_are_the_defaults_of_their_methods() -> None:
    assert MixNorm() == MixNorm(m=0.05, tau=1e-3, views=1, learn=None)
    assert MixNormBN() == MixNormBN(m=0.05, tau_max=0.9, views=1, learn=None)
    assert adapt(nn.BatchNorm2d(3)).method == ShrinkNorm()


def test_mean_entropy_is_that_of_the_definition() -> None:
    logits = 3 * torch.randn(7, 4)
    p = logits.double().softmax(1)
    torch.testing.assert_close(mean_entropy(logits).double(), -(p * p.log()).sum() / 7)


def test_mean_entropy_of_certain_predictions_is_zero_and_not_nan() -> None:
    logits = torch.tensor([[200.0, 0.0]], requires_grad=True)
    gradient = torch.autograd.grad(mean_entropy(logits), logits)[0]
    assert mean_entropy(logits).item() == 0
    assert gradient.isfinite().all()


def test_mean_entropy_of_dense_predictions_is_over_classes_at_each_position() -> None:
    assert mean_entropy(torch.zeros(2, 5, 3, 3)).item() == pytest.approx(math.log(5))
