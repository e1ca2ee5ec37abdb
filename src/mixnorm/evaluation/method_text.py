"""Methods as short text, for the command line and for grids."""

import json
from typing import Any

from mixnorm.adaptation import Method
from mixnorm.errors import SettingError, unknown_name


def method_from_text(text: str) -> Method:
    """Make a method from its name, `NAME:PRESET` or `NAME:SETTING=VALUE,...`.

    >>> method_from_text("Source")
    Source()
    >>> method_from_text("MixNorm:m=0.3,tau=0,views=0")
    MixNorm(m=0.3, tau=0, views=0, learn=None)
    >>> method_from_text("MixNorm:cifar10-c/mixed").m
    0.2
    >>> method_from_text("MixNorm:m=0.2,learn.optimizer=sgd,learn.lr=1e-4").learn.lr
    0.0001
    """
    name, _, rest = text.partition(":")
    known = {each.lower(): each for each in Method.registry}
    if name.lower() not in known:
        raise unknown_name("method", name, Method.registry)
    kind = known[name.lower()]
    if rest and "=" not in rest:
        return Method.registry[kind].preset(rest)
    return Method.from_dict({"method": kind, **_settings(text, rest)})


def _settings(text: str, rest: str) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise SettingError(f"{text!r}: {part!r} is not SETTING=VALUE; write for example MixNorm:m=0.2,views=0")
        outer, dot, inner = key.partition(".")
        if dot:
            settings[outer] = {**(settings.get(outer) or {}), inner: _value(value)}
        else:
            settings[outer] = _value(value)
    return settings


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
