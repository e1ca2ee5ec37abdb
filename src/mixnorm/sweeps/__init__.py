"""Sweeps: grids of runs, done serially, in processes or on a Ray cluster, with the same results."""

from mixnorm.sweeps.executor import Executor
from mixnorm.sweeps.grid import grid, read_grid
from mixnorm.sweeps.on_ray import OnRay
from mixnorm.sweeps.processes import Processes
from mixnorm.sweeps.serial import Serial
from mixnorm.sweeps.sweep import done_before, results_folder, run_sweep

__all__ = [
    "Executor",
    "OnRay",
    "Processes",
    "Serial",
    "done_before",
    "grid",
    "read_grid",
    "results_folder",
    "run_sweep",
]
