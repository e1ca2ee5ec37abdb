import numpy as np
import pytest

from mixnorm.benchmarks.corruptions import CORRUPTIONS, EXTRA_CORRUPTIONS, SCALES, SEVERITIES, Scale, corrupt
from mixnorm.benchmarks.corruptions.severities import LARGE, SMALL, settings_of
from tests.benchmarks.corruptions.images import scenes

ALL = CORRUPTIONS + EXTRA_CORRUPTIONS


def test_every_corruption_has_five_settings_at_both_scales() -> None:
    assert set(SMALL) == set(LARGE) == set(ALL)
    assert all(len(table[name]) == len(SEVERITIES) for table in (SMALL, LARGE) for name in ALL)


def test_settings_are_found_by_severity_and_scale() -> None:
    assert settings_of("gaussian_noise", 1, "small") == (0.04,)
    assert settings_of("gaussian_noise", 5, "large") == (0.38,)
