from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mixnorm.errors import DataError, MixNormError, ModelError
from mixnorm.evaluation import Record, RunSpec, read_records
from mixnorm.sweeps import Serial, run_sweep
from mixnorm.sweeps.sweep import _together
from tests.sweeps.runs import outcomes, runs, runs_of_models


@dataclass
class Noting:
    """Does runs serially and notes which."""

    done: list[str] = field(default_factory=list)
    stop_after: int | None = None

    def run(self, specs: Sequence[RunSpec]) -> Iterator[Record]:
        for spec, record in zip(specs, Serial().run(specs), strict=True):
            if len(self.done) == self.stop_after:
                raise KeyboardInterrupt
            self.done.append(spec.id)
            yield record


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Record]]:
    folder = tmp_path_factory.mktemp("finished") / "new" / "results"
    return folder, list(run_sweep(runs(batch_sizes=(6,)), folder))


def test_each_run_has_its_record_in_the_folder(finished: tuple[Path, list[Record]]) -> None:
    folder, records = finished
    assert [record.id for record in records] == [spec.id for spec in runs(batch_sizes=(6,))]
    assert sorted(path.stem for path in folder.glob("*.json")) == sorted(record.id for record in records)
    assert outcomes(read_records(folder)) == outcomes(records)


def test_a_finished_sweep_runs_nothing(finished: tuple[Path, list[Record]]) -> None:
    folder, records = finished
    executor = Noting()
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*.json")}
    again = list(run_sweep(runs(batch_sizes=(6,)), folder, executor=executor))
    assert executor.done == []
    assert sorted(again, key=lambda record: record.id) == sorted(records, key=lambda record: record.id)
    assert {path: path.stat().st_mtime_ns for path in folder.glob("*.json")} == before


def test_an_interrupted_sweep_goes_on(finished: tuple[Path, list[Record]], tmp_path: Path) -> None:
    specs = runs(batch_sizes=(6,))
    first, second = Noting(stop_after=1), Noting()
    with pytest.raises(KeyboardInterrupt):
        list(run_sweep(specs, tmp_path, executor=first))
    assert [path.stem for path in tmp_path.glob("*.json")] == first.done == [specs[0].id]
    assert outcomes(list(run_sweep(specs, tmp_path, executor=second))) == outcomes(finished[1])
    assert second.done == [spec.id for spec in specs[1:]]


def test_the_same_run_twice_is_one_run(tmp_path: Path) -> None:
    executor = Noting()
    specs = runs(["Source"], (6,))
    assert len(list(run_sweep([*specs, *specs], tmp_path, executor=executor))) == 1
    assert len(executor.done) == 1


def test_runs_that_share_model_and_data_come_together() -> None:
    specs = [*runs(["Source"], (1,)), *runs_of_other_data(), *runs(["Source"], (6,))]
    assert [spec.data["severity"] for spec in _together(specs)] == [5, 5, 1]


def runs_of_other_data() -> list[RunSpec]:
    data = {"name": "digits-c", "severity": 1}
    return [RunSpec.from_dict({"model": "digits", "data": data, "method": "Source"})]


def test_a_failing_run_leaves_its_error_and_the_rest_goes_on(tmp_path: Path) -> None:
    specs = runs_of_models(tmp_path, "fails", "good")
    folder = tmp_path / "results"
    records = {record.id: record for record in run_sweep(specs, folder)}
    failure = records[specs[0].id].error
    assert failure is not None
    assert "out of luck" in failure["message"]
    assert records[specs[1].id].error is None
    again, retried = Noting(), Noting()
    assert len(list(run_sweep(specs, folder, executor=again))) == 2
    assert again.done == []
    (tmp_path / "mine.py").write_text("import mixnorm\ndef fails():\n    return mixnorm.load_model('digits')\n")
    assert all(record.error is None for record in run_sweep(specs, folder, executor=retried, retry_failed=True))
    assert retried.done == [specs[0].id]


def test_where_one_run_cannot_be_done_none_is_begun(tmp_path: Path) -> None:
    executor = Noting()
    with pytest.raises(ModelError, match=r"none was begun:\n  Ttt on digits: .* has no rotation head 'turns'"):
        list(run_sweep(runs(["Source", "Ttt:head=turns"], (6,)), tmp_path, executor=executor))
    assert executor.done == []
    assert not list(tmp_path.glob("*.json"))


@pytest.mark.parametrize("content", ["{", '{"format": "other"}', '{"format": "mixnorm-record", "version": 2}'])
def test_a_folder_with_a_bad_file(content: str, finished: tuple[Path, list[Record]]) -> None:
    folder, _ = finished
    before = {path: path.read_bytes() for path in folder.glob("*.json")}
    bad = folder / "bad.json"
    bad.write_text(content)
    try:
        with pytest.raises(DataError, match=r"bad\.json .* move it out of the folder"):
            list(run_sweep(runs(), folder))
    finally:
        bad.unlink()
    assert {path: path.read_bytes() for path in folder.glob("*.json")} == before


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MixNormError, match="cannot be a results folder"):
        list(run_sweep(runs(), tmp_path / "file"))


def test_two_sweeps_in_one_folder(tmp_path: Path) -> None:
    first = run_sweep(runs(["Source"], (6, 12)), tmp_path)
    next(first)
    with pytest.raises(MixNormError, match="another process is working in"):
        next(run_sweep(runs(), tmp_path))
    first.close()  # type: ignore[attr-defined]
    assert len(list(run_sweep(runs(["Source"], (6,)), tmp_path))) == 1


def test_what_a_killed_sweep_left_half_written_is_deleted(tmp_path: Path) -> None:
    part = tmp_path / ".abc.json.0123.part"
    part.write_text("half")
    list(run_sweep(runs(["Source"], (6,)), tmp_path))
    assert not part.exists()
