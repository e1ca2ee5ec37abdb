import json
from pathlib import Path

import pytest

from mixnorm.cli import main
from mixnorm.evaluation import read_records
from tests.sweeps.runs import runs_of_models

SMALL = ["--limit", "12", "--corruptions", "fog", "contrast"]


def test_a_grid_of_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [
        "sweep",
        "-o",
        str(tmp_path),
        *SMALL,
        "--methods",
        "Source",
        "Tent",
        "--batch-sizes",
        "4",
        "12",
        "--json",
    ]
    assert main(command) == 0
    summary = json.loads(capsys.readouterr().out)
    records = read_records(tmp_path)
    assert sorted(summary["runs"]) == [record.id for record in records]
    assert summary["failed"] == {}
    found = {(each["method"]["method"], each["batch_size"]): each["mce"] for each in summary["results"]}
    assert found["Source", 4] == found["Source", 12] == pytest.approx(100)
    assert found["Tent", 12] > 0
    said = {(record.fingerprint["method"]["method"], record.fingerprint["batch_size"]) for record in records}
    assert said == {(method, size) for method in ("Source", "Tent") for size in (4, 12)}
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")}
    assert main(command) == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")} == before


def test_failed_runs_are_named_and_tried_again_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = runs_of_models(tmp_path, "fails")[0]
    grid = tmp_path / "grid.toml"
    grid.write_text(
        f'[base]\nmodel = "{spec.model}"\nmethod = "Source"\nprotocol.batch_size = 6\n'
        'data = {name = "digits-c", limit = 12, corruptions = ["fog", "contrast"]}\n'
    )
    command = ["sweep", "-o", str(tmp_path / "results"), "--grid", str(grid)]
    assert main(command) == 1
    printed = capsys.readouterr()
    assert "1 runs, 1 of them failed" in printed.out
    assert f"failed: {spec.id}: " in printed.err
    assert "out of luck" in printed.err
    (tmp_path / "mine.py").write_text("import mixnorm\ndef fails():\n    return mixnorm.load_model('digits')\n")
    assert main(command) == 1
    assert main([*command, "--retry-failed"]) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[base]\nversion = 9\n", "version 9 of the format, this mixnorm knows 1"),
        ("[base]\nmodle = 'digits'\n", "unknown field of a run 'modle'; did you mean 'model'"),
        ("[base", "is not a TOML file"),
    ],
)
def test_a_bad_grid(text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "grid.toml").write_text(text)
    assert main(["sweep", "-o", str(tmp_path / "results"), "--grid", str(tmp_path / "grid.toml")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


def test_a_folder_with_a_broken_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.json").write_text("{")
    assert main(["sweep", "-o", str(tmp_path), *SMALL]) == 2
    assert "broken.json is broken or no record" in capsys.readouterr().err
