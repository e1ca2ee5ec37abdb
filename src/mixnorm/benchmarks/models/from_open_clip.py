"""CLIP with the ResNet-50 image encoder, through open_clip."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from mixnorm.benchmarks.models.preprocessing import Preprocess, Preprocessed, Preprocessing
from mixnorm.benchmarks.models.source_model import SourceModel
from mixnorm.benchmarks.models.weights_file import WeightsFile
from mixnorm.benchmarks.torchvision_on_cpu import import_torchvision
from mixnorm.errors import require

ARCHITECTURE = "RN50"


class ClipModel(Preprocessed):
    """Image and text encoders of one space: both give features of length one, so that a product is a cosine.

    Calling the model encodes images, which are RGB floats in [0, 1] of any size.
    """

    def __init__(self, preprocess: Preprocess, network: nn.Module) -> None:
        super().__init__(preprocess, network)
        self.tokenizer = import_open_clip().get_tokenizer(ARCHITECTURE)

    def forward(self, images: Tensor) -> Tensor:
        """Encode images (N, 3, H, W)."""
        return self.encode_image(images)

    def encode_image(self, images: Tensor) -> Tensor:
        """Encode images (N, 3, H, W)."""
        clip: Any = self.network
        features: Tensor = clip.encode_image(self.preprocess(images), normalize=True)
        return features

    def encode_text(self, texts: Sequence[str]) -> Tensor:
        """Encode sentences, each cut after 77 tokens."""
        clip: Any = self.network
        tokens = self.tokenizer(list(texts)).to(clip.logit_scale.device)
        features: Tensor = clip.encode_text(tokens, normalize=True)
        return features


def import_open_clip() -> Any:
    """Import open_clip, whatever build of torch is installed."""
    import_torchvision()
    return require("open_clip", "clip")


def _network() -> nn.Module:
    open_clip = import_open_clip()
    network: nn.Module = open_clip.CLIP(**open_clip.get_model_config(ARCHITECTURE), quick_gelu=True)
    return network


CLIP_RN50 = SourceModel(
    name="clip-rn50",
    network=_network,
    preprocessing=Preprocessing(
        size=224, mean=(0.48145466, 0.4578275, 0.40821073), std=(0.26862954, 0.26130258, 0.27577711)
    ),
    weights=WeightsFile(
        url=(
            "https://huggingface.co/timm/resnet50_clip.openai/resolve/"
            "00fd56258d8020fda2c9a8b683cf883d477ad3eb/open_clip_model.safetensors"
        ),
        path="timm/resnet50_clip.openai/open_clip_model.safetensors",
    ),
    kind=ClipModel,
)
