"""Corrupted copies of a data set on disk: a robustness benchmark made out of one's own images."""

from mixnorm.benchmarks.corrupted_copies.job import Step, iter_corrupted_copies
from mixnorm.benchmarks.corrupted_copies.settings import LAYOUTS, CopySettings, Layout

__all__ = ["LAYOUTS", "CopySettings", "Layout", "Step", "iter_corrupted_copies"]
