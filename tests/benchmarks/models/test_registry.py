import re
from pathlib import Path

import pytest

from mixnorm.benchmarks.datasets.catalogue import CATALOGUE
from mixnorm.benchmarks.models import SourceModel, find_model, list_models
from mixnorm.benchmarks.models.weights_file import WeightsFile
from mixnorm.errors import UnknownNameError


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


def test_an_unknown_name_lists_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown model 'wrn-28-1'; did you mean 'wrn-28-10'.*timm/NAME"):
        find_model("wrn-28-1")


@pytest.mark.parametrize("name", [None, 5, ["digits"]], ids=repr)
def test_a_name_of_another_type_is_unknown(name: object) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown model .*Known: digits"):
        find_model(name)  # type: ignore[arg-type]
