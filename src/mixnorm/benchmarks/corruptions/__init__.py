"""The corruptions of the -C benchmarks: 15 to test on and 4 to validate on, at five severities."""

from mixnorm.benchmarks.corruptions.apply import corrupt
from mixnorm.benchmarks.corruptions.severities import CORRUPTIONS, EXTRA_CORRUPTIONS, SCALES, SEVERITIES, Scale

__all__ = ["CORRUPTIONS", "EXTRA_CORRUPTIONS", "SCALES", "SEVERITIES", "Scale", "corrupt"]
