"""A target set to adapt to offline: batches of images that may be looked at as often as needed."""

from collections.abc import Iterable, Iterator, Sized

from torch import Tensor

from mixnorm.adaptation.replacement import check_images
from mixnorm.errors import InputError, SettingError


class Target:
    """Batches of images, checked as they come, and how many of them there are in all epochs."""

    def __init__(self, batches: Iterable[Tensor], epochs: int, *, surveyed: bool) -> None:
        if isinstance(epochs, bool) or not isinstance(epochs, int) or epochs < 1:
            raise SettingError(f"epochs must be a whole number of 1 or more, got {epochs!r}")
        if isinstance(batches, Tensor) or not isinstance(batches, Iterable):
            raise InputError(
                f"the target set must be batches of images, such as images.split(200) or a DataLoader that gives "
                f"tensors, got {type(batches).__name__}"
            )
        if isinstance(batches, Iterator) and (epochs > 1 or surveyed):
            why = "the method first looks at the whole target set" if surveyed else f"epochs={epochs}"
            raise InputError(
                f"{type(batches).__name__} can be looked at once only, and {why}; give a list or a DataLoader"
            )
        self.epochs = epochs
        self._batches = batches
        self._each = _count(batches)

    @property
    def total(self) -> int | None:
        """How many batches all epochs have together; None while that is not known."""
        return None if self._each is None else self.epochs * self._each

    def look(self) -> Iterator[Tensor]:
        """Go through the batches once."""
        count = 0
        for images in self._batches:
            check_images(images)
            count += 1
            yield images
        if not count:
            raise InputError("the target set is empty: there is no batch of images to adapt to")
        self._each = count


def _count(batches: Iterable[Tensor]) -> int | None:
    """Count the batches where that can be done without looking at them."""
    try:
        return len(batches) if isinstance(batches, Sized) else None
    except TypeError:  # a DataLoader over a set that has no length
        return None
