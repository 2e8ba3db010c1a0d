"""What a search has proved when it is cut short, kept on disk for the next time.

A record goes by a fingerprint of all the numbers that it is about: the world, the weights, what is
seen, shown and taught, and how closely learners match. So two problems are never mixed up, and what
changes nothing of that, such as a budget or a comment in a file, loses nothing.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from ... import __version__
from ...arrays import Floats
from ...errors import InvalidInputError
from ...files import made_folder, replacing
from ...mdp import clock
from ...mdp.documents import digest
from ...teaching.teacher import Choice, Situation, Teacher
from ..problem import Problem
from .patience import Cut

# Seconds between two times that it is written while a search goes on, and after which what nobody
# has gone on from is removed.
BETWEEN, FORGOTTEN = 10.0, 90 * 24 * 3600.0
# Raised when a record means something else than it did.
FORMAT = 1
UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, KeyError, TypeError)


class Recorded(Protocol):
    """Who knows more and more, and can be told what it knew before."""

    @property
    def fingerprint(self) -> str:
        """Of all that its knowledge is about."""

    def record(self) -> dict[str, Floats]:
        """What it knows, as arrays by name."""

    def resume(self, record: dict[str, Floats]) -> None:
        """Know what such a record says."""


class Kept:
    """Records in a folder, each until the search that it is of has come to its end.

    Parameters
    ----------
    folder : Path, made if something is to be kept; None to keep nothing
    resume : whether to go on from what is there

    Attributes
    ----------
    resumed : int, how many records were gone on from
    trouble : list of str, what could not be read or written
    """

    def __init__(self, folder: Path | None = None, *, resume: bool = False) -> None:
        self.folder, self.going_on = folder, resume
        self.resumed, self.trouble = 0, list[str]()
        self._followed: list[tuple[Path, Recorded]] = []
        self._latest = clock.seconds()

    @classmethod
    def of_user(cls, *, resume: bool) -> Kept:
        """Where TEACHIRL_CACHE says, or where programs keep what they can do without."""
        caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = os.environ.get("TEACHIRL_CACHE") or Path(caches) / "teachirl"
        return cls(Path(folder), resume=resume)

    def follow(self, each: Recorded) -> None:
        """Keep what it knows from now on; first tell it what was kept, if that is asked for."""
        if self.folder is None:
            return
        path = self.folder / f"{each.fingerprint}.npz"
        if self.going_on and path.exists():
            try:
                each.resume(_read(path))
                self.resumed += 1
            except UNREADABLE as error:
                self.trouble.append(f"{path} cannot be read, and is left aside: {error}")
        self._followed.append((path, each))

    def now_and_then(self) -> None:
        """Write, if that was long ago: a process may be killed at any time."""
        if clock.seconds() > self._latest + BETWEEN:
            self._write()

    def end(self, cut: Cut | None) -> None:
        """Keep what is known if a search was cut short; else nobody needs it any more."""
        if cut is not None:
            self._write()
            return
        for path, _ in self._followed:
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def _write(self) -> None:
        self._latest = clock.seconds()
        try:
            for path, each in self._followed:
                made_folder(path.parent)
                with replacing(path) as file:
                    _save(file, each.record() | {"version": _version()})
            if self.folder is not None and self.folder.is_dir():
                _forget(self.folder)
        except (OSError, InvalidInputError) as error:
            if not self.trouble:
                self.trouble.append(f"what is proved cannot be kept: {error}")


def _save(file: IO[bytes], arrays: dict[str, Any]) -> None:
    np.savez_compressed(file, **arrays)


def _version() -> Floats:
    return np.array([FORMAT, *(float(part) for part in __version__.split(".")[:2])])


def _read(path: Path) -> dict[str, Floats]:
    """The arrays of a record of this version, all of them finite."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: np.array(file[name], dtype=float) for name in file.files}
    if not np.array_equal(arrays.pop("version"), _version()):
        raise ValueError("it is of another version")
    if not all(np.isfinite(each).all() for each in arrays.values()):
        raise ValueError("it has numbers that are not finite")
    return arrays


def _forget(folder: Path) -> None:
    """Remove what was written long ago."""
    newest = max((each.stat().st_mtime for each in folder.glob("*.npz")), default=0.0)
    for each in folder.glob("*.npz"):
        if each.stat().st_mtime < newest - FORGOTTEN:
            each.unlink(missing_ok=True)


class Proof:
    """The multipliers that prove what is guaranteed as things stand: a search goes on from them.

    Parameters
    ----------
    problem : Problem
    mismatch : ε, how closely learners match

    Attributes
    ----------
    theta : array [ℓ]; None as long as nothing is known
    """

    def __init__(self, problem: Problem, mismatch: float) -> None:
        self.problem, self.mismatch = problem, mismatch
        self.theta: Floats | None = None

    @property
    def fingerprint(self) -> str:
        """Of what is seen and shown."""
        task = self.problem.task
        shown = task.demonstration.expectations
        about = [task.weights, task.worldview.matrix, shown, [self.mismatch]]
        return digest(task.model, about)

    def record(self) -> dict[str, Floats]:
        """The multipliers."""
        return {"theta": np.empty(0) if self.theta is None else self.theta}

    def resume(self, record: dict[str, Floats]) -> None:
        """Know what was proved before."""
        if record["theta"].shape == (self.problem.worldview.n_rows,):
            self.theta = record["theta"]


class Remembering:
    """A teacher who chooses as another does, and knows what that one chose before.

    Choices that leave something to chance, or come with a demonstration, are made anew.

    Parameters
    ----------
    teacher : Teacher
    problem : Problem, whose features are taught
    """

    def __init__(self, teacher: Teacher, problem: Problem) -> None:
        self.teacher, self.problem = teacher, problem
        # What was chosen, and what was second if that is known, else −1.
        self._known: dict[int, tuple[int, int]] = {}

    @property
    def fingerprint(self) -> str:
        """Of the file and of all that it names."""
        problem = self.problem
        said = repr((problem.source, problem.options, problem.files, repr(self.teacher)))
        return digest(problem.model, [np.frombuffer(said.encode(), dtype=np.uint8)])

    def record(self) -> dict[str, Floats]:
        """What was chosen, by where."""
        return {
            "places": np.array(list(self._known), dtype=float),
            "chosen": np.array(list(self._known.values()), dtype=float).reshape(-1, 2),
        }

    def resume(self, record: dict[str, Floats]) -> None:
        """Know what was chosen before."""
        places, chosen = (record[name].astype(int).tolist() for name in ("places", "chosen"))
        self._known |= {place: (a, b) for place, (a, b) in zip(places, chosen, strict=True)}

    def choose(self, situation: Situation, rng: np.random.Generator) -> Choice:
        """What the other teacher chooses, or chose.

        Parameters
        ----------
        situation : Situation
        rng : numpy.random.Generator

        Returns
        -------
        Choice
        """
        place = _place(situation)
        known, second = self._known.get(place, (-1, -1))
        if known in situation.candidates:
            scores = np.full(len(situation.task.teachable), np.nan)
            return Choice(known, scores, second=second if second >= 0 else None)
        before = repr(rng.bit_generator.state)
        choice = self.teacher.choose(situation, rng)
        sure = choice.demonstration is None and repr(rng.bit_generator.state) == before
        if sure and isinstance(choice, Choice) and choice.feature is not None:
            second = -1 if choice.second is None else int(choice.second)
            self._known[place] = int(choice.feature), second
        return choice


def _place(situation: Situation) -> int:
    """A number for what there is to choose from, small enough for a float to hold it."""
    made = hashlib.sha256(repr((situation.taught, situation.candidates.tolist())).encode())
    made.update(np.ascontiguousarray(situation.task.weights).tobytes())
    return int.from_bytes(made.digest()[:6], "big")


__all__ = ["Kept", "Proof", "Recorded", "Remembering"]
