from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import mixnorm as mn
from mixnorm.errors import InputError, SettingError
from mixnorm.norms import ShrinkageLayer


def model() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.BatchNorm2d(3),
        nn.Conv2d(3, 8, 3),
        nn.BatchNorm2d(8),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.BatchNorm1d(8),
    ).eval()


def images(count: int = 40) -> Tensor:
    return torch.randn(count, 3, 9, 9) * 2 + torch.randn(count, 3, 1, 1)


def calibration(adapted: mn.AdaptedModel) -> dict[str, tuple[float, float] | None]:
    return {layer.name: layer.calibration for layer in adapted.modules() if isinstance(layer, ShrinkageLayer)}


def slow_content(rows: Tensor, source: nn.Module) -> tuple[float, float]:
    """Content and spread by their definition, one sample and channel after the other."""
    assert isinstance(source, nn.BatchNorm2d)
    assert source.running_mean is not None
    assert source.running_var is not None
    means, logs = [], []
    for row in rows.double():
        for channel, values in enumerate(row):
            var = float(source.running_var[channel]) + source.eps
            means.append(float(values.mean() - source.running_mean[channel]) ** 2 / var)
            logs.append(float(torch.log((values.var(correction=0) + source.eps) / var)) ** 2)
    return sum(means) / len(means), sum(logs) / len(logs)


def test_content_is_what_each_layer_of_the_source_is_shown() -> None:
    source, clean = model(), images()
    adapted = mn.adapt(source, mn.ShrinkNorm()).calibrate(clean)
    with torch.no_grad():
        inside = source[1](source[0](clean))
    measured = calibration(adapted)
    assert measured["0"] == pytest.approx(slow_content(clean, source[0]), rel=1e-4)
    assert measured["2"] == pytest.approx(slow_content(inside, source[2]), rel=1e-4)
    # One position per sample has no variance to look at.
    assert measured["5"] is None


def test_batches_do_not_matter() -> None:
    clean = images()
    whole = mn.adapt(model(), mn.ShrinkNorm()).calibrate(clean)
    parts = mn.adapt(model(), mn.ShrinkNorm()).calibrate(torch.split(clean, 7))
    for name, (content, spread) in {k: v for k, v in calibration(whole).items() if v}.items():
        assert calibration(parts)[name] == pytest.approx((content, spread), rel=1e-5)


def test_a_calibrated_model_doubts_what_clean_samples_show() -> None:
    source, clean = model(), images()
    plain, calibrated = (mn.adapt(source, mn.ShrinkNorm(tau=0.0, doubt=1.5)) for _ in range(2))
    calibrated.calibrate(clean)
    moved = [(adapted(clean) - source(clean)).abs().mean() for adapted in (plain, calibrated)]
    assert moved[1] < moved[0] / 2


def test_calibration_starts_afresh_and_outlives_reset(tmp_path: Path) -> None:
    clean = images()
    adapted = mn.adapt(model(), mn.ShrinkNorm())
    adapted(clean)
    adapted.calibrate(clean)
    assert not adapted.snapshot().header.streams.get("", 0)
    first = adapted(clean)
    measured = calibration(adapted)
    adapted.save_state(tmp_path / "state.safetensors")
    adapted.reset()
    assert calibration(adapted) == measured
    torch.testing.assert_close(adapted(clean), first, rtol=0, atol=0)
    other = mn.adapt(model(), mn.ShrinkNorm())
    other.load_state(tmp_path / "state.safetensors")
    assert calibration(other) == measured
    adapted.reset()
    adapted(clean)
    torch.testing.assert_close(other(clean), adapted(clean), rtol=0, atol=0)


def test_a_state_without_calibration_takes_it_away() -> None:
    adapted = mn.adapt(model(), mn.ShrinkNorm())
    before = adapted.snapshot()
    adapted.calibrate(images())
    adapted.restore(before)
    assert set(calibration(adapted).values()) == {None}


def test_new_weights_take_it_away() -> None:
    adapted = mn.adapt(model(), mn.ShrinkNorm()).calibrate(images())
    adapted.load_state_dict(model().state_dict())
    assert set(calibration(adapted).values()) == {None}


def test_what_cannot_be_calibrated_is_refused() -> None:
    with pytest.raises(SettingError, match="MixNorm has nothing to calibrate"):
        mn.adapt(model(), mn.MixNorm()).calibrate(images())


@pytest.mark.parametrize("bad", [[], torch.zeros(0, 3, 9, 9), torch.full((2, 3, 9, 9), torch.nan), "images", None, 3])
def test_bad_images_change_nothing(bad: object) -> None:
    adapted = mn.adapt(model(), mn.ShrinkNorm()).calibrate(images())
    adapted(images(3))
    before, measured = adapted.snapshot(), calibration(adapted)
    with pytest.raises(InputError):
        adapted.calibrate(bad)  # type: ignore[arg-type]
    assert calibration(adapted) == measured
    for name, tensor in adapted.snapshot().tensors.items():
        assert torch.equal(tensor, before.tensors[name])
