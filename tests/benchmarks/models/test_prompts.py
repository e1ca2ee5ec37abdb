"""Templates of the paper's data sets, and names fit to be spoken."""

import pytest

from mixnorm.benchmarks.models.prompts import GENERAL, TEMPLATES, checked_templates, spoken_names, templates_for
from mixnorm.errors import SettingError
from mixnorm.paper import load_table


def test_the_data_sets_of_the_papers_table_have_templates() -> None:
    assert set(TEMPLATES) == {column.id for column in load_table("zero-shot").columns}
    for templates in TEMPLATES.values():
        assert checked_templates(templates) == templates
        assert len(set(templates)) == len(templates) <= 5


@pytest.mark.parametrize(("data", "expected"), [("cifar100", "cifar100"), ("cifar100-c", "cifar100"), ("x.npz", None)])
def test_which_templates_a_data_set_gets(data: str, expected: str | None) -> None:
    assert templates_for(data) == (TEMPLATES[expected] if expected else GENERAL)


def test_underscores_are_not_spoken() -> None:
    names = ["aquarium_fish", "Acura TL Sedan 2012", " hot__dog", "7 up"]
    assert spoken_names("mine", names) == ("aquarium fish", "Acura TL Sedan 2012", "hot dog", "7 up")


@pytest.mark.parametrize("names", [["0", "1", "2"], ["n01440764", "n01443537"]])
def test_numbers_and_ids_are_not_names(names: list[str]) -> None:
    with pytest.raises(SettingError, match=rf"the classes of mine go by numbers or ids \({names[0]}, {names[1]}"):
        spoken_names("mine", names)
