import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mixnorm.errors import MixNormError
from mixnorm.sweeps import OnRay, Serial
from tests.sweeps.runs import outcomes, runs, runs_of_models

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """Run a Ray of our own, on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        # Otherwise Ray writes a token for its own use into the home folder.
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("PYTHONPATH", os.pathsep.join([str(Path("src").resolve()), os.environ.get("PYTHONPATH", "")]))
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield
        ray.shutdown()


def test_ray_gives_what_serial_runs_give() -> None:
    specs = runs()
    assert outcomes(list(OnRay().run(specs))) == outcomes(list(Serial().run(specs)))
    assert ray.is_initialized(), "a connection that was there stays"


def test_workers_that_die_and_runs_that_fail(tmp_path: Path) -> None:
    specs = runs_of_models(tmp_path, "dies", "dies_once", "fails", "good")
    records = {record.id: record for record in OnRay().run(specs)}
    dead, once, failed, good = (records[spec.id] for spec in specs)
    assert dead.error is not None
    assert dead.error["type"] == "WorkerDied"
    assert (tmp_path / "deaths").read_text() == "xxx"
    assert failed.error is not None
    assert "out of luck" in failed.error["message"]
    assert once.error is None
    assert once.results == good.results


def test_closing_the_iterator_stops_the_rest() -> None:
    records = OnRay().run(runs())
    assert next(records).error is None
    records.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1"])
def test_no_cluster_at_an_address(address: str) -> None:
    with pytest.raises(MixNormError, match=f"there is no Ray cluster at '{address}'.*start one with: ray start"):
        OnRay(address=address)._connect(ray, runs())
