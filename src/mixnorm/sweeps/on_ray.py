"""Runs on a Ray cluster. This is the only place that imports ray."""

import os
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from mixnorm.errors import MixNormError, require
from mixnorm.evaluation import Record, RunSpec
from mixnorm.sweeps.worker import ATTEMPTS, died, work


@dataclass(frozen=True, kw_only=True)
class OnRay:
    """Does runs on a Ray cluster: the one at `address`, the one this process is connected to, or a new local one.

    The machines of the cluster need mixnorm, and the data and models under the same paths. A run takes as many
    processors as it has threads, and one GPU if its device is one.
    """

    address: str | None = None

    def run(self, specs: Sequence[RunSpec]) -> Iterator[Record]:
        """Yield the record of each run when it is there."""
        ray = require("ray", "ray")
        connected_before = ray.is_initialized()
        if not connected_before:
            self._connect(ray, specs)
        try:
            yield from _records(ray, specs)
        finally:
            if not connected_before:
                ray.shutdown()

    def _connect(self, ray: ModuleType, specs: Sequence[RunSpec]) -> None:
        if self.address is None:
            # A run with more threads than processors would wait for ever.
            processors = max([os.cpu_count() or 1, *(spec.threads for spec in specs)])
            ray.init(num_cpus=processors, include_dashboard=False, log_to_driver=False)
            return
        try:
            _knock(self.address)
            ray.init(address=self.address, log_to_driver=False)
        except (OSError, ValueError, RuntimeError) as error:
            raise MixNormError(
                f"there is no Ray cluster at {self.address!r}: {error}; start one with: ray start --head"
            ) from error


def _knock(address: str) -> None:
    """Raise unless somebody listens at `host:port`; Ray itself would wait for many minutes."""
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=10).close()


def _records(ray: ModuleType, specs: Sequence[RunSpec]) -> Iterator[Record]:
    task = ray.remote(max_retries=ATTEMPTS - 1)(work)
    pending = {task.options(**_resources(spec)).remote(spec.to_dict()): spec for spec in specs}
    try:
        while pending:
            (reference, *_), _ = ray.wait(list(pending))
            yield Record.from_dict(_answer(ray, reference, pending.pop(reference)))
    finally:
        for reference in pending:
            ray.cancel(reference, force=True)


def _answer(ray: ModuleType, reference: Any, spec: RunSpec) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = ray.get(reference)
    except ray.exceptions.RayError as error:
        return died(spec, f"{type(error).__name__}: {error}")
    return answer


def _resources(spec: RunSpec) -> dict[str, float]:
    return {"num_cpus": spec.threads, "num_gpus": 1 if spec.device.startswith("cuda") else 0}
