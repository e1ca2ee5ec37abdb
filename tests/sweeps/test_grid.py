from pathlib import Path
from typing import Any

import pytest

from mixnorm.errors import DataError, MissingDataError, MixNormError, SettingError
from mixnorm.sweeps import grid, read_grid

BASE = {"model": "digits", "data": {"name": "digits-c"}, "method": "Source"}


def test_every_combination_once_the_last_axis_fastest() -> None:
    specs = grid(BASE, {"data.severity": [1, 5], "protocol.order": ["single", "mixed"], "seed": [0, 1, 2]})
    said = [(spec.data["severity"], spec.protocol.order, spec.seed) for spec in specs]
    assert said == [(a, b, c) for a in (1, 5) for b in ("single", "mixed") for c in (0, 1, 2)]
    assert len({spec.id for spec in specs}) == 12
    assert BASE["data"] == {"name": "digits-c"}


def test_without_axes_there_is_one_run() -> None:
    assert len(grid(BASE, {})) == 1


def test_a_grid_of_a_method_s_settings() -> None:
    specs = grid(BASE | {"method": {"method": "MixNorm"}}, {"method.m": [0.1, 0.2], "method.tau": [0, 1e-3]})
    assert [(spec.method["m"], spec.method["tau"]) for spec in specs] == [(0.1, 0), (0.1, 1e-3), (0.2, 0), (0.2, 1e-3)]


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(
        '[base]\nmodel = "digits"\ndata = {name = "digits-c", limit = 9}\n'
        "[axes]\n"
        'method = ["Source", {method = "MixNorm", m = 0.3, views = 0}]\n'
        "protocol.batch_size = [1, 64]\n"
    )
    axes: dict[str, list[Any]] = {"method": ["Source", "MixNorm:m=0.3,views=0"], "protocol.batch_size": [1, 64]}
    assert read_grid(file) == grid({"model": "digits", "data": {"name": "digits-c", "limit": 9}}, axes)


@pytest.mark.parametrize("values", [[], "12", 3, None])
def test_an_axis_without_values(values: object) -> None:
    with pytest.raises(SettingError, match="the axis 'seed' must have a list of one value or more, got"):
        grid(BASE, {"seed": values})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("[base", DataError, "is not a TOML file"),
        ("[base]\n[other]\n", MixNormError, "unknown field of a grid 'other'"),
        ('[base]\nmodel = "digits"\n', MixNormError, "a run needs a data"),
        ("[axes]\nprotocol.batch_sise = [1]\n[base]\n", MixNormError, "a run needs a model"),
        (
            '[base]\nmodel = "digits"\ndata = "digits-c"\n[axes]\ndata.severity = [1]\n',
            MixNormError,
            "the axis 'data.severity' needs a table 'data' in the base, not 'digits-c'",
        ),
        ('[base]\nversion = 2\nmodel = "digits"\n', MixNormError, "version 2 of the format"),
    ],
)
def test_a_bad_file(text: str, error: type[Exception], message: str, tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(text)
    with pytest.raises(error, match=message):
        read_grid(tmp_path / "grid.toml")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="there is no grid"):
        read_grid(tmp_path / "no.toml")
