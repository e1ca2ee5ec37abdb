"""Import torchvision beside a CPU-only torch.

The torchvision that pip installs by default is built against a CUDA torch. Beside a CPU-only torch its compiled
operators do not load, and `import torchvision` stops at the first of two that it describes without looking whether they
are there. Models, transforms and data sets need none of the operators, so declaring those two is all that is missing.
"""

import functools
from collections.abc import Callable
from types import ModuleType
from typing import TypeVar

import torch

from mixnorm.errors import require

_MISSING = "operator torchvision::nms does not exist"
_T = TypeVar("_T")
_SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


def import_torchvision() -> ModuleType:
    """Import torchvision, whatever build of torch is installed.

    The plain import is tried first, so a torchvision with working operators is never touched. Call this before
    importing a library that itself imports torchvision.
    """
    return _retried(lambda: require("torchvision", "vision"), _declare_operators)


def with_torchvision(work: Callable[[], _T]) -> _T:
    """Do something that may import torchvision; if that fails for want of the operators, declare them and do it again.

    >>> with_torchvision(lambda: "done")
    'done'
    """
    return _retried(work, import_torchvision)


def _retried(work: Callable[[], _T], mend: Callable[[], object]) -> _T:
    try:
        return work()
    except RuntimeError as error:
        if _MISSING not in str(error):
            raise
    mend()
    return work()


@functools.cache
def _declare_operators() -> torch.library.Library:
    """Declare the two operators without giving them code; the declaration lasts as long as the result is kept."""
    library = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
    for operator in ("nms", "qnms"):
        library.define(operator + _SIGNATURE)  # type: ignore[no-untyped-call]
    return library
