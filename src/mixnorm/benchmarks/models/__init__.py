"""Source models: what is adapted, by name, with published weights and the preprocessing inside."""

from mixnorm.benchmarks.models.clean_accuracy import CleanAccuracy, check_clean_accuracy
from mixnorm.benchmarks.models.clip_towers import is_clip, towers_of
from mixnorm.benchmarks.models.loading import download_model, load_model
from mixnorm.benchmarks.models.registry import find_model, list_models
from mixnorm.benchmarks.models.source_model import SourceModel
from mixnorm.benchmarks.models.wide_resnet import WideResNet
from mixnorm.benchmarks.models.zero_shot import ZeroShotClassifier, zero_shot, zero_shot_for

__all__ = [
    "CleanAccuracy",
    "SourceModel",
    "WideResNet",
    "ZeroShotClassifier",
    "check_clean_accuracy",
    "download_model",
    "find_model",
    "is_clip",
    "list_models",
    "load_model",
    "towers_of",
    "zero_shot",
    "zero_shot_for",
]
