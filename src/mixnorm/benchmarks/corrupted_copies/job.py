"""The job: all corruptions of a data set, piece by piece, continued where an earlier run ended."""

from collections.abc import Generator, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mixnorm.benchmarks.corrupted_copies.layout import Unit
from mixnorm.benchmarks.corrupted_copies.output import check_apart, check_output
from mixnorm.benchmarks.corrupted_copies.provenance import Facts, claim, note
from mixnorm.benchmarks.corrupted_copies.settings import CopySettings
from mixnorm.benchmarks.corrupted_copies.worker import Failures, Indices, MakeAll, Outcome, Worker, working
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

    What is wrong with the source or the output as a whole is raised before the work begins; an image that turns out bad
    on the way is left out and named in `failures`. Files that are there already are not made again, and those of an
    image that was bad and has been mended are added.
    """
    check_output(settings.output)
    dataset = settings.open()
    check_apart(settings.output, dataset)
    kept, failures = _readable(dataset, settings)
    worker = Worker(settings, dataset, kept)
    facts = _facts(dataset, settings)
    with _continuable(settings.output), ExitStack() as held:
        left_out = set(claim(settings.output, dataset, facts))
        held.enter_context(alone_in(settings.output))
        held.callback((settings.output / ".lock").unlink, missing_ok=True)
        make_all = held.enter_context(working(worker))
        for step in held.enter_context(closing(_steps(worker, make_all, failures))):
            # At once, since a process that is killed gets no later chance, and then nobody could mend the file.
            left_out = _noted(worker, facts, left_out, left_out | _names(dataset, failures))
            yield step
        _noted(worker, facts, left_out, _names(dataset, failures))


def _noted(worker: Worker, facts: Facts, before: set[str], now: set[str]) -> set[str]:
    """Put on record which images are left out now, if that has changed."""
    if now != before:
        note(worker.settings.output, worker.dataset, facts, now)
    return now


def _names(dataset: Dataset, failures: Failures) -> set[str]:
    return {dataset.name_of(index) for index in failures} if isinstance(dataset, FileDataset) else set()


def _steps(worker: Worker, make_all: MakeAll, failures: Failures) -> Generator[Step, None, None]:
    """Make all corruptions; failures are added to those known before."""
    names = worker.settings.corruptions
    done, total = 0, len(worker.layout.kept) * len(names)
    for name in names:
        for outcome in _one_corruption(name, worker, make_all):
            done += outcome.images
            failures.update(outcome.failures)
            yield Step(corruption=name, done=done, total=total, failures=tuple(failures.values()))


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


def _readable(dataset: Dataset, settings: CopySettings) -> tuple[Indices, Failures]:
    """Find the images that go into arrays, where each has its row; files that cannot be read get none."""
    everything = np.arange(len(dataset))
    if settings.layout_name == "folders" or not isinstance(dataset, FileDataset):
        return everything, {}
    problems: Failures = {}
    for index in everything:
        try:
            dataset.images([index])
        except DataError as error:
            problems[int(index)] = str(error)
    if len(problems) == len(dataset):
        raise DataError(f"none of the {len(dataset)} images can be read: {next(iter(problems.values()))}")
    return np.setdiff1d(everything, list(problems)), problems


def _facts(dataset: Dataset, settings: CopySettings) -> Facts:
    return {
        "source": dataset.name,
        "class_names": list(dataset.class_names),
        "images": len(dataset),
        "layout": settings.layout_name,
        "scale": settings.scale_for(dataset) or "by size",
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
        raise MixNormError(f"{output} cannot be written: {error.strerror or error}; {advice}") from error
