"""What is to be done, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...errors import TeachirlError
from ..provenance import package_versions

COMPILING = b"compiling"  # what a worker says of itself when that takes long


class EngineError(TeachirlError, RuntimeError):
    """There is nobody left to do the work; what was done is kept."""


@dataclass(frozen=True)
class Job:
    """A unit of work.

    Attributes
    ----------
    name : for messages
    text : what `teachirl.study.experiments.experiment.perform` takes
    """

    name: str
    text: str


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a job gave.

    Attributes
    ----------
    values, seconds : as in `Result`
    worker : host and process that did it
    elapsed : seconds of processor time it took
    """

    values: dict[str, Any]
    seconds: dict[str, Any]
    worker: str
    elapsed: float


@dataclass(frozen=True)
class Failure:
    """A job that failed, why in one line, and the traceback if there is one."""

    job: Job
    reason: str
    traceback: str = ""

    def __str__(self) -> str:
        return f"{self.job.name}: {self.reason}"


@dataclass
class Ledger:
    """Takes what workers say and tells the caller."""

    on_done: Callable[[Job, Outcome], None]
    on_failed: Callable[[Failure], None]
    failures: list[Failure] = field(default_factory=list)
    packages: dict[str, str] = field(default_factory=lambda: package_versions())

    def take(self, job: Job, message: str | bytes) -> None:
        """`message` is what `teachirl.study.engine.worker.attempt` returned."""
        said = json.loads(message)
        for name, version in said["packages"].items():
            if version != self.packages.get(name):
                raise EngineError(
                    f"worker {said['worker']} has {name} {version}, but this is "
                    f"{self.packages.get(name)}; install the same version there"
                )
        if "error" in said:
            self.fail(job, said["error"], said["traceback"])
        else:
            outcome = Outcome(said["values"], said["seconds"], said["worker"], said["elapsed"])
            self.on_done(job, outcome)

    def fail(self, job: Job, reason: str, traceback: str = "") -> None:
        failure = Failure(job, reason, traceback)
        self.failures.append(failure)
        self.on_failed(failure)
