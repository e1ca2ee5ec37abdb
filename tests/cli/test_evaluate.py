import json
from pathlib import Path

import numpy as np
import pytest

from mixnorm.cli import main
from mixnorm.evaluation import read_records
from tests.reference import metrics as reference

SMALL = ["--limit", "12", "--corruptions", "fog", "contrast", "--batch-size", "6"]


def test_it_prints_a_table_of_the_methods(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", *SMALL, "--methods", "Source", "tent", "MixNorm:m=0.3,views=0"]) == 0
    printed = capsys.readouterr().out
    assert all(word in printed for word in ("Source", "Tent", "MixNorm", "m=0.3", "error %", "x source"))


def test_json_is_the_records(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", *SMALL, "--json", "--seed", "3", "--order", "single", "--reset", "segment"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert [record["spec"]["method"]["method"] for record in records] == ["Source", "MixNorm"]
    for record in records:
        assert record["results"]["count"] == 24
        assert (record["spec"]["seed"], record["spec"]["data"]["seed"]) == (3, 3)
        assert (record["fingerprint"]["order"], record["fingerprint"]["reset"]) == ("single", "segment")


def test_records_are_kept_and_not_made_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["evaluate", *SMALL, "--json", "-o", str(tmp_path)]
    assert main(command) == 0
    first = json.loads(capsys.readouterr().out)
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out) == first
    assert {record.id for record in read_records(tmp_path)} == {record["id"] for record in first}


def test_the_mean_corruption_error_is_relative_to_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", *SMALL, "--methods", "MixNorm:m=0.3", "Source", "--json"]) == 0
    adapted, source = json.loads(capsys.readouterr().out)
    errors, baseline = (
        {name: share["error"] for name, share in record["results"]["by_corruption"].items()}
        for record in (adapted, source)
    )
    assert adapted["results"]["mce"] == pytest.approx(reference.mce(errors, baseline))
    assert source["results"]["mce"] == pytest.approx(100)


def test_the_mean_corruption_error_is_relative_to_a_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["evaluate", *SMALL, "--methods", "Source", "-o", str(tmp_path)])
    capsys.readouterr()
    (file,) = tmp_path.glob("*.json")
    command = ["evaluate", *SMALL, "--methods", "MixNorm:m=0.3", "--json", "--baseline", str(file)]
    for _ in range(2):  # the second time the record is there already
        assert main([*command, "-o", str(tmp_path)]) == 0
        (adapted,) = json.loads(capsys.readouterr().out)
        assert adapted["results"]["mce"] is not None
    assert main([*command, "--severity", "3"]) == 2
    assert "not made under the same protocol: data_hash" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--batch-size", "0"], "batch_size must be a whole number of 1 or more, got 0"),
        (["--methods", "MixNrm"], "unknown method 'MixNrm'; did you mean 'MixNorm'"),
        (["--model", "no.py:network"], "there is no file"),
        (["--data", "no/such/folder"], "there is nothing at no/such/folder"),
        (["--severity", "6"], "severity=6 is not one of 1, 2, 3, 4, 5"),
        (["--device", "gpu"], "device must be one that torch knows"),
    ],
    ids=str,
)
def test_a_user_s_mistake(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", *SMALL, *arguments]) == 2
    assert f"error: {message}" in capsys.readouterr().err.replace("'no.py:network': ", "")


def test_data_without_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "bare.npz", x=np.zeros((4, 32, 32, 3), np.uint8))
    assert main(["evaluate", "--data", str(tmp_path / "bare.npz")]) == 2
    assert "it needs images x and labels y" in capsys.readouterr().err


def test_a_folder_with_a_foreign_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "foreign.json").write_text("{}")
    assert main(["evaluate", *SMALL, "-o", str(tmp_path)]) == 2
    assert "foreign.json cannot be used" in capsys.readouterr().err


def test_no_method_is_measured_where_another_cannot_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["evaluate", "--limit", "4", "--methods", "Source", "Ttt:head=turns", "-o", str(tmp_path)]
    assert main(command) == 2
    assert "none was begun:\n  Ttt on digits: Preprocessed has no rotation head 'turns'" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.json"))
