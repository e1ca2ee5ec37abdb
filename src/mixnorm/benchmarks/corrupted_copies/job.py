"""The job: all corruptions of a data set, piece by piece, continued where an earlier run ended."""

from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mixnorm.benchmarks.corrupted_copies.layout import Unit
from mixnorm.benchmarks.corrupted_copies.provenance import Record, claim
from mixnorm.benchmarks.corrupted_copies.settings import CopySettings
from mixnorm.benchmarks.corrupted_copies.worker import Indices, MakeAll, Outcome, Worker, working
from mixnorm.benchmarks.corruptions.frost_pictures import frost_source
from mixnorm.benchmarks.datasets import Dataset
from mixnorm.benchmarks.datasets.files import FileDataset
from mixnorm.errors import DataError, MixNormError
from mixnorm.files import alone_in


@dataclass(frozen=True, kw_only=True)
class Step:
    """How far a job is: images done out of all, counted once per corruption, and what failed so far."""

    corruption: str
    done: int
    total: int
    failures: tuple[str, ...]


def iter_corrupted_copies(settings: CopySettings) -> Iterator[Step]:
    """Make the copies, yielding how far it is after each piece of work.

    What is wrong with the source as a whole is raised before the work begins; an image that turns out bad on the way is
    left out and named in `failures`. Files that are there already are not made again.
    """
    dataset = settings.open()
    kept, unreadable = _readable(dataset, settings)
    failures = dict.fromkeys(unreadable)
    done, total = 0, len(kept) * len(settings.corruptions)
    with _continuable(settings.output), ExitStack() as held:
        claim(settings.output, _record(dataset, settings, kept))
        held.enter_context(alone_in(settings.output))
        held.callback((settings.output / ".lock").unlink, missing_ok=True)
        worker = Worker(settings, dataset, kept)
        make_all = held.enter_context(working(worker))
        for name in settings.corruptions:
            for outcome in _one_corruption(name, worker, make_all):
                done += outcome.images
                failures.update(dict.fromkeys(outcome.failures))
                yield Step(corruption=name, done=done, total=total, failures=tuple(failures))


def _one_corruption(name: str, worker: Worker, make_all: MakeAll) -> Iterator[Outcome]:
    """Make one corruption of all images; its copies are finished only if none failed."""
    count, size = len(worker.layout.kept), worker.settings.batch_size
    units = [Unit(name, start, min(start + size, count)) for start in range(0, count, size)]
    good = 0
    worker.layout.begin(name)
    try:
        for outcome in make_all(units):
            good += not outcome.failures
            yield outcome
    finally:
        worker.layout.finish(name, complete=good == len(units))


def _readable(dataset: Dataset, settings: CopySettings) -> tuple[Indices, list[str]]:
    """Find the images that go into arrays, where each has its row; files that cannot be read get none."""
    everything = np.arange(len(dataset))
    if settings.layout_name == "folders" or not isinstance(dataset, FileDataset):
        return everything, []
    problems: dict[int, str] = {}
    for index in everything:
        try:
            dataset.images([index])
        except DataError as error:
            problems[int(index)] = str(error)
    if len(problems) == len(dataset):
        raise DataError(f"none of the {len(dataset)} images can be read: {next(iter(problems.values()))}")
    return np.setdiff1d(everything, list(problems)), list(problems.values())


def _record(dataset: Dataset, settings: CopySettings, kept: Indices) -> Record:
    return {
        "source": dataset.name,
        "fingerprint": dataset.fingerprint(),
        "images": len(kept),
        "layout": settings.layout_name,
        "scale": settings.scale or "by size",
        "seed": settings.seed,
        "frost": frost_source(),
    }


@contextmanager
def _continuable(output: Path) -> Iterator[None]:
    """Say that finished files are kept when the disk or a process fails."""
    advice = "finished files are kept; run the same again to go on"
    try:
        yield
    except MixNormError:
        raise
    except BrokenProcessPool as error:
        raise MixNormError(f"a worker process died, often for lack of memory; {advice}, with fewer workers") from error
    except OSError as error:
        raise MixNormError(f"{output} cannot be written: {error}; {advice}") from error
