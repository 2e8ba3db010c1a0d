"""The doors from a desk to lessons: one for each choice, in processes of their own."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
from asyncio.subprocess import PIPE, Process
from pathlib import Path

from ...errors import InvalidInputError
from ...files import made_folder, replacing
from .choice import Choice
from .processes import ended, started
from .security import is_loopback
from .study import MOST_FEATURES
from .toml import setting

OPEN = 4  # lessons at the same time; a further one closes the oldest


class Door:
    """A lesson in a process of its own, and the link to it.

    Parameters
    ----------
    path : the problem file
    choice : Choice; what is taught at the desk is what the lesson teaches
    out : folder of the lesson
    host : address of the desk, at which the lesson is as well
    """

    def __init__(self, path: Path, choice: Choice, out: Path, host: str) -> None:
        self.path, self.choice, self.out, self.host = path, choice, out, host
        self.process: Process | None = None
        self.link = ""
        self._opening = asyncio.Lock()

    async def opened(self) -> str:
        """The link of the lesson's one participant."""
        async with self._opening:
            if self.process is None or self.process.returncode is not None:
                self.process = await started("behind_a_door", *self._arguments(), stderr=PIPE)
                assert self.process.stdout is not None and self.process.stderr is not None
                line = (await self.process.stdout.readline()).decode()
                if not line:
                    said = (await self.process.stderr.read()).decode().strip()
                    raise InvalidInputError(said.removeprefix("teachirl: ") or "it has ended")
                self.link = line.split()[-1]
            return self.link

    async def close(self) -> None:
        """End the lesson; what was done is kept."""
        if self.process is not None:
            await ended(self.process)

    def _arguments(self) -> list[str]:
        found = [str(self.path), "--port", "0", "--out", str(self.out), "--host", self.host]
        if not is_loopback(self.host):
            found += ["--token", secrets.token_urlsafe(24)]
        for change in self.choice.own(required=True):
            found += ["--set", setting(change)]
        if self.choice.taught:
            study = made_folder(self.out) / "study.toml"
            with replacing(study) as file:
                file.write(f"features = {min(len(self.choice.taught), MOST_FEATURES)}\n".encode())
            found += ["--study", str(study)]
        return found


class Doors:
    """All lessons that a desk has opened.

    Parameters
    ----------
    out : folder of their folders
    host : address of the desk
    """

    def __init__(self, out: Path, host: str) -> None:
        self.out, self.host = out, host
        self._doors: dict[str, Door] = {}

    async def opened(self, name: str, path: Path, choice: Choice) -> str:
        """The link to the lesson of a problem with this choice."""
        text = json.dumps(choice.plain(), sort_keys=True)
        plain = choice == Choice()
        mark = "" if plain else f"-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
        folder = f"lesson-{name}{mark}"
        if folder not in self._doors:
            while len(self._doors) >= OPEN:
                await self._doors.pop(next(iter(self._doors))).close()
            self._doors[folder] = Door(path, choice, self.out / folder, self.host)
        return await self._doors[folder].opened()

    async def close(self) -> None:
        """End all lessons."""
        for door in self._doors.values():
            await door.close()


__all__ = ["Door", "Doors"]
