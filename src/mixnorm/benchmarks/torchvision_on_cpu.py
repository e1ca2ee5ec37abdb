"""Import torchvision beside a CPU-only torch.

The torchvision that pip installs by default is built against a CUDA torch. Beside a CPU-only torch its compiled
operators do not load, and `import torchvision` stops at the first of two that it describes without looking whether they
are there. Models, transforms and data sets need none of the operators, so declaring those two is all that is missing.
"""

import functools
from types import ModuleType

import torch

from mixnorm.errors import require

_MISSING = "operator torchvision::nms does not exist"
_SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


def import_torchvision() -> ModuleType:
    """Import torchvision, whatever build of torch is installed.

    The plain import is tried first, so a torchvision with working operators is never touched. Call this before
    importing a library that itself imports torchvision.
    """
    try:
        return require("torchvision", "vision")
    except RuntimeError as error:
        if _MISSING not in str(error):
            raise
    _declare_operators()
    return require("torchvision", "vision")


@functools.cache
def _declare_operators() -> torch.library.Library:
    """Declare the two operators without giving them code; the declaration lasts as long as the result is kept."""
    library = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
    for operator in ("nms", "qnms"):
        library.define(operator + _SIGNATURE)  # type: ignore[no-untyped-call]
    return library
