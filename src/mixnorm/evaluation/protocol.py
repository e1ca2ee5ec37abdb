"""A protocol: the choices that decide what a number means, each independent of the others."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mixnorm.benchmarks.streams import ORDERS
from mixnorm.errors import unknown_name
from mixnorm.evaluation.plain import check_fields, check_whole_number

RESETS = ("never", "segment")


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """In which order samples come, when the model forgets, how many samples it sees at once, and how often.

    >>> Protocol(order="single", reset="segment", batch_size=64)
    Protocol(order='single', reset='segment', batch_size=64, window=200, epochs=0)
    """

    order: str = "mixed"
    """The order of the stream, one of `mixnorm.benchmarks.streams.ORDERS`."""
    reset: str = "never"
    """Whether the model forgets at each new `segment` of the stream, or `never`; it always starts afresh."""
    batch_size: int = 1
    window: int = 200
    """How many samples one point of the error over time stands for."""
    epochs: int = 0
    """0 is online: each sample is answered when it comes, and learned from afterwards. With more, the model sees each
    segment that often without answering, and then answers it with what it has learned, learning no more."""

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise unknown_name("order", self.order, ORDERS)
        if self.reset not in RESETS:
            raise unknown_name("reset", self.reset, RESETS)
        check_whole_number("batch_size", self.batch_size, 1)
        check_whole_number("window", self.window, 1)
        check_whole_number("epochs", self.epochs, 0)

    def to_dict(self) -> dict[str, Any]:
        """Write the choices as plain data; an online protocol has no epochs there, and so the id it always had."""
        data = dataclasses.asdict(self)
        return data if self.epochs else {name: value for name, value in data.items() if name != "epochs"}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> "Protocol":
        """Make a protocol from plain data; what is left out has its default."""
        check_fields("protocol", data, [field.name for field in dataclasses.fields(Protocol)])
        return Protocol(**data)
