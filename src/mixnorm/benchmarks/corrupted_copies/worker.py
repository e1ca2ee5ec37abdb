"""The worker: turns one piece of work into files, alone or as one of several processes."""

import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from mixnorm.benchmarks.corrupted_copies.array_layout import ArrayLayout
from mixnorm.benchmarks.corrupted_copies.folder_layout import FolderLayout
from mixnorm.benchmarks.corrupted_copies.layout import CopyLayout, Unit
from mixnorm.benchmarks.corrupted_copies.settings import CopySettings
from mixnorm.benchmarks.corruptions import corrupt
from mixnorm.benchmarks.datasets import Dataset
from mixnorm.errors import DataError
from mixnorm.processes import end_with_parent, interrupts_held

Indices = npt.NDArray[np.int64]


Failures = dict[int, str]
"""Why images failed, by their indices."""


class Outcome(NamedTuple):
    """What became of a piece of work: how many images it had, and why some of them failed."""

    images: int
    failures: Failures


MakeAll = Callable[[Iterable[Unit]], Iterator[Outcome]]


class Worker:
    """Makes the corrupted copies of one data set."""

    def __init__(self, settings: CopySettings, dataset: Dataset, kept: Indices) -> None:
        layouts: dict[str, type[CopyLayout]] = {"arrays": ArrayLayout, "folders": FolderLayout}
        self.settings = settings
        self.dataset = dataset
        self.layout = layouts[settings.layout_name](settings.output, dataset, kept)

    def make(self, unit: Unit) -> Outcome:
        """Write the copies of a unit that are missing; if an image is bad, those of all others."""
        try:
            self._make(unit)
        except DataError as error:
            if unit.stop - unit.start == 1:
                return Outcome(1, {int(self.layout.kept[unit.start]): str(error)})
            singles = [self.make(Unit(unit.name, place, place + 1)) for place in range(unit.start, unit.stop)]
            return Outcome(len(singles), {index: why for each in singles for index, why in each.failures.items()})
        return Outcome(unit.stop - unit.start, {})

    def _make(self, unit: Unit) -> None:
        missing = [severity for severity in self.settings.severities if not self.layout.has(unit, severity)]
        if not missing:
            return
        indices = self.layout.kept[unit.start : unit.stop]
        images = self.dataset.images(indices)
        seed, scale = self.settings.seed, self.settings.scale_for(self.dataset)
        for severity in missing:
            copies = corrupt(images, unit.name, severity, seed=seed, indices=indices, scale=scale)
            self.layout.write(unit, severity, copies)


@contextmanager
def working(worker: Worker) -> Iterator[MakeAll]:
    """Give the function that makes units, in this process or in as many as the settings say."""
    settings, kept = worker.settings, worker.layout.kept
    if settings.workers == 1:
        yield lambda units: map(worker.make, units)
        return
    # Spawned, not forked: a fork of a process with torch's threads may hang.
    spawn = get_context("spawn")
    with ProcessPoolExecutor(settings.workers, spawn, initializer=_start, initargs=(settings, kept)) as pool:

        def make_all(units: Iterable[Unit]) -> Iterator[Outcome]:
            # Processes start when work is handed to them; one that hears Ctrl-C while it starts would break the pool.
            with interrupts_held():
                return pool.map(_make, units)

        yield make_all


_worker_of_process: list[Worker] = []


def _start(settings: CopySettings, kept: Indices) -> None:
    """Set up a worker process; Ctrl-C is for the process that started it, which lets running pieces end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    torch.set_num_threads(1)
    _worker_of_process.append(Worker(settings, settings.open(), kept))


def _make(unit: Unit) -> Outcome:
    return _worker_of_process[0].make(unit)
