import multiprocessing
from pathlib import Path

import pytest

from mixnorm.errors import SettingError
from mixnorm.sweeps import Processes, Serial
from tests.sweeps.runs import outcomes, runs, runs_of_models


def test_processes_give_what_serial_runs_give() -> None:
    specs = runs()
    assert outcomes(list(Processes(workers=2).run(specs))) == outcomes(list(Serial().run(specs)))
    assert multiprocessing.active_children() == []


def test_a_worker_that_dies_is_replaced_and_its_run_tried_again(tmp_path: Path) -> None:
    specs = runs_of_models(tmp_path, "dies", "dies_once", "fails", "good")
    records = {record.id: record for record in Processes(workers=1).run(specs)}
    dead, once, failed, good = (records[spec.id] for spec in specs)
    assert dead.error is not None
    assert dead.error["type"] == "WorkerDied"
    assert "the worker died 3 times (exit code -9)" in dead.error["message"]
    assert (tmp_path / "deaths").read_text() == "xxx"
    assert once.error is None
    assert failed.error is not None
    assert "out of luck" in failed.error["message"]
    assert good.error is None
    assert once.results == good.results


def test_closing_the_iterator_ends_the_workers() -> None:
    records = Processes(workers=2).run(runs())
    next(records)
    assert multiprocessing.active_children()
    records.close()  # type: ignore[attr-defined]
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("workers", [0, -1, 1.5])
def test_how_many_workers_there_may_be(workers: int) -> None:
    with pytest.raises(SettingError, match="workers must be a whole number of 1 or more, got"):
        Processes(workers=workers)
