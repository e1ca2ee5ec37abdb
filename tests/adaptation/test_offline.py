"""Adapting to a target set that may be seen as often as needed: `fit` and `adapt_offline`."""

import copy
from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset

from mixnorm.adaptation import (
    AdaptedModel,
    BatchStatistics,
    Entropy,
    Method,
    MixNorm,
    MixNormBN,
    Shot,
    Source,
    Steps,
    Tent,
    Ttt,
    adapt,
    adapt_offline,
)
from mixnorm.adaptation.sample_models import SAMPLE_MODELS
from mixnorm.errors import InputError, SettingError, StateError
from tests.reference import shot as reference

SAMPLES = {sample.name: sample for sample in SAMPLE_MODELS}
RESNET, TWO_HEADS = SAMPLES["resnet"], SAMPLES["two heads"]
BATCHES = TWO_HEADS.batches(3, 6)
METHODS = [
    Source(),
    BatchStatistics(),
    Tent(),
    MixNorm(tau=0.1),
    MixNorm(tau=0.1, learn=Entropy(lr=0.1)),
    MixNormBN(learn=Entropy()),
    Shot(),
    Ttt(learn=Steps(lr=0.1)),
    Ttt(parameters="features", learn=Steps(lr=0.1)),
]
LEARNING = [method for method in METHODS if method.learning]


def same_state(mine: AdaptedModel, other: AdaptedModel) -> bool:
    first, second = mine.snapshot(), other.snapshot()
    tensors = first.tensors.keys() == second.tensors.keys() and all(
        torch.equal(first.tensors[name], second.tensors[name]) for name in first.tensors
    )
    return tensors and first.header == second.header


@pytest.mark.parametrize("method", [method for method in METHODS if not isinstance(method, Source | Shot)], ids=str)
def test_fitting_is_going_through_the_batches(method: Method) -> None:
    fitted = adapt_offline(TWO_HEADS.model(), BATCHES, method, epochs=2, seed=3)
    online = adapt(TWO_HEADS.model(), method, seed=3)
    for batch in BATCHES * 2:
        online(batch)
    assert same_state(fitted, online)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_a_fitted_model_predicts_frozen_and_goes_on(method: Method) -> None:
    fitted = adapt_offline(TWO_HEADS.model(), BATCHES, method, epochs=2)
    before = copy.deepcopy(fitted)
    with fitted.frozen():
        assert torch.equal(fitted(BATCHES[0]), fitted(BATCHES[0]))
    assert same_state(fitted, before)
    fitted(BATCHES[0])
    assert same_state(fitted, before) == (not method.adapts)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_a_snapshot_and_a_copy_of_a_fitted_model_continue(method: Method) -> None:
    fitted = adapt_offline(TWO_HEADS.model(), BATCHES, method, epochs=2)
    other = adapt(TWO_HEADS.model(), method)
    other.restore(fitted.snapshot())
    twin = copy.deepcopy(fitted)
    expected = fitted.fit(BATCHES)(BATCHES[0])
    assert torch.equal(other.fit(BATCHES)(BATCHES[0]), expected)
    assert torch.equal(twin.fit(BATCHES)(BATCHES[0]), expected)


def shot(model: nn.Module, batches: list[Tensor], epochs: int, beta: float, lr: float) -> list[Tensor]:
    """SHOT offline in plain torch: centroids of the whole set before each epoch, and a rate that falls."""
    model = copy.deepcopy(model).train()
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.track_running_stats = False
            module.running_mean = module.running_var = None
    body, head = model[:-1], model[-1]  # type: ignore[index]
    optimizer = torch.optim.SGD(body.parameters(), lr=lr, momentum=0.9, nesterov=True, weight_decay=1e-3)
    done = 0
    for _ in range(epochs):
        with torch.no_grad():
            whole = torch.cat([body(batch) for batch in batches])
            found = reference.centroids(whole.double().numpy(), head(whole).double().numpy())
        for batch in batches:
            done += 1
            optimizer.param_groups[0]["lr"] = lr * (1 + 10 * done / (epochs * len(batches))) ** -0.75
            features = body(batch)
            logits = head(features)
            p = logits.softmax(1)
            labels = reference.nearest(features.detach().double().numpy(), found)
            loss = -(p * p.log()).sum(1).mean() + (p.mean(0) * (p.mean(0) + 1e-5).log()).sum()
            loss = loss + beta * F.cross_entropy(logits, torch.tensor(labels))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        return [model(batch) for batch in batches]


def test_shot_fits_as_plain_torch_does() -> None:
    batches = RESNET.batches(4, 12)
    fitted = adapt_offline(RESNET.model(), batches, Shot(beta=1.0, learn=Shot().learn), epochs=3)
    with fitted.frozen():
        for batch, expected in zip(batches, shot(RESNET.model(), batches, 3, beta=1.0, lr=0.01), strict=True):
            torch.testing.assert_close(fitted(batch), expected, rtol=1e-3, atol=1e-3)


def test_shot_takes_a_loader_that_shuffles() -> None:
    images = torch.cat(RESNET.batches(4, 12))
    loader: DataLoader[Tensor] = DataLoader(images, batch_size=12, shuffle=True)  # type: ignore[arg-type]
    fitted = adapt_offline(RESNET.model(), loader, Shot(), epochs=2)
    assert fitted.snapshot().header.streams == {"": 96}


class Interrupts:
    """Batches whose last one never comes."""

    def __init__(self, error: BaseException, after: int) -> None:
        self.error, self.left = error, after

    def __iter__(self) -> Iterator[Tensor]:
        for batch in BATCHES:
            if not self.left:
                raise self.error
            self.left -= 1
            yield batch


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("the disc is gone")], ids=str)
@pytest.mark.parametrize("after", [2, 5])
def test_an_interruption_leaves_the_state_as_it_was(method: Method, error: BaseException, after: int) -> None:
    adapted = adapt(TWO_HEADS.model(), method)
    adapted(BATCHES[0], streams="door")
    adapted(BATCHES[1])
    before = copy.deepcopy(adapted)
    with pytest.raises(type(error)):
        adapted.fit(Interrupts(error, after), epochs=2)
    assert same_state(adapted, before)
    assert torch.equal(adapted(BATCHES[2]), before(BATCHES[2]))


def test_a_batch_that_the_model_cannot_take_leaves_the_state_as_it_was() -> None:
    adapted = adapt(TWO_HEADS.model(), Tent())
    before = copy.deepcopy(adapted)
    with pytest.raises(RuntimeError):
        adapted.fit([BATCHES[0], torch.randn(2, 4, 10, 10)])
    with pytest.raises(InputError, match="the input must be a tensor with a batch of samples, got list"):
        adapted.fit([BATCHES[0], [BATCHES[1], torch.zeros(6)]])  # type: ignore[list-item]
    assert same_state(adapted, before)


def test_progress_is_told_after_each_batch() -> None:
    told: list[tuple[int, int | None]] = []
    adapted = adapt(TWO_HEADS.model(), Tent())
    adapted.fit(BATCHES, epochs=2, progress=lambda done, total: told.append((done, total)))
    assert told == [(done, 6) for done in range(1, 7)]
    told.clear()
    adapted.fit(iter(BATCHES), progress=lambda done, total: told.append((done, total)))
    assert told == [(1, None), (2, None), (3, None)]


def test_a_loader_that_has_no_length_is_counted_as_it_goes() -> None:
    class NoLength(IterableDataset[Tensor]):
        def __iter__(self) -> Iterator[Tensor]:
            return iter(BATCHES)

    told: list[tuple[int, int | None]] = []
    loader = DataLoader(NoLength(), batch_size=None)
    adapt(TWO_HEADS.model(), Tent()).fit(loader, epochs=2, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, None), (2, None), (3, None), (4, 6), (5, 6), (6, 6)]


def test_a_progress_that_fails_leaves_the_state_as_it_was() -> None:
    adapted = adapt(TWO_HEADS.model(), Tent())

    def fail(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        adapted.fit(BATCHES, progress=fail)
    assert not adapted.snapshot().tensors


def test_what_can_be_looked_at_once_only_is_refused_where_twice_is_needed() -> None:
    generator = (batch for batch in BATCHES)
    with pytest.raises(InputError, match="generator can be looked at once only, and epochs=2; give a list"):
        adapt(TWO_HEADS.model(), Tent()).fit(generator, epochs=2)
    with pytest.raises(InputError, match="once only, and the method first looks at the whole target set; give a list"):
        adapt(TWO_HEADS.model(), Shot()).fit(generator)
    fitted = adapt(TWO_HEADS.model(), Tent()).fit(generator)
    assert same_state(fitted, adapt(TWO_HEADS.model(), Tent()).fit(BATCHES))


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("nothing", [[], (), DataLoader([])])  # type: ignore[arg-type]
def test_an_empty_target_set_is_refused(method: Method, nothing: list[Tensor]) -> None:
    with pytest.raises(InputError, match="the target set is empty"):
        adapt(TWO_HEADS.model(), method).fit(nothing)


@pytest.mark.parametrize("bad", [BATCHES[0], None, 3])
def test_what_holds_no_batches_is_refused(bad: object) -> None:
    with pytest.raises(InputError, match=f"must be batches of images, .* got {type(bad).__name__}"):
        adapt(TWO_HEADS.model(), Tent()).fit(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("epochs", [0, -1, 1.5, True, None])
def test_epochs_that_are_no_count_are_refused(epochs: object) -> None:
    with pytest.raises(SettingError, match=f"epochs must be a whole number of 1 or more, got {epochs}"):
        adapt_offline(TWO_HEADS.model(), BATCHES, Tent(), epochs=epochs)  # type: ignore[arg-type]


def test_a_model_that_stands_still_cannot_be_fitted() -> None:
    adapted = adapt(TWO_HEADS.model(), Tent())
    for still in (adapted.frozen, adapted.paused):
        with still(), pytest.raises(StateError, match="frozen or paused cannot be fitted"):
            adapted.fit(BATCHES)
    assert not adapted.snapshot().tensors


@pytest.mark.parametrize("method", [method for method in METHODS if method.adapts], ids=str)
def test_samples_that_are_not_finite_are_left_out(method: Method) -> None:
    spoilt = [batch.clone() for batch in BATCHES]
    spoilt[1][2, 0, 0, 0] = torch.nan
    clean = [BATCHES[0], BATCHES[1][[0, 1, 3, 4, 5]], BATCHES[2]]
    mine, other = (adapt_offline(TWO_HEADS.model(), batches, method, epochs=2) for batches in (spoilt, clean))
    assert (mine.rejected, other.rejected) == (2, 0)
    for name, tensor in other.snapshot().tensors.items():
        torch.testing.assert_close(mine.snapshot().tensors[name], tensor)


@pytest.mark.parametrize("method", LEARNING, ids=str)
def test_a_batch_of_nothing_finite_teaches_nothing(method: Method) -> None:
    fitted = adapt_offline(TWO_HEADS.model(), [BATCHES[0], torch.full_like(BATCHES[1], torch.nan)], method)
    other = adapt_offline(TWO_HEADS.model(), [BATCHES[0]], method)
    assert fitted.rejected == 6
    for name, tensor in fitted.snapshot().tensors.items():
        assert tensor.isfinite().all(), name
    assert fitted.snapshot().tensors.keys() == other.snapshot().tensors.keys()


def test_a_target_set_of_nothing_finite_is_refused_by_what_must_look_at_it() -> None:
    with pytest.raises(InputError, match="no sample of the target set is finite"):
        adapt_offline(TWO_HEADS.model(), [torch.full_like(BATCHES[0], torch.nan)], Shot())


def test_fitting_leaves_other_streams_alone() -> None:
    adapted = adapt(TWO_HEADS.model(), Tent(learn=Entropy(lr=0.1)))
    adapted(BATCHES[0], streams="door")
    before = {name: value for name, value in adapted.snapshot().tensors.items() if name.startswith("learned:1")}
    adapted.fit(BATCHES)
    after = adapted.snapshot().tensors
    assert before
    assert all(torch.equal(after[name], value) for name, value in before.items())
    assert adapted.snapshot().header.streams == {"": 18, "door": 6}


def test_a_state_file_of_a_fitted_model_continues(tmp_path: object) -> None:
    fitted = adapt_offline(TWO_HEADS.model(), BATCHES, Shot(), epochs=2)
    path = f"{tmp_path}/state.safetensors"
    fitted.save_state(path)
    other = adapt(TWO_HEADS.model(), Shot())
    other.load_state(path)
    assert same_state(other, fitted)
    assert torch.equal(other(BATCHES[0]), fitted(BATCHES[0]))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("method", LEARNING, ids=str)
def test_gradient_modes_do_not_matter(method: Method, mode: type[torch.no_grad]) -> None:
    with mode():
        fitted = adapt_offline(TWO_HEADS.model(), [batch.clone() for batch in BATCHES], method)
    assert same_state(fitted, adapt_offline(TWO_HEADS.model(), BATCHES, method))
    fitted.fit(BATCHES)
