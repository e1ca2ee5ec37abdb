"""Small runs on digits, and models that fail or die."""

from pathlib import Path
from typing import Any

from mixnorm.evaluation import Record, RunSpec
from mixnorm.sweeps import grid

DATA = {"name": "digits-c", "limit": 12, "corruptions": ["fog", "contrast"]}
METHODS = ["Source", "Tent", "MixNorm:m=0.2"]

MODELS = """
import os, signal
from pathlib import Path
import mixnorm

def good():
    return mixnorm.load_model("digits")

def fails():
    raise RuntimeError("out of luck")

def dies():
    with Path(__file__).with_name("deaths").open("a") as file:
        file.write("x")
    os.kill(os.getpid(), signal.SIGKILL)

def dies_once():
    marker = Path(__file__).with_name("died")
    if not marker.exists():
        marker.touch()
        os._exit(3)
    return good()
"""


def runs(methods: list[str] | None = None, batch_sizes: tuple[int, ...] = (1, 6)) -> list[RunSpec]:
    base = {"model": "digits", "data": DATA}
    return grid(base, {"method": methods or METHODS, "protocol.batch_size": batch_sizes})


def runs_of_models(folder: Path, *names: str) -> list[RunSpec]:
    """Make a run of each model of a user's file."""
    file = folder / "mine.py"
    file.write_text(MODELS)
    base = {"data": DATA, "method": "Source", "protocol": {"batch_size": 6}}
    return grid(base, {"model": [f"{file}:{name}" for name in names]})


def outcomes(records: list[Record]) -> dict[str, Any]:
    """Return all of the records that must not depend on when and where they were made."""
    return {record.id: (record.spec, record.fingerprint, record.results) for record in records}
