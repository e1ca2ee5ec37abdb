import re
from pathlib import Path

import pytest

from mixnorm.benchmarks.datasets.catalogue import CATALOGUE
from mixnorm.benchmarks.models import SourceModel, find_model, list_models
from mixnorm.benchmarks.models.weights_file import WeightsFile
from mixnorm.errors import UnknownNameError

DOCS = Path(__file__).parents[3] / "docs" / "models.md"


def test_names_are_unique_and_lead_back_to_their_record() -> None:
    assert [find_model(model.name) for model in list_models()] == list(list_models())


@pytest.mark.parametrize("model", list_models(), ids=lambda model: model.name)
def test_records_are_complete(model: SourceModel) -> None:
    assert model.dataset is None or model.dataset in CATALOGUE
    assert model.accuracy is None or 0.5 < model.accuracy < 1
    if isinstance(model.weights, WeightsFile):
        assert re.match(r"https?://", model.weights.url)
        assert not Path(model.weights.path).is_absolute()
        assert model.weights.by_hand or model.weights.url.startswith("https://")


@pytest.mark.parametrize("model", list_models(), ids=lambda model: model.name)
def test_the_documentation_tells_of_each_model(model: SourceModel) -> None:
    page = DOCS.read_text(encoding="utf-8")
    section = page.split(f"\n## `{model.name}`\n", maxsplit=1)[1].split("\n## ", maxsplit=1)[0]
    assert str(model.preprocessing) in section
    assert model.accuracy is None or f"{model.accuracy:.2%}".replace("%", " %") in section
    if isinstance(model.weights, WeightsFile):
        assert model.weights.url in section
        assert model.weights.path in section
        assert (model.weights.sha256 or "no checksum is published") in section


def test_an_unknown_name_lists_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown model 'wrn-28-1'; did you mean 'wrn-28-10'.*timm/NAME"):
        find_model("wrn-28-1")
