import dataclasses
import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

import mixnorm as mn
from mixnorm.errors import DataError, MissingDataError, MixNormError
from mixnorm.evaluation import Protocol, Record, evaluate, read_record, read_records, results_of, write_record
from tests.evaluation.small import small_model, small_stream


@pytest.fixture(scope="module")
def record() -> Record:
    return evaluate(mn.adapt(small_model()), small_stream(), Protocol(batch_size=20))


def test_a_record_is_read_as_it_was_written(record: Record, tmp_path: Path) -> None:
    path = write_record(record, tmp_path)
    assert path == tmp_path / f"{record.id}.json"
    assert read_record(path) == record
    assert read_records(tmp_path) == [record]


def test_the_file_has_the_agreed_fields(record: Record, tmp_path: Path) -> None:
    data = json.loads(write_record(record, tmp_path).read_text())
    assert (data["format"], data["version"]) == ("mixnorm-record", 1)
    assert set(data["cost"]) == {
        "images_per_second",
        "latency_p50_ms",
        "latency_p95_ms",
        "peak_memory_mb",
        "ratio_to_source",
    }
    assert data["error"] is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "not a record of mixnorm"),
        ({"version": 2}, "version 2, this mixnorm knows 1"),
        ({"colour": "red"}, "colour unknown or missing"),
        ({"results": None}, "either results and cost, or an error"),
        ({"results": {"error": 3.0}}, "its results lacks by_corruption, count"),
        ({"results": [1]}, "its results is \\[1\\], not a table"),
        ({"id": [1]}, "its id is \\[1\\], not text"),
        ({"fingerprint": []}, "its fingerprint is \\[\\], not a table"),
        ({"fingerprint": {}}, "its fingerprint.method is None, not a table"),
        ({"fingerprint": {"method": {"method": "Source"}, "batch_size": "x"}}, "batch_size is 'x', not a whole number"),
        ({"cost": {}}, "its cost lacks images_per_second"),
        ({"hardware": None}, "its hardware is None, not a table"),
        ({"duration_s": float("nan")}, "it has NaN, which is no number"),
        ({"results": None, "cost": None, "error": "x"}, "its error is 'x', not a table"),
    ],
    ids=str,
)
def test_what_is_no_record_is_named(change: dict[str, Any], message: str, record: Record, tmp_path: Path) -> None:
    good = write_record(record, tmp_path)
    before = good.read_bytes()
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(record.to_dict() | change))
    with pytest.raises(DataError, match=f"bad.json cannot be used: .*{message}.*move it out of the folder"):
        read_records(tmp_path)
    assert good.read_bytes() == before


def test_a_part_of_the_results_that_is_broken_is_named(record: Record, tmp_path: Path) -> None:
    results = results_of(record)
    for name, value, message in (
        ("error", "x", "results.error is 'x', not a number"),
        ("count", 1.5, "results.count is 1.5, not a whole number"),
        ("by_corruption", {"fog": 3}, r"results.by_corruption\[fog\] is 3, not a table"),
        ("over_time", [{}], r"results.over_time\[0\] lacks count, error, start"),
        ("examples", {}, "results.examples is {}, not a list"),
    ):
        (tmp_path / "bad.json").write_text(json.dumps(record.to_dict() | {"results": {**results, name: value}}))
        with pytest.raises(DataError, match=f"bad.json cannot be used: its {message}"):
            read_records(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\x00", b"half a rec"])
def test_a_broken_file_is_named(content: bytes, record: Record, tmp_path: Path) -> None:
    write_record(record, tmp_path)
    (tmp_path / "bad.json").write_bytes(content)
    with pytest.raises(DataError, match=r"bad\.json is broken or no record of mixnorm"):
        read_records(tmp_path)


def test_a_list_is_no_record(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text("[1]")
    with pytest.raises(DataError, match="not a record of mixnorm"):
        read_records(tmp_path)


def test_other_files_are_left_alone(record: Record, tmp_path: Path) -> None:
    write_record(record, tmp_path)
    (tmp_path / "report.html").write_text("")
    (tmp_path / ".a.json.1.part").write_text("half")
    assert read_records(tmp_path) == [record]


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="there is no record"):
        read_record(tmp_path / "no.json")
    with pytest.raises(MissingDataError, match="there is no results folder"):
        read_records(tmp_path / "no")


def test_no_space_left(record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    earlier = write_record(record, tmp_path).read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for each in (record, dataclasses.replace(record, id="another")):
        with pytest.raises(MixNormError, match=r"cannot be written: .*No space left.*make room and run the same again"):
            write_record(each, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [f"{record.id}.json"]
    assert (tmp_path / f"{record.id}.json").read_bytes() == earlier


def test_numbers_that_json_has_not_are_never_written(record: Record, tmp_path: Path) -> None:
    bad = dataclasses.replace(record, duration_s=float("nan"))
    with pytest.raises(ValueError, match="JSON"):
        write_record(bad, tmp_path)
    assert list(tmp_path.iterdir()) == []
