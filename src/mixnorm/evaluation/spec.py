"""A run as plain data: everything that decides its result, and a name that stays the same everywhere."""

import dataclasses
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch

from mixnorm.adaptation import Method
from mixnorm.benchmarks import load_stream
from mixnorm.benchmarks.corruptions import SEVERITIES
from mixnorm.errors import SettingError, unknown_name
from mixnorm.evaluation.method_text import method_from_text
from mixnorm.evaluation.plain import check_fields, check_whole_number, plain, stable_id
from mixnorm.evaluation.protocol import Protocol

VERSION = 1
DTYPES = ("float32", "float64", "bfloat16", "float16")


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """A model, data, a protocol and a method; `run(spec)` makes the record of it.

    `data` has the arguments of `load_stream` but the order, which is the protocol's; `method` is what `to_dict` of a
    method gives. Both are completed with their defaults, so that the same run always has the same `id`.

    >>> spec = RunSpec(model="digits", data={"name": "digits-c", "limit": 100}, method={"method": "Source"})
    >>> spec.data["severity"], RunSpec.from_dict(spec.to_dict()).id == spec.id
    (5, True)
    """

    model: str
    checkpoint: str | None = None
    data: Mapping[str, Any]
    protocol: Protocol = field(default_factory=Protocol)
    method: Mapping[str, Any]
    seed: int = 0
    """The seed of the method's views; that of the stream stands in `data`."""
    dtype: str = "float32"
    device: str = "cpu"
    threads: int = 1
    """How many threads torch may use: a part of the run, since it moves costs and the last bits of numbers."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", _text("model", self.model))
        if self.checkpoint is not None:
            object.__setattr__(self, "checkpoint", _text("checkpoint", self.checkpoint))
        object.__setattr__(self, "data", _complete_data(self.data))
        object.__setattr__(self, "method", _complete_method(self.method))
        if not isinstance(self.protocol, Protocol):
            raise SettingError(f"protocol must be a Protocol(...), got {self.protocol!r}")
        if self.dtype not in DTYPES:
            raise unknown_name("dtype", self.dtype, DTYPES)
        _check_device(self.device)
        check_whole_number("seed", self.seed, 0)
        check_whole_number("threads", self.threads, 1)

    @cached_property
    def id(self) -> str:
        """The hash of the whole spec: the name of its record."""
        return stable_id(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Write the spec as plain data, with the version of its format."""
        return {"version": VERSION, **dataclasses.asdict(self), "protocol": self.protocol.to_dict()}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> "RunSpec":
        """Make a spec from plain data; what is left out has its default, and a method may be short text."""
        names = [each.name for each in dataclasses.fields(RunSpec)]
        # First the version: a newer one may well have fields that are not known here.
        _check_version(data)
        check_fields("run", data, ["version", *names])
        for name in ("model", "data", "method"):
            if name not in data:
                raise SettingError(f"a run needs a {name}; got only {', '.join(data) or 'nothing'}")
        given = {name: data[name] for name in names if name in data}
        given["protocol"] = Protocol.from_dict(data.get("protocol", {}))
        if isinstance(data["method"], str):
            given["method"] = method_from_text(data["method"]).to_dict()
        return RunSpec(**given)


def _check_version(data: Mapping[str, Any]) -> None:
    version = data.get("version", VERSION) if isinstance(data, Mapping) else VERSION
    if version != VERSION:
        raise SettingError(
            f"the run has version {version!r} of the format, this mixnorm knows {VERSION}; "
            "use the mixnorm that wrote it, or a later one"
        )


def _text(name: str, value: object) -> str:
    text = plain(name, value)
    if not isinstance(text, str):
        raise SettingError(f"{name} must be a name or a path, got {value!r}")
    return text


def _complete_data(data: Mapping[str, Any]) -> dict[str, Any]:
    parameters = dict(inspect.signature(load_stream).parameters)
    del parameters["order"]
    if isinstance(data, Mapping) and "order" in data:
        raise SettingError(f"data names the order {data['order']!r}; the order belongs to the protocol")
    check_fields("data table", data, parameters)
    if "name" not in data:
        raise SettingError(f"data needs a name, that of a data set or its path; got {dict(data)}")
    defaults = {name: parameter.default for name, parameter in parameters.items() if name != "name"}
    completed: dict[str, Any] = plain("data", {"name": data["name"], **defaults, **data})
    # What no data set can give is refused here, before the first of many runs fails on it.
    if completed["limit"] is not None:
        check_whole_number("limit", completed["limit"], 1)
    if completed["severity"] not in SEVERITIES:
        raise SettingError(f"severity={completed['severity']!r} is not one of {', '.join(map(str, SEVERITIES))}")
    return completed


def _complete_method(method: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(method, Mapping):
        raise SettingError(f"method must be plain data, such as mixnorm.MixNorm().to_dict(), got {method!r}")
    completed: dict[str, Any] = plain("method", Method.from_dict(method).to_dict())
    return completed


def _check_device(device: str) -> None:
    try:
        torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise SettingError(f"device must be one that torch knows, such as 'cpu' or 'cuda:0', got {device!r}") from error
