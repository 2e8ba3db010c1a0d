"""The lesson's server: a page for each participant, behind a link of its own."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response

from ...errors import InvalidInputError, TeachirlError, require
from ...study.progress import Progress
from ..problem import Problem
from .course import Course
from .describe import digest
from .ledger import Ledger
from .pages import page, static
from .person import Person
from .security import Guard, Guarded, read_json, refuse
from .study import Study

UNKEPT = "This could not be kept. What you did before is not lost; try again."


class Classroom:
    """The participants of a study.

    Parameters
    ----------
    problem : Problem
    study : Study
    out : folder of the ledger
    progress : Progress, to tell of what is prepared
    """

    def __init__(
        self, problem: Problem, study: Study, out: Path, progress: Progress | None = None
    ) -> None:
        require(problem.unknown is None, "a lesson needs a learner of whom is known what it sees")
        self.ledger = Ledger(out)
        self.people: dict[str, Person] = {}
        try:
            self.around = self._gathered(problem, study, progress or Progress())
        except BaseException:
            self.ledger.close()
            raise

    def _gathered(self, problem: Problem, study: Study, progress: Progress) -> dict[str, Any]:
        """The people, each where they left; what surrounds them all."""
        names = [study.condition[i].name for i in study.assigned()]
        text = study.model_dump_json(exclude={"participants"})
        about = hashlib.sha256(f"{digest(problem)} {text}".encode()).hexdigest()
        participants = self.ledger.begin(about, names)
        course = Course(problem, study)
        part = progress.part("lessons", len(participants))
        conditions = {each.name: each for each in study.condition}
        by_number: dict[int, Person] = {}
        for each in participants:
            condition = conditions[each.condition]
            order = course.order(condition, each.number)
            blocks = course.blocks(condition, order, part)
            person = Person(course, self.ledger, each, condition, order, blocks)
            self.people[each.secret] = by_number[each.number] = person
        for number, _, kind, body in self.ledger.events():
            by_number[number].replay(kind, body)
        return course.surroundings()

    def secret_of(self, path: str) -> str | None:
        """The secret in a path, if it is a participant's."""
        parts = path.split("/")
        known = len(parts) > 2 and parts[1] == "p" and parts[2] in self.people
        return parts[2] if known else None

    def links(self) -> list[tuple[str, str]]:
        """The name and the end of the link of each participant."""
        return [(each.participant.name, f"p/{secret}/") for secret, each in self.people.items()]


def lesson_app(room: Classroom, guard: Guard) -> Guarded:
    """The application of a lesson.

    Parameters
    ----------
    room : Classroom
    guard : Guard, which lets a participant in by the link

    Returns
    -------
    Guarded, an ASGI application
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        with suppress(TeachirlError):
            await room.ledger.kept()
        room.ledger.close()

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)

    @app.exception_handler(TeachirlError)
    async def told(_: Request, error: TeachirlError) -> Response:
        if isinstance(error, InvalidInputError):
            return refuse(400, str(error))
        # What is wrong with this machine is for the experimenter, and not for participants.
        print(f"teachirl: {error}", file=sys.stderr, flush=True)
        return refuse(503, UNKEPT)

    async def acknowledged(found: dict[str, Any]) -> Response:
        # Whoever is told where they are can rely on it.
        await room.ledger.kept()
        return JSONResponse(found)

    @app.get("/static/{name}")
    async def asset(name: str) -> Response:
        return static(name)

    @app.get("/p/{secret}/")
    async def lesson(secret: str) -> Response:
        _person(room, secret)
        return page("lesson.html", "participant")

    @app.get("/p/{secret}/now")
    async def now(secret: str) -> Response:
        found = {"around": room.around, **_person(room, secret).now()}
        return await acknowledged(found)

    @app.post("/p/{secret}/next")
    async def go_on(secret: str, request: Request) -> Response:
        said = read_json(await request.body())
        return await acknowledged(_person(room, secret).next(_at(said)))

    @app.post("/p/{secret}/act")
    async def act(secret: str, request: Request) -> Response:
        said = read_json(await request.body())
        action, took = said.get("action"), said.get("took", 0)
        require(type(action) is int, "an action is a number")
        assert isinstance(action, int)
        fine = isinstance(took, (int, float)) and not isinstance(took, bool) and took == took
        require(fine, "a time is a number")
        return await acknowledged(_person(room, secret).act(_at(said), action, took))

    return Guarded(app, guard)


def _person(room: Classroom, secret: str) -> Person:
    require(secret in room.people, "there is no such link")
    return room.people[secret]


def _at(said: dict[str, Any]) -> list[Any]:
    at = said.get("at")
    fine = isinstance(at, list) and [type(each) for each in at] == [str, int, int, int]
    require(fine, "expected where the lesson is: a stage, a block, an episode and a step")
    assert isinstance(at, list)
    return at


__all__ = ["Classroom", "lesson_app"]
