import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mixnorm as mn
from mixnorm.errors import MixNormError, SettingError, UnknownNameError
from mixnorm.evaluation import Protocol, RunSpec

PLAIN: dict[str, Any] = {"model": "digits", "data": {"name": "digits-c"}, "method": {"method": "Source"}}


def test_to_and_from_json() -> None:
    spec = RunSpec(
        model="digits",
        data={"name": Path("photos"), "corruptions": ("fog",)},
        method=mn.Tent().to_dict(),
        protocol=Protocol(batch_size=8),
    )
    again = RunSpec.from_dict(json.loads(json.dumps(spec.to_dict())))
    assert again == spec
    assert again.id == spec.id
    assert again.protocol.batch_size == 8


def test_what_means_the_same_has_the_same_id() -> None:
    short = RunSpec.from_dict(PLAIN)
    long = RunSpec.from_dict({**PLAIN, "version": 1, "data": {"severity": 5, "name": "digits-c"}, "method": "source"})
    assert short.id == long.id


def test_ids_of_online_runs_stay_what_they_were() -> None:
    """A record is found by its id: these were made before protocols had epochs."""
    assert RunSpec.from_dict(PLAIN).id == "3989f7938ad5baa9"
    assert RunSpec.from_dict(PLAIN | {"protocol": {"epochs": 0}}).id == "3989f7938ad5baa9"
    learnt = {
        "method": "MixNormBN:cifar10-c/single",
        "protocol": {"order": "single", "reset": "segment", "batch_size": 64},
    }
    assert RunSpec.from_dict(PLAIN | learnt).id == "8b02da52c57aa0c5"


@pytest.mark.parametrize(
    "change",
    [
        {"model": "wrn-40-2"},
        {"checkpoint": "mine.pt"},
        {"data": {"name": "digits-c", "severity": 4}},
        {"protocol": {"batch_size": 2}},
        {"protocol": {"epochs": 1}},
        {"method": {"method": "Tent"}},
        {"seed": 1},
        {"dtype": "float64"},
        {"device": "cuda"},
        {"threads": 2},
    ],
    ids=str,
)
def test_every_field_changes_the_id(change: dict[str, Any]) -> None:
    assert RunSpec.from_dict(PLAIN | change).id != RunSpec.from_dict(PLAIN).id


def test_the_id_is_the_same_in_another_process() -> None:
    code = f"from mixnorm.evaluation import RunSpec; print(RunSpec.from_dict({PLAIN!r}).id)"
    answer = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert answer.stdout.strip() == RunSpec.from_dict(PLAIN).id


def test_a_spec_does_not_change_with_what_it_was_made_from() -> None:
    data = {"name": "digits-c"}
    spec = RunSpec(model="digits", data=data, method={"method": "Source"})
    data["name"] = "other"
    assert spec.data["name"] == "digits-c"


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"version": 2}, SettingError, "version 2 of the format, this mixnorm knows 1"),
        ({"version": 2, "modle": 1}, SettingError, "version 2"),
        ({"modle": "digits"}, UnknownNameError, "unknown field of a run 'modle'; did you mean 'model'"),
        ({"data": {"name": "x", "sevrity": 5}}, UnknownNameError, "unknown field of a data table 'sevrity'"),
        ({"data": {"severity": 5}}, SettingError, "data needs a name"),
        ({"data": {"name": "x", "order": "mixed"}}, SettingError, "the order belongs to the protocol"),
        ({"data": {"name": "x", "limit": 0}}, SettingError, "limit must be a whole number of 1 or more, got 0"),
        ({"data": {"name": "x", "severity": 6}}, SettingError, "severity=6 is not one of 1, 2, 3, 4, 5"),
        ({"data": "digits-c"}, SettingError, "must be a table of fields"),
        ({"data": {"name": {1, 2}}}, SettingError, "must be plain data"),
        ({"method": {"method": "MixNrm"}}, UnknownNameError, "unknown method 'MixNrm'; did you mean 'MixNorm'"),
        ({"method": {"method": "MixNorm", "taux": 1}}, UnknownNameError, "unknown setting of MixNorm 'taux'"),
        ({"method": 3}, SettingError, "method must be plain data"),
        ({"protocol": {"batch_size": 0}}, SettingError, "batch_size must be a whole number of 1 or more, got 0"),
        ({"dtype": "float31"}, UnknownNameError, "unknown dtype 'float31'; did you mean"),
        ({"device": "gpu"}, SettingError, "device must be one that torch knows.*'gpu'"),
        ({"seed": -1}, SettingError, "seed must be a whole number of 0 or more, got -1"),
        ({"threads": 0}, SettingError, "threads must be a whole number of 1 or more, got 0"),
        ({"model": None}, SettingError, "model must be a name or a path, got None"),
    ],
    ids=str,
)
def test_bad_input(change: dict[str, Any], error: type[MixNormError], message: str) -> None:
    with pytest.raises(error, match=message):
        RunSpec.from_dict(PLAIN | change)


def test_what_a_run_needs() -> None:
    with pytest.raises(SettingError, match="a run needs a method; got only model, data"):
        RunSpec.from_dict({"model": "digits", "data": {"name": "digits-c"}})
    with pytest.raises(SettingError, match="protocol must be a Protocol"):
        RunSpec(model="digits", data={"name": "x"}, method={"method": "Source"}, protocol={})  # type: ignore[arg-type]
