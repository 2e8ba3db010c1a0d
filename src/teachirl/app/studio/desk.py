"""The desk's server: what its page may ask for."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response, StreamingResponse

from ...errors import InvalidInputError, TeachirlError, require
from ...files import replacing
from ..problem.files import Folder
from .choice import Choice
from .doors import Doors
from .kept import Kept
from .pages import page, static
from .processes import Job, Thinker
from .security import Guard, Guarded, cookie_of, read_json, refuse
from .toml import with_choice

KINDS = ("frontier", "plan", "report", "probe")
# Pieces of long work at the same time, and finished ones that are remembered.
AT_ONCE, REMEMBERED = 4, 50
PROBE = re.compile(r"probe-\d{1,4}\.json")


@dataclass
class Studio:
    """What the desk's server has.

    Attributes
    ----------
    problems : files by name
    kept : Kept, results of long work
    thinker : Thinker
    doors : Doors, to the lessons that were opened
    jobs : Job by number
    """

    problems: dict[str, Path]
    kept: Kept
    thinker: Thinker
    doors: Doors
    jobs: dict[str, Job] = field(default_factory=dict)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def path(self, problem: str) -> Path:
        """The file of a problem."""
        require(problem in self.problems, f"there is no problem {problem!r} here")
        return self.problems[problem]

    async def describe(self, problem: str) -> dict[str, Any]:
        """The problem, as the thinker sees it."""
        self.path(problem)
        async with aclosing(self.thinker.ask("describe", problem, {})) as events:
            async for event in events:
                if event["event"] == "problem":
                    return dict(event["problem"])
                if event["event"] == "error":
                    raise InvalidInputError(event["error"])
        raise InvalidInputError("the process that computes has ended")

    async def start(self, kind: str, problem: str, choice: Choice) -> Job:
        """Begin a piece of work, or find the one that does it, or its result."""
        require(kind in KINDS, f"there is no work {kind!r}")
        path = self.path(problem)
        if kind == "frontier":  # which is about all sets
            choice = Choice(choice.sees, (), choice.mismatch, choice.show)
        about = {"problem": (await self.describe(problem))["digest"], "choice": choice.plain()}
        for job in self.jobs.values():
            if _about(job) == (kind, about) and job.status == "running":
                return job
        job = Job(secrets.token_hex(8), kind, problem, choice.plain(), about["problem"])
        found = None if kind == "probe" else self.kept.get(kind, about)
        if found is not None:
            job.status, job.result, job.share = "done", found, 1.0
        else:
            running = sum(each.status == "running" for each in self.jobs.values())
            require(running < AT_ONCE, f"{AT_ONCE} pieces of work are under way: cancel one first")
        self.jobs[job.number] = job
        for number in [each for each in self.jobs if self.jobs[each].status != "running"]:
            if len(self.jobs) > REMEMBERED:
                del self.jobs[number]
        if found is None:
            task = asyncio.create_task(self._follow(job, path, about))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        return job

    async def _follow(self, job: Job, path: Path, about: dict[str, Any]) -> None:
        began = time.monotonic()

        def keep(result: dict[str, Any]) -> None:
            if job.kind != "probe":
                self.kept.add(job.kind, about, result, time.monotonic() - began)

        await job.run(path, keep)

    async def close(self) -> None:
        """End all work."""
        for job in self.jobs.values():
            await job.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.doors.close()
        await self.thinker.close()
        self.kept.close()


def desk_app(
    problems: dict[str, Path], out: Path, guard: Guard, host: str = "127.0.0.1"
) -> Guarded:
    """The application of the desk.

    Parameters
    ----------
    problems : files by name; the only one is opened at once, of several a gallery is shown
    out : folder of the results store
    guard : Guard
    host : the address of the desk, and of lessons that it opens

    Returns
    -------
    Guarded, an ASGI application
    """
    studio = Studio(problems, Kept(out), Thinker(problems), Doors(out, host))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await studio.close()

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_exception_handler(TeachirlError, _told)
    _add_pages(app, guard)
    _add_answers(app, studio)
    _add_work(app, studio)
    _add_files(app, studio)
    return Guarded(app, guard)


def _about(job: Job) -> tuple[str, dict[str, Any]]:
    """What a piece of work is about: not the name of a problem, but what it was."""
    return job.kind, {"problem": job.digest, "choice": job.choice}


async def _told(_: Request, error: Exception) -> Response:
    return refuse(400, str(error))


def _add_pages(app: FastAPI, guard: Guard) -> None:
    @app.get("/")
    async def desk(request: Request) -> Response:
        answer, name = page("desk.html", guard.token), cookie_of(request.headers["host"])
        answer.set_cookie(name, guard.token, httponly=True, samesite="strict")
        return answer

    @app.get("/static/{name}")
    async def asset(name: str) -> Response:
        return static(name)


def _add_answers(app: FastAPI, studio: Studio) -> None:
    @app.get("/api/problems")
    async def problems() -> dict[str, Any]:
        return {"problems": [{"name": name} for name in studio.problems]}

    @app.get("/api/problem/{name}")
    async def problem(name: str) -> dict[str, Any]:
        return await studio.describe(name)

    @app.get("/api/answer/{name}")
    async def answer(name: str, choice: str) -> Response:
        chosen = Choice.of(read_json(choice))
        studio.path(name)
        return _stream(studio.thinker.ask("answer", name, chosen.plain()))


def _add_work(app: FastAPI, studio: Studio) -> None:
    @app.post("/api/work/{name}/{kind}")
    async def begin(name: str, kind: str, request: Request) -> dict[str, Any]:
        chosen = Choice.of(read_json(await request.body()))
        return (await studio.start(kind, name, chosen)).plain()

    @app.post("/api/lesson/{name}")
    async def door(name: str, request: Request) -> dict[str, str]:
        chosen, path = Choice.of(read_json(await request.body())), studio.path(name)
        return {"link": await studio.doors.opened(name, path, chosen)}

    @app.get("/api/kept/{name}/{kind}")
    async def kept(name: str, kind: str, choice: str) -> dict[str, Any]:
        """What is there already of a piece of work; nothing is begun."""
        require(kind in KINDS, f"there is no work {kind!r}")
        chosen = Choice.of(read_json(choice))
        if kind == "frontier":
            chosen = Choice(chosen.sees, (), chosen.mismatch, chosen.show)
        about = {"problem": (await studio.describe(name))["digest"], "choice": chosen.plain()}
        for job in reversed(studio.jobs.values()):
            if _about(job) == (kind, about):
                return {"work": job.plain()}
        there = studio.kept.get(kind, about) is not None
        return {"work": (await studio.start(kind, name, chosen)).plain() if there else None}

    @app.get("/api/work/{number}")
    async def follow(number: str) -> Response:
        return _stream(_following(_job(studio, number)))

    @app.delete("/api/work/{number}")
    async def cancel(number: str) -> dict[str, Any]:
        job = _job(studio, number)
        await job.cancel()
        return job.plain()


def _add_files(app: FastAPI, studio: Studio) -> None:
    @app.get("/api/file/{name}/problem.toml")
    async def chosen(name: str, choice: str) -> Response:
        text = with_choice(studio.path(name), Choice.of(read_json(choice)))
        return _download(text, f"{name}-chosen.toml", "application/toml")

    @app.get("/api/file/work/{number}")
    async def result(number: str) -> Response:
        job = _job(studio, number)
        require(job.result is not None, "this work has no result")
        assert job.result is not None
        if job.kind == "report":
            return _download(job.result["html"], f"{job.problem}-report.html", "text/html")
        text = json.dumps({"version": 2, job.kind: job.result}, indent=2, allow_nan=False)
        return _download(text, f"{job.problem}-{job.kind}.json", "application/json")

    @app.get("/api/file/probe/{name}/{probe}")
    async def probe(name: str, probe: str) -> Response:
        require(PROBE.fullmatch(probe) is not None, "a probe is called like probe-1.json")
        folder = Folder(studio.path(name).parent, allow_outside=False)
        table = folder.file(f"{probe.removesuffix('.json')}.csv")
        return _download(table.read_text(encoding="utf-8"), table.name, "text/csv")

    @app.post("/api/upload/{name}/{probe}")
    async def answered(name: str, probe: str, request: Request) -> dict[str, Any]:
        """What an unknown learner made of a probe: its policy (CSV) or episodes (JSON lines)."""
        require(PROBE.fullmatch(probe) is not None, "a probe is called like probe-1.json")
        path = studio.path(name).with_name(probe)
        require(path.is_file(), f"there is no {probe}")
        body = await request.body()
        suffix = ".jsonl" if body.lstrip()[:1] == b"{" else ".csv"
        answer = path.with_name(f"{path.stem}-answer{suffix}")
        require(not answer.exists(), f"{probe} was answered already")
        with replacing(answer) as file:
            file.write(body)
        try:
            return await studio.describe(name)
        except TeachirlError:
            answer.unlink()
            raise


def _job(studio: Studio, number: str) -> Job:
    require(number in studio.jobs, "there is no such work")
    return studio.jobs[number]


async def _following(job: Job) -> AsyncGenerator[dict[str, Any], None]:
    while True:
        changed = job.changed
        yield job.plain()
        if job.status != "running":
            return
        await changed.wait()


def _stream(events: AsyncGenerator[Any, None]) -> StreamingResponse:
    """Server-sent events."""

    async def lines() -> AsyncIterator[str]:
        async with aclosing(events) as each:
            async for event in each:
                yield f"data: {json.dumps(event, allow_nan=False)}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


def _download(text: str, name: str, kind: str) -> Response:
    plain = re.sub(r"[^\w.-]", "-", name, flags=re.ASCII)
    disposition = {"Content-Disposition": f'attachment; filename="{plain}"'}
    return Response(text, media_type=kind, headers=disposition)


__all__ = ["desk_app"]
