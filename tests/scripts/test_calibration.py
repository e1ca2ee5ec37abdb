import json
from pathlib import Path

import pytest

from tests.scripts.conftest import Load


def run(load_script: Load, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr("sys.argv", ["calibration.py", "--model", "digits", "--data", "digits", *arguments])
    load_script("calibration").main()


def test_errors_are_of_the_images_that_were_not_calibrated_on(
    load_script: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "calibration.json"
    run(load_script, monkeypatch, "--limit", "60", "--batch-size", "20", "--batches", "2", "-o", str(output))
    errors = json.loads(output.read_text())["errors"]
    for stream, count in {"clean": 20, "mixed": 60}.items():
        for error in errors[stream].values():
            assert (error * count / 100) == pytest.approx(round(error * count / 100))
    # What is calibrated is not what is not.
    assert errors["mixed"]["ShrinkNorm"] != errors["mixed"]["ShrinkNorm, calibrated"]


def test_images_must_be_left(load_script: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit):
        run(load_script, monkeypatch, "--limit", "40", "--batch-size", "40", "-o", str(tmp_path / "none.json"))
    assert not list(tmp_path.iterdir())
