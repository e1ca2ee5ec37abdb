"""Normalisation with re-estimated statistics: pure functions, and the layers that hold state and call them."""

from mixnorm.norms.found import Move
from mixnorm.norms.layer import DIMENSIONS, AdaptiveNorm, Context
from mixnorm.norms.looks import LookingPlan, until_look
from mixnorm.norms.memory import Call, Memory, Slots
from mixnorm.norms.mixnorm import MixNormLayer
from mixnorm.norms.mixnormbn import MixNormBNLayer
from mixnorm.norms.plan import MovingPlan, Plan, PoolingPlan, Rows, any_length, moving_weights
from mixnorm.norms.shrinkage import LEAST_CONTENT, LEAST_REACH, Shrinkage, ShrinkageLayer
from mixnorm.norms.statistics import (
    measure_natively,
    mix,
    normalise,
    normalise_natively,
    pool_samples,
    pool_views,
    row_statistics,
    sums_up,
)
from mixnorm.norms.stream_shift import MOST_ALIKE

__all__ = [
    "DIMENSIONS",
    "LEAST_CONTENT",
    "LEAST_REACH",
    "MOST_ALIKE",
    "AdaptiveNorm",
    "Call",
    "Context",
    "LookingPlan",
    "Memory",
    "MixNormBNLayer",
    "MixNormLayer",
    "Move",
    "MovingPlan",
    "Plan",
    "PoolingPlan",
    "Rows",
    "Shrinkage",
    "ShrinkageLayer",
    "Slots",
    "any_length",
    "measure_natively",
    "mix",
    "moving_weights",
    "normalise",
    "normalise_natively",
    "pool_samples",
    "pool_views",
    "row_statistics",
    "sums_up",
    "until_look",
]
