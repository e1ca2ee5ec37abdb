"""The committed records of domain adaptation: the page shows what they say, and they say what is claimed."""

import hashlib
import json
from pathlib import Path

import pytest

from mixnorm.evaluation import read_records
from mixnorm.sweeps import read_grid
from tests.real import PROJECT
from tests.scripts.conftest import Load

FOLDER = PROJECT / "results" / "domain-adaptation"
PAIRS = ("mnist-to-usps", "mnist-to-mnist-m", "mnist-m-to-mnist", "mnist-m-to-usps")


@pytest.mark.parametrize("pair", PAIRS)
def test_the_records_are_those_of_the_grid(pair: str) -> None:
    records = {record.id: record for record in read_records(FOLDER / pair)}
    assert set(records) == {spec.id for spec in read_grid(FOLDER / pair / "grid.toml")}
    assert all(record.error is None for record in records.values())


@pytest.mark.parametrize("pair", PAIRS)
def test_the_records_name_no_place_of_the_machine_that_made_them(pair: str) -> None:
    for record in read_records(FOLDER / pair):
        assert record.spec is not None
        paths = [record.spec["checkpoint"], record.spec["data"]["name"]]
        assert not any(Path(path).is_absolute() for path in paths)
        assert paths[1].startswith("../shared/real/")


@pytest.mark.parametrize("source", ["mnist", "mnist-m"])
def test_the_sources_are_those_of_their_records(source: str) -> None:
    weights = (FOLDER / "sources" / f"{source}.safetensors").read_bytes()
    record = json.loads((FOLDER / "sources" / f"{source}.json").read_text())
    assert hashlib.sha256(weights).hexdigest() == record["weights_sha256"]
    assert len(weights) < 1_000_000
    assert record["test_error"] < 0.12


def test_the_page_shows_the_table_of_the_records(load_script: Load) -> None:
    page = (PROJECT / "docs" / "domain-adaptation.md").read_text(encoding="utf-8")
    assert load_script("domain_adaptation_table").table(FOLDER) in page


def test_what_the_page_claims(load_script: Load) -> None:
    found = load_script("domain_adaptation_table").errors(FOLDER)
    assert set(found) == {0, 3}
    for by_method in found.values():
        assert all(by_method["SHOT"][pair] < by_method["Source"][pair] for pair in PAIRS)
        ours, tent = by_method["MixNormBN (printed learning rate)"], by_method["TENT"]
        assert [pair for pair in PAIRS if ours[pair] > tent[pair]] == ["mnist-to-mnist-m"]
    behind = {0: ["mnist-to-mnist-m", "mnist-m-to-usps"], 3: ["mnist-to-usps", "mnist-m-to-usps"]}
    for epochs, by_method in found.items():
        ours, tent = by_method["MixNormBN (learning as TENT)"], by_method["TENT"]
        assert [pair for pair in PAIRS if ours[pair] > tent[pair]] == behind[epochs]


@pytest.mark.parametrize("pair", PAIRS)
def test_the_records_are_of_as_many_images_as_the_page_says_and_of_clean_commits(pair: str) -> None:
    records = read_records(FOLDER / pair)
    assert {record.results["count"] for record in records if record.results} == {2007 if "to-usps" in pair else 1000}
    assert not any((record.commit or "-dirty").endswith("-dirty") for record in records)
