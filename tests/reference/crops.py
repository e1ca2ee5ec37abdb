"""A random resized crop and flip done the plain way: cut the box out, resize it, mirror it."""

import torch.nn.functional as F
from torch import Tensor


def resized_crop(image: Tensor, box: tuple[int, ...], flip: bool) -> Tensor:
    top, left, height, width = box
    crop = image[None, :, top : top + height, left : left + width]
    resized = F.interpolate(crop, size=image.shape[1:], mode="bilinear", align_corners=False)[0]
    return resized.flip(-1) if flip else resized
