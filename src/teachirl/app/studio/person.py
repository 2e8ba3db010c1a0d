"""A participant's way through a lesson: every move is an event, and events alone say where one is.

    consent → instructions → (new →) watch → act … → new → watch → act … → end

A move is acknowledged once the ledger has kept it. A move that is sent again, as nobody knows
whether it arrived, is answered as it was the first time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...demonstrations.row_errors import mean_at_least
from ...errors import InvalidInputError, require
from .course import Block, Course
from .ledger import Ledger, Participant
from .study import Condition, markup

CONFIDENCE = 0.95  # of the interval at the end, episodes being taken as independent
LONGEST = 3_600_000  # milliseconds that a step may say it took


class Person:
    """One participant, from the first page to the last.

    Parameters
    ----------
    course : Course
    ledger : Ledger
    participant : Participant
    condition : Condition
    order : the features that are taught
    blocks : Block, one more than the study teaches features
    """

    def __init__(
        self,
        course: Course,
        ledger: Ledger,
        participant: Participant,
        condition: Condition,
        order: tuple[int, ...],
        blocks: list[Block],
    ) -> None:
        self.course, self.ledger, self.participant = course, ledger, participant
        self.condition, self.order, self.blocks = condition, order, blocks
        self.stage, self.block, self.episode, self.step = "consent", 0, 0, 0
        self.state, self.pairs = -1, list[int]()
        self.places = 0
        self.done: list[list[tuple[list[int], bool]]] = [[] for _ in blocks]

    @property
    def at(self) -> list[Any]:
        """Where one is: a move must say the same."""
        return [self.stage, self.block, self.episode, self.step]

    def replay(self, kind: str, body: dict[str, Any]) -> None:
        """Go where an event of the ledger led."""
        self.places += 1
        if kind == "next":
            self._next()
        elif kind == "step":
            self._moved(int(body["pair"]), int(body["to"]))

    def next(self, at: list[Any]) -> dict[str, Any]:
        """Go on from a page that is read or watched."""
        if at == self.at:
            require(self.stage not in ("act", "end"), "there is nothing to go on to")
            self._keep("next", {"at": at})
            self._next()
        return self.now()

    def act(self, at: list[Any], action: int, milliseconds: float) -> dict[str, Any]:
        """Do something; the world answers."""
        if at == self.at and self.stage == "act":
            pair = self._pair(action)
            to = self._outcome(pair)
            taken = float(min(max(milliseconds, 0), LONGEST))
            state, course = self.state, self.course
            body: dict[str, Any] = {
                "block": self.block,
                "episode": self.episode,
                "step": self.step,
                "state": state,
                "action": action,
                "pair": pair,
                "to": to,
                "took": taken,
            }
            ends = bool(course.over[to]) or self.step + 1 >= course.study.steps
            if ends:
                body["trial"] = self._trial([*self.pairs, pair], bool(course.over[to]))
            self._keep("step", body)
            self._moved(pair, to)
        else:
            sent_again = at[0] == "act" and at[1:] < self.at[1:]
            require(sent_again or at == self.at, "this page is not where the lesson is: reload it")
        return self.now()

    def now(self) -> dict[str, Any]:
        """All that the page needs to know, and nothing else."""
        course, block = self.course, self.blocks[self.block]
        found: dict[str, Any] = {
            "at": self.at,
            "stage": self.stage,
            "of": [len(self.blocks), course.study.episodes, course.study.steps],
        }
        if self.stage in ("consent", "instructions"):
            text = course.study.consent if self.stage == "consent" else course.study.instructions
            return {**found, "text": markup(text)}
        found["features"] = list(block.view.names or ())
        if self.stage == "new":
            row = block.view.n_rows - 1
            return {**found, "name": found["features"][row], "cells": course.holds(block.view, row)}
        if self.stage == "watch":
            return {**found, "shown": course.shown(block)}
        if self.stage == "act":
            last = self.pairs[-1] if self.pairs else None
            return {**found, **course.look(block.view, self.state, last)}
        return {**found, **self._account()}

    def _next(self) -> None:
        if self.stage == "consent":
            self.stage = "instructions"
        elif self.stage in ("instructions", "new"):
            self.stage = "watch"
        else:
            self.stage, self.episode = "act", 0
            self._begin()

    def _begin(self) -> None:
        self.step, self.pairs = 0, []
        start = np.flatnonzero(self.course.mdp.start)
        chances = np.cumsum(self.course.mdp.start[start])
        place = np.searchsorted(chances, self._dice(0).random() * chances[-1], side="right")
        self.state = int(start[min(int(place), len(start) - 1)])

    def _dice(self, step: int) -> np.random.Generator:
        """Chance belongs to the moment: whoever asks again gets the same."""
        seed = self.course.study.seed
        return np.random.default_rng(
            [seed, 4, self.participant.number, self.block, self.episode, step]
        )

    def _pair(self, action: int) -> int:
        dynamics = self.course.mdp.dynamics
        own = slice(dynamics.offsets[self.state], dynamics.offsets[self.state + 1])
        there = np.flatnonzero(dynamics.actions[own] == action)
        if len(there) == 0:
            raise InvalidInputError("this cannot be done here")
        return int(dynamics.offsets[self.state] + there[0])

    def _outcome(self, pair: int) -> int:
        rows = self.course.mdp.dynamics.transitions
        own = slice(rows.indptr[pair], rows.indptr[pair + 1])
        chances = np.cumsum(rows.data[own])
        place = np.searchsorted(chances, self._dice(1 + self.step).random() * chances[-1], "right")
        return int(rows.indices[own][min(int(place), len(chances) - 1)])

    def _moved(self, pair: int, to: int) -> None:
        self.pairs.append(pair)
        self.state, self.step = to, self.step + 1
        over = bool(self.course.over[to])
        if not over and self.step < self.course.study.steps:
            return
        self.done[self.block].append((self.pairs, over))
        self.episode += 1
        if self.episode < self.course.study.episodes:
            self._begin()
            return
        self.step = 0
        if self.block + 1 == len(self.blocks):
            self.stage = "end"
            return
        taught = self.block < len(self.order)
        self.block, self.episode = self.block + 1, 0
        self.stage = "new" if taught else "watch"

    def _trial(self, pairs: list[int], over: bool) -> dict[str, Any]:
        """What an episode came to, for the experimenter."""
        course, block = self.course, self.blocks[self.block]
        collected = course.collected(pairs)
        earned = float(course.problem.weights @ collected)
        off = block.view.matrix @ collected - block.target
        return {
            "return": earned,
            "performance": course.performance(earned),
            "mismatch": float(np.linalg.norm(off)),
            "terminated": over,
            "taught": min(self.block, len(self.order)),
            "guaranteed": block.guaranteed,
        }

    def _account(self) -> dict[str, Any]:
        """How it went in the last block, in shares of what can be done."""
        course, block = self.course, self.blocks[-1]
        each = np.array([course.collected(pairs) for pairs, _ in self.done[-1]])
        earned = each @ course.problem.weights
        least, most = course.earnable
        side = 0.5 * (1.0 - CONFIDENCE)
        low = mean_at_least(earned, least, most, side)
        high = -mean_at_least(-earned, -most, -least, side)
        return {
            "mean": course.performance(float(earned.mean())),
            "low": min(max(course.performance(low), 0.0), 1.0),
            "high": min(max(course.performance(high), 0.0), 1.0),
            "confidence": CONFIDENCE,
            "mismatch": float(np.linalg.norm(block.view.matrix @ each.mean(axis=0) - block.target)),
            "off": block.off,
            "guaranteed": block.guaranteed,
            "simulated": block.simulated,
        }

    def _keep(self, kind: str, body: dict[str, Any]) -> None:
        self.ledger.add(self.participant.number, self.places, kind, body)
        self.places += 1


__all__ = ["Person"]
