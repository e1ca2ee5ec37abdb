"""Any classifier of torchvision by its name there."""

from torch import nn

from mixnorm.benchmarks.models.preprocessing import Preprocessing
from mixnorm.benchmarks.models.source_model import SourceModel
from mixnorm.benchmarks.models.weights_file import WeightsFile, checksum_in_name
from mixnorm.benchmarks.torchvision_on_cpu import import_torchvision
from mixnorm.errors import unknown_name

# The published weights of these two want their input scaled once more; torchvision passes the same when it loads them.
ARGUMENTS = {name: {"transform_input": True, "init_weights": False} for name in ("googlenet", "inception_v3")}


def torchvision_model(name: str) -> SourceModel:
    """Describe a torchvision classifier, with the weights that torchvision recommends for it."""
    models = import_torchvision().models
    known = models.list_models(module=models)
    if name not in known:
        raise unknown_name("torchvision classifier", name, known)
    published = models.get_model_weights(name).DEFAULT
    transforms = published.transforms()
    return SourceModel(
        name=f"torchvision/{name}",
        network=lambda: _network(name),
        preprocessing=Preprocessing(mean=tuple(transforms.mean), std=tuple(transforms.std)),
        weights=_published_weights(published.url),
        dataset="imagenet",
        accuracy=published.meta["_metrics"]["ImageNet-1K"]["acc@1"] / 100,
        resize=transforms.resize_size[0],
        crop=transforms.crop_size[0],
    )


def _published_weights(url: str) -> WeightsFile:
    file = url.rsplit("/", maxsplit=1)[-1]
    return WeightsFile(url=url, path=f"torchvision/{file}", sha256=checksum_in_name(file))


def _network(name: str) -> nn.Module:
    network: nn.Module = import_torchvision().models.get_model(name, weights=None, **ARGUMENTS.get(name, {}))
    return network


# The model of TENT and MixNorm: torchvision's first weights, not the ones that it recommends today.
RESNET50 = SourceModel(
    name="resnet50",
    network=lambda: _network("resnet50"),
    preprocessing=Preprocessing(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)),
    weights=_published_weights("https://download.pytorch.org/models/resnet50-0676ba61.pth"),
    dataset="imagenet",
    accuracy=0.7613,
    resize=256,
    crop=224,
)
