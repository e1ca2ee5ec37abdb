"""`mixnorm tune` from the command line, on the bundled model and data."""

import json
from pathlib import Path

import pytest

from mixnorm.cli import main
from mixnorm.evaluation import read_records, results_of


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_grid_is_printed_with_the_best(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "--m", "0", "0.3", "--speed", "0", "--limit", "40"]) == 0
    shown = capsys.readouterr().out
    assert "MixNorm on gaussian_noise of severity 5" in shown
    source = next(
        record for record in read_records("results/tune") if record.fingerprint["method"]["method"] == "Source"
    )
    assert f"Best (*): m=0.3, tau=0. Source, without adaptation: {results_of(source)['error']:.2f}\n" in shown
    assert len(list(Path("results/tune").glob("*.json"))) == 3


def test_settings_that_do_not_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "--m", "0", "--speed", "0", "--limit", "20"]) == 0
    assert "so no setting helps" in " ".join(capsys.readouterr().out.split())


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "--method", "mixnormbn", "--m", "0.2", "--speed", "0.75", "--limit", "20", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["best"] == {"m": 0.2, "tau_max": 0.75}
    (cell,) = answer["cells"]
    (source,) = [each for each in read_records("results/tune") if each.fingerprint["method"]["method"] == "Source"]
    assert answer["source"] == results_of(source)["error"]
    assert cell["measured"] % 5 == pytest.approx(0)  # of 20 images


def test_values_out_of_range(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "--m", "2"]) == 2
    assert "m must be a number from 0 to 1, got 2.0" in capsys.readouterr().err
