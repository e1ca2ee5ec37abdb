"""Normalisation with re-estimated statistics: pure functions, and the layers that hold state and call them."""

from mixnorm.norms.layer import DIMENSIONS, AdaptiveNorm, Context, Step
from mixnorm.norms.memory import Memory
from mixnorm.norms.mixnorm import MixNormLayer
from mixnorm.norms.mixnormbn import MixNormBNLayer
from mixnorm.norms.plan import MovingPlan, Plan, PoolingPlan, Rows, moving_weights
from mixnorm.norms.statistics import mix, normalise, pool_samples, pool_views, row_statistics

__all__ = [
    "DIMENSIONS",
    "AdaptiveNorm",
    "Context",
    "Memory",
    "MixNormBNLayer",
    "MixNormLayer",
    "MovingPlan",
    "Plan",
    "PoolingPlan",
    "Rows",
    "Step",
    "mix",
    "moving_weights",
    "normalise",
    "pool_samples",
    "pool_views",
    "row_statistics",
]
