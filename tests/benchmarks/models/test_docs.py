"""The page about the models says what their records say, and its example runs."""

import re
import shlex
from pathlib import Path

import pytest

import mixnorm
from mixnorm.benchmarks.models import SourceModel, list_models
from mixnorm.benchmarks.models.weights_file import WeightsFile
from mixnorm.cli import main
from tests.benchmarks.models.clips import small_clip

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "models.md").read_text(encoding="utf-8")
ZERO_SHOT = (DOCS / "zero-shot.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("model", list_models(), ids=lambda model: model.name)
def test_the_documentation_tells_of_each_model(model: SourceModel) -> None:
    section = PAGE.split(f"\n## `{model.name}`\n", maxsplit=1)[1].split("\n## ", maxsplit=1)[0]
    assert str(model.preprocessing) in section
    assert model.accuracy is None or f"{model.accuracy:.2%}".replace("%", " %") in section
    if isinstance(model.weights, WeightsFile):
        assert model.weights.url in section
        assert model.weights.path in section
        assert (model.weights.sha256 or "no checksum is published") in section


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(compile(example, "docs/models.md", "exec"), {})
    assert "of 500 clean samples answered right, published 98.5%" in capsys.readouterr().out


def test_the_factory_on_the_page_about_zero_shot_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = re.findall(r"```python file=mine.py\n(.*?)```", ZERO_SHOT, flags=re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(example, "docs/zero-shot.md", "exec"), names)
    monkeypatch.setattr(mixnorm, "load_model", lambda name: small_clip(32))
    classifier = names["cifar"]()  # type: ignore[operator]
    assert (len(classifier.class_names), len(classifier.templates)) == (10, 2)


@pytest.mark.parametrize("command", re.findall(r"^    mixnorm (.*clip-rn50.*|reproduce .*)$", ZERO_SHOT, re.MULTILINE))
def test_commands_on_the_page_about_zero_shot_lack_the_weights_alone(
    command: str, data_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(shlex.split(command)) == 2
    assert "the weights of clip-rn50 are not at" in capsys.readouterr().err
