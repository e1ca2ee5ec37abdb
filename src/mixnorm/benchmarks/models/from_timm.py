"""Any classifier of timm by its name there."""

import difflib
from typing import Any

from torch import nn

from mixnorm.benchmarks.models.preprocessing import Preprocessing
from mixnorm.benchmarks.models.source_model import SourceModel
from mixnorm.benchmarks.models.weights_file import WeightsFile, checksum_in_name
from mixnorm.benchmarks.torchvision_on_cpu import import_torchvision
from mixnorm.errors import ModelError, require, unknown_name


def timm_model(name: str) -> SourceModel:
    """Describe a timm classifier: `resnet26`, or with the tag of its weights `resnet26.bt_in1k`."""
    timm = _timm()
    known = {*timm.list_models(), *timm.list_pretrained()}
    if name not in known:
        # There are some three thousand names: only the nearest help.
        raise unknown_name("timm classifier", name, difflib.get_close_matches(name, known, n=8, cutoff=0.3))
    config = timm.get_pretrained_cfg(name)
    if not config.num_classes:
        raise ModelError(f"timm's {name} gives features and no classes; choose a model with a classifier")
    return SourceModel(
        name=f"timm/{name}",
        network=lambda: _network(name),
        preprocessing=Preprocessing(mean=tuple(config.mean), std=tuple(config.std)),
        weights=_published_weights(config),
        dataset="imagenet" if config.num_classes == 1000 else None,
    )


def _timm() -> Any:
    import_torchvision()
    return require("timm", "vision")


def _network(name: str) -> nn.Module:
    network: nn.Module = _timm().create_model(name, pretrained=False)
    return network


def _published_weights(config: Any) -> WeightsFile | None:
    """Describe the file on the hub, which has the parameter names of today, else the one that came before it."""
    if config.hf_hub_id:
        file = config.hf_hub_filename or "model.safetensors"
        url = f"https://huggingface.co/{config.hf_hub_id}/resolve/main/{file}"
        return WeightsFile(url=url, path=f"{config.hf_hub_id}/{file}")
    if config.url:
        file = config.url.rsplit("/", maxsplit=1)[-1]
        return WeightsFile(url=config.url, path=f"timm/{file}", sha256=checksum_in_name(file))
    return None
