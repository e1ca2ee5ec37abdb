"""The page about the models says what their records say, and its example runs."""

import re
from pathlib import Path

import pytest

from mixnorm.benchmarks.models import SourceModel, list_models
from mixnorm.benchmarks.models.weights_file import WeightsFile

PAGE = (Path(__file__).parents[3] / "docs" / "models.md").read_text(encoding="utf-8")


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
    assert "of 500 clean samples answered right, published 98.7%" in capsys.readouterr().out
