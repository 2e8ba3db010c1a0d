"""The other processes, as the server sees them: who is asked, and what comes back."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

LINE = 64 << 20  # bytes of the longest line: a report
AGAIN = 2  # times that a question is put to a new process, where the old one has died


async def started(module: str, *arguments: str, stderr: int | None = None) -> Process:
    """A process that runs a module of this package."""
    name = f"{__package__}.{module}"
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", name, *arguments, stdin=PIPE, stdout=PIPE, stderr=stderr, limit=LINE
    )


def say(process: Process, message: dict[str, Any]) -> None:
    """A line of JSON to a process."""
    assert process.stdin is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")


async def ended(process: Process) -> None:
    """End a process, if it has not ended by itself."""
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()


class Thinker:
    """The process that answers at once; where it dies, another takes its place.

    Parameters
    ----------
    problems : files by name
    """

    def __init__(self, problems: dict[str, Path]) -> None:
        self.problems = problems
        self.process: Process | None = None
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Queue[dict[str, Any] | None]] = {}
        self._reader: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()

    async def ask(
        self, ask: str, problem: str, choice: dict[str, Any]
    ) -> AsyncGenerator[Any, None]:
        """The events that answer a question, up to ``done`` or ``error``.

        To close the iterator is to say that nobody wants to know any more.
        """
        for attempt in range(AGAIN):
            process = await self._running()
            number, queue = next(self._numbers), asyncio.Queue[dict[str, Any] | None]()
            self._waiting[number] = queue
            finished = False
            try:
                say(process, {"id": number, "ask": ask, "problem": problem, "choice": choice})
                while (event := await queue.get()) is not None:
                    del event["id"]
                    finished = event["event"] in ("done", "error")
                    yield event
                    if finished:
                        return
            finally:
                self._waiting.pop(number, None)
                if not finished and process.returncode is None:
                    say(process, {"cancel": number})
            if attempt + 1 < AGAIN:
                yield {"event": "again"}
        yield {"event": "error", "error": "the process that computes has ended twice"}

    async def close(self) -> None:
        """End the process."""
        if self.process is not None:
            await ended(self.process)
        if self._reader is not None:
            await self._reader

    async def _running(self) -> Process:
        async with self._starting:
            if self.process is None or self.process.returncode is not None:
                names = {name: str(path) for name, path in self.problems.items()}
                self.process = await started("thinker", json.dumps(names))
                self._reader = asyncio.create_task(self._read(self.process))
            return self.process

    async def _read(self, process: Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            event = json.loads(line)
            queue = self._waiting.get(event["id"])
            if queue is not None:
                queue.put_nowait(event)
        await process.wait()
        for queue in self._waiting.values():
            queue.put_nowait(None)


class Job:
    """A piece of long work in a process of its own.

    Parameters
    ----------
    number : by which the page knows it
    kind, problem, choice : what it is
    digest : of the problem as it was, since its file may be edited

    Attributes
    ----------
    status : ``running``, ``done``, ``failed`` or ``cancelled``
    share, left : how far it is, and seconds that are left, if known
    result, error : what came of it
    """

    def __init__(
        self, number: str, kind: str, problem: str, choice: dict[str, Any], digest: str = ""
    ) -> None:
        self.number, self.kind, self.problem, self.choice = number, kind, problem, choice
        self.digest = digest
        self.status, self.share, self.left = "running", 0.0, None
        self.result: dict[str, Any] | None = None
        self.error = ""
        self.process: Process | None = None
        self.changed = asyncio.Event()

    def plain(self) -> dict[str, Any]:
        """What the page is told; of a report, only that it is there."""
        result = self.result if self.kind != "report" else None
        return {
            "id": self.number,
            "kind": self.kind,
            "status": self.status,
            "share": self.share,
            "left": self.left,
            "result": result,
            "error": self.error,
        }

    def tell(self) -> None:
        """Wake those who look on."""
        self.changed.set()
        self.changed = asyncio.Event()

    async def run(self, path: Path, keep: Callable[[dict[str, Any]], None]) -> None:
        """Do the work; whatever happens, it ends with a status.

        Parameters
        ----------
        path : the problem file
        keep : is given the result, before anybody is told that there is one
        """
        self.process = await started("work")
        try:
            if self.status != "running":  # cancelled before there was a process to end
                return
            say(self.process, {"kind": self.kind, "path": str(path), "choice": self.choice})
            assert self.process.stdout is not None
            async for line in self.process.stdout:
                self._heard(json.loads(line), keep)
                self.tell()
            await self.process.wait()
            if self.status == "running":
                self.status, self.error = "failed", "the process that computed it has ended"
        finally:
            await ended(self.process)
            self.tell()

    def _heard(self, event: dict[str, Any], keep: Callable[[dict[str, Any]], None]) -> None:
        if event["event"] == "progress":
            self.share, self.left = max(self.share, event["share"]), event["left"]
        elif event["event"] == "result" and self.status == "running":
            keep(event["result"])
            self.status, self.result, self.share = "done", event["result"], 1.0
        elif event["event"] == "error":
            self.status, self.error = "failed", event["error"]

    async def cancel(self) -> None:
        """End it before it is done."""
        if self.status == "running":
            self.status = "cancelled"
            if self.process is not None:
                with suppress(ProcessLookupError):
                    self.process.kill()
            self.tell()


__all__ = ["Job", "Thinker", "ended", "started"]
