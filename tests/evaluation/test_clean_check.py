"""A model whose input is scaled wrongly is not evaluated silently, whichever command runs it."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from mixnorm.benchmarks.datasets import Dataset, load_dataset
from mixnorm.benchmarks.models import CleanAccuracy, check_clean_accuracy, registry
from mixnorm.benchmarks.models.preprocessing import Preprocessing
from mixnorm.cli import main
from mixnorm.errors import ModelError
from mixnorm.evaluation import Loader, RunSpec, clean_check, run

SMALL = {"name": "digits-c", "limit": 4, "corruptions": ["fog"]}
RUN = ["--limit", "4", "--corruptions", "fog", "--methods", "Source"]
TABLE = ["cifar10-c-mixed-wrn28", "--methods", "source", "--batch-sizes", "64"]
COMMANDS = {
    "evaluate": ["evaluate", *RUN],
    "sweep": ["sweep", "-o", "results", *RUN],
    "reproduce": ["reproduce", *TABLE, "--model", "digits", "--data", "digits-c", "--limit", "4"],
}
REFUSED = r"digits on digits: \d+\.\d% of 300 clean samples answered right, published 98\.7% ± 4\.6%\. The usual cause"


def spec(**settings: object) -> RunSpec:
    return RunSpec(**{"model": "digits", "data": SMALL, "method": {"method": "Source"}} | settings)  # type: ignore[arg-type]


def describe(monkeypatch: pytest.MonkeyPatch, **settings: object) -> None:
    changed = dataclasses.replace(registry.DIGITS, **settings)  # type: ignore[arg-type]
    monkeypatch.setitem(registry._MODELS, "digits", changed)


@pytest.fixture
def not_normalised(monkeypatch: pytest.MonkeyPatch) -> None:
    describe(monkeypatch, preprocessing=Preprocessing())


@pytest.mark.usefixtures("not_normalised")
def test_a_model_far_from_its_published_accuracy_is_refused() -> None:
    with pytest.raises(ModelError, match=f"{REFUSED}.*give the file of its weights as checkpoint"):
        run(spec())


def test_a_model_that_is_as_published_passes_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    for dtype in ("float32", "bfloat16"):
        assert run(spec(dtype=dtype)).results is not None
    assert caplog.text == ""


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.usefixtures("not_normalised")
def test_every_command_says_it(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(COMMANDS[command]) == (2 if command == "evaluate" else 1)
    printed = capsys.readouterr()
    assert "answered right, published 98.7%" in " ".join((printed.out + printed.err).split())


@pytest.mark.parametrize("accuracy", [0.9867, 0.1])
def test_it_is_measured_once_for_all_runs_of_a_loader(accuracy: float, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(monkeypatch, accuracy=accuracy)
    measured = []

    def count(*given: Any, **settings: Any) -> CleanAccuracy:
        measured.append(given)
        return check_clean_accuracy(*given, **settings)

    monkeypatch.setattr(clean_check, "check_clean_accuracy", count)
    loader, refused = Loader(), 0
    for dtype in ("float32", "float64", "float32"):
        try:
            loader.model(spec(dtype=dtype))
        except ModelError:
            refused += 1
    assert (len(measured), refused) == (1, 3 if accuracy == 0.1 else 0)


@pytest.mark.usefixtures("not_normalised")
def test_weights_of_ones_own_are_noted_and_used(caplog: pytest.LogCaptureFixture) -> None:
    weights = str(registry.DIGITS.weights.path)  # type: ignore[union-attr]
    assert run(spec(checkpoint=weights)).results is not None
    assert "note: digits on digits: " in caplog.text
    assert f"Published is what other weights than {weights} reach" in caplog.text


def test_clean_data_that_is_not_at_hand_is_noted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    describe(monkeypatch, dataset="cifar10")
    assert run(spec(data={**SMALL, "data_dir": str(tmp_path)})).results is not None
    assert "note: the accuracy of digits on clean samples was not checked: " in caplog.text
    assert "cifar10" in caplog.text


@pytest.mark.parametrize("unknown", [{"accuracy": None}, {"dataset": None}])
def test_a_model_without_a_published_accuracy_is_not_checked(
    unknown: dict[str, None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    describe(monkeypatch, preprocessing=Preprocessing(), **unknown)
    assert run(spec()).results is not None
    assert caplog.text == ""


def test_a_model_of_ones_own_is_not_checked(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "mine.py").write_text("import mixnorm\ndef f(): return mixnorm.load_model('digits', weights='random')")
    assert run(spec(model=f"{tmp_path}/mine.py:f")).results is not None
    assert caplog.text == ""


def test_images_are_sized_as_for_the_published_accuracy(monkeypatch: pytest.MonkeyPatch) -> None:
    describe(monkeypatch, resize=40, crop=32)
    seen = []

    def load(name: str, **settings: Any) -> Dataset:
        seen.append(settings)
        return load_dataset(name, **settings)

    monkeypatch.setattr(clean_check, "load_dataset", load)
    Loader().model(spec())
    assert seen == [{"data_dir": None, "resize": 40, "crop": 32}]
