import pytest
import torch

from mixnorm.adaptation import Entropy, MixNormBN, Tent, adapt
from mixnorm.adaptation.sample_models import SAMPLE_MODELS, SampleModel
from tests.reference.tent import tent

ONE_OUTPUT = [sample for sample in SAMPLE_MODELS if sample.name != "dict"]


@pytest.mark.parametrize("sample", ONE_OUTPUT, ids=lambda sample: sample.name)
def test_adam_steps_are_those_of_plain_torch(sample: SampleModel) -> None:
    batches = sample.batches(5, 6)
    adapted = adapt(sample.model(), Tent(learn=Entropy(optimizer="adam", lr=1e-2)))
    for got, expected in zip(
        [adapted(batch) for batch in batches],
        tent(sample.model(), batches, torch.optim.Adam, lr=1e-2),
        strict=True,
    ):
        torch.testing.assert_close(got, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("sample", ONE_OUTPUT, ids=lambda sample: sample.name)
def test_sgd_steps_are_those_of_plain_torch(sample: SampleModel) -> None:
    batches = sample.batches(5, 6)
    adapted = adapt(sample.model(), Tent(learn=Entropy(optimizer="sgd", lr=0.1, momentum=0.9)))
    for got, expected in zip(
        [adapted(batch) for batch in batches],
        tent(sample.model(), batches, torch.optim.SGD, lr=0.1, momentum=0.9),
        strict=True,
    ):
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)


def test_batch_statistics_and_a_step_is_tent() -> None:
    sample = SAMPLE_MODELS[0]
    batches = sample.batches(4, 6)
    tent_model = adapt(sample.model(), Tent(learn=Entropy(lr=1e-2)))
    other = adapt(sample.model(), MixNormBN(m=1.0, tau_max=0.5, views=0, learn=Entropy(lr=1e-2)))
    for batch in batches:
        torch.testing.assert_close(tent_model(batch), other(batch))


def test_the_answer_is_the_one_before_the_step() -> None:
    sample = SAMPLE_MODELS[0]
    batch = sample.batches(1, 6)[0]
    eager = adapt(sample.model(), Tent(learn=Entropy(optimizer="sgd", lr=10.0)))
    still = adapt(sample.model(), Tent(learn=Entropy(optimizer="sgd", lr=0.0)))
    assert torch.equal(eager(batch), still(batch))
    assert not torch.allclose(eager(batch), still(batch))


def test_steps_lower_the_entropy() -> None:
    sample = SAMPLE_MODELS[0]
    batch = sample.batches(1, 32)[0]
    adapted = adapt(sample.model(), Tent(learn=Entropy(lr=1e-2)))
    entropies = []
    for _ in range(20):
        p = adapted(batch).softmax(1)
        entropies.append(-(p * p.log()).sum(1).mean().item())
    assert entropies[-1] < 0.8 * entropies[0]


def test_the_source_parameters_never_change() -> None:
    sample = SAMPLE_MODELS[0]
    adapted = adapt(sample.model(), Tent(learn=Entropy(lr=1.0)))
    for batch in sample.batches(3, 4):
        adapted(batch)
    for name, value in sample.model().state_dict().items():
        assert torch.equal(adapted.state_dict()[name], value), name
