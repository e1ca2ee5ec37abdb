"""All source models by name."""

from dataclasses import replace
from pathlib import Path

from mixnorm.benchmarks.models.from_open_clip import CLIP_RN50
from mixnorm.benchmarks.models.from_timm import timm_model
from mixnorm.benchmarks.models.from_torchvision import RESNET50, torchvision_model
from mixnorm.benchmarks.models.preprocessing import Preprocessing
from mixnorm.benchmarks.models.source_model import SourceModel
from mixnorm.benchmarks.models.svhn import DigitNetwork, SvhnNetwork, add_affine_
from mixnorm.benchmarks.models.weights_file import ShippedWeights, WeightsFile
from mixnorm.benchmarks.models.wide_resnet import UNUSED_KEYS, WideResNet
from mixnorm.errors import unknown_name

GOOGLE_DRIVE = "Google Drive sends programs a web page instead of a large file"
HALF = Preprocessing(mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))

DIGITS = SourceModel(
    name="digits",
    network=lambda: WideResNet(depth=16, width=1, classes=10, rotations=True),
    preprocessing=HALF,
    weights=ShippedWeights(path=Path(__file__).parent / "weights" / "digits.safetensors"),
    dataset="digits",
    accuracy=0.985,
)
# RobustBench, CIFAR-10: `Standard`.
WRN_28_10 = SourceModel(
    name="wrn-28-10",
    network=lambda: WideResNet(depth=28, width=10, classes=10),
    preprocessing=Preprocessing(),
    weights=WeightsFile(
        url="https://drive.google.com/file/d/1t98aEuzeTL8P7Kpd5DIrCoCL21BNZUhC/view",
        path="robustbench/Standard.pt",
        by_hand=GOOGLE_DRIVE,
    ),
    dataset="cifar10",
    accuracy=0.9478,
    unused_keys=UNUSED_KEYS,
)
# RobustBench, CIFAR-10, common corruptions: `Hendrycks2020AugMix_WRN`.
WRN_40_2 = SourceModel(
    name="wrn-40-2",
    network=lambda: WideResNet(depth=40, width=2, classes=10),
    preprocessing=HALF,
    weights=WeightsFile(
        url="https://drive.google.com/file/d/1wy7gSRsUZzCzj8QhmTbcnwmES_2kkNph/view",
        path="robustbench/Hendrycks2020AugMix_WRN.pt",
        by_hand=GOOGLE_DRIVE,
    ),
    dataset="cifar10",
    accuracy=0.9508,
    unused_keys=UNUSED_KEYS,
)
SVHN = SourceModel(
    name="svhn",
    network=SvhnNetwork,
    preprocessing=HALF,
    weights=WeightsFile(
        url="http://ml.cs.tsinghua.edu.cn/~chenxi/pytorch-models/svhn-f564f3d8.pth",
        path="pytorch-playground/svhn-f564f3d8.pth",
        sha256="f564f3d8",
        by_hand="The server has no secure address",
    ),
    dataset="svhn",
    accuracy=0.9603,
)
# The same network and weights, with something to learn for the methods that learn affine parameters.
SVHN_AFFINE = replace(SVHN, name="svhn-affine", finish=add_affine_)
# At half the published width its weights take 0.6 MB, and training on the digits of MNIST a few minutes.
DIGIT_CNN = SourceModel(name="digit-cnn", network=lambda: DigitNetwork(width=16), preprocessing=HALF, weights=None)

_KNOWN = (DIGITS, WRN_28_10, WRN_40_2, RESNET50, SVHN, SVHN_AFFINE, DIGIT_CNN, CLIP_RN50)
_MODELS = {model.name: model for model in _KNOWN}
_LIBRARIES = {"torchvision": torchvision_model, "timm": timm_model}


def list_models() -> tuple[SourceModel, ...]:
    """Return the models that have a name of their own; those of torchvision and timm are not among them.

    >>> [model.name for model in list_models()]
    ['digits', 'wrn-28-10', 'wrn-40-2', 'resnet50', 'svhn', 'svhn-affine', 'digit-cnn', 'clip-rn50']
    """
    return tuple(_MODELS.values())


def find_model(name: str) -> SourceModel:
    """Return the record of a model: one of `list_models`, `torchvision/NAME` or `timm/NAME`.

    >>> find_model("wrn-28-10").accuracy
    0.9478
    """
    library, slash, inner = str(name).partition("/")
    if slash and library in _LIBRARIES:
        return _LIBRARIES[library](inner)
    if str(name) not in _MODELS:
        raise unknown_name("model", name, [*_MODELS, "torchvision/NAME", "timm/NAME", "path/to/file.py:FACTORY"])
    return _MODELS[str(name)]
