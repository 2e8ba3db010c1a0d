"""Plans that a teacher leads through, and the leanest of them: no dearer than it need be.

A teacher takes one feature after another, and what came first may turn out not to be needed, or
what was second best may turn out to be enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...demonstrations.demonstration import Demonstration
from ...precision import ROUNDED
from ...teaching.goal import Promise
from ...teaching.needed import as_good, needed
from ...teaching.rounds import Moment
from ..problem import Problem
from .worth import worth_of


class Way(NamedTuple):
    """Features that could be taught, what is shown from each on, and what that guarantees in the
    end."""

    taught: tuple[int, ...]
    shown: tuple[Demonstration, ...]
    promise: Promise

    @classmethod
    def through(cls, moments: list[Moment]) -> Way:
        """The way of a lesson up to its last round."""
        last = moments[-1]
        assert last.promise is not None
        return cls(last.taught, tuple(each.demonstration for each in moments[1:]), last.promise)

    def cost(self, problem: Problem) -> float:
        """What its features cost."""
        return float(problem.task.costs[list(self.taught)].sum())

    def without(self, dropped: set[int]) -> Way:
        """The same without some of its features; what is shown in the end stays."""
        left = [i for i, each in enumerate(self.taught) if each not in dropped]
        shown = [self.shown[i] for i in left]
        return self._replace(
            taught=tuple(self.taught[i] for i in left),
            shown=(*shown[:-1], *self.shown[-1:]) if left else (),
        )


def leaner(problem: Problem, whole: Way, others: Iterable[Way]) -> Way | None:
    """Of a way and others that are as good, the cheapest, without what it does not need.

    Parameters
    ----------
    problem : Problem
    whole : Way, that of the teacher
    others : Way, those that were second best somewhere

    Returns
    -------
    Way, its promise that from which features were dropped; None if it is the teacher's
    """
    goals, room = problem.aims, worth_of(problem)
    ways = [whole, *(each for each in others if as_good(goals, each.promise, whole.promise, room))]
    costs = [each.cost(problem) for each in ways]
    best = ways[costs.index(min(costs))] if min(costs) < costs[0] * (1.0 - ROUNDED) else whole
    if not best.taught:
        return None
    kept = needed(goals, best.taught, best.shown[-1], problem.matching, room=room)
    if not kept and best.shown[-1] is not problem.task.demonstration:
        kept = best.taught[-1:]  # with which another demonstration comes
    if kept == whole.taught:
        return None
    return best.without(set(best.taught) - set(kept))


__all__ = ["Way", "leaner"]
