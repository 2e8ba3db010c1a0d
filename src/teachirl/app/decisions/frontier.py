"""What can be guaranteed for how much: the whole curve, so that a budget can be chosen."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, groupby

import numpy as np

from ...mdp import clock
from ...precision import first_largest
from ...study.progress import Progress
from ...teachers import GapGreedy, TRGreedy
from ...teaching.rounds import ROUNDED, Rounds
from ...views.teaching_risk import teaching_risk
from ...views.worldview import Worldview
from ..problem import Problem
from .comparison import SAME_GUARANTEE
from .teaching_plan import ample

# Of so many candidates all sets are tried.
ALL = 8
# A plan ends this close to what the demonstration itself earns, which no guarantee exceeds; and
# features tie whose guarantees differ by less: to tell them apart would take most of the time.
CLOSE = 1e-3
# How long to search, unless told otherwise: as long as one likes to wait for a table.
SECONDS = 60.0


class Search(enum.Enum):
    """How sets of features were found."""

    ALL = enum.auto()
    GREEDY = enum.auto()
    OUT_OF_TIME = enum.auto()

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Point:
    """A set of features that guarantees more than all that were found for no more.

    Attributes
    ----------
    cost : of the whole set
    guaranteed : relative performance that is guaranteed once it is taught
    risk : the teaching risk then
    features : the names of its features; those that are required come first
    """

    cost: float
    guaranteed: float
    risk: float
    features: tuple[str, ...]


@dataclass(frozen=True)
class Frontier:
    """Guaranteed performance against cost.

    Attributes
    ----------
    points : by rising cost and rising guarantee; the first is what must be paid in any case
    search : Search: all sets, so that none is better; what greedy plans lead through; or what was
        tried until the time was up
    sets : how many sets were tried
    free : how many features there are to choose from
    plans : how many greedy plans were followed
    seconds : how long the search was allowed to take
    wanted : the relative performance to be guaranteed; None if none was asked for
    enough : the cheapest point that guarantees it; None if none does, or none was asked for
    """

    points: tuple[Point, ...]
    search: Search
    sets: int
    free: int
    plans: int
    seconds: float
    wanted: float | None
    enough: Point | None

    @property
    def exact(self) -> bool:
        """Whether no set of features is better."""
        return self.search is Search.ALL


def frontier(
    problem: Problem, *, seconds: float = SECONDS, progress: Progress | None = None
) -> Frontier:
    """Guaranteed performance against cost: what each budget buys, whatever the file's own is.

    Parameters
    ----------
    problem : Problem
    seconds : how long to search for better sets; what is being tried by then is finished. All that
        was found is proved; `Frontier.search` says whether the search was stopped
    progress : Progress, to tell of what is being done; by default nobody is told

    Returns
    -------
    Frontier

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from teachirl.app.decisions import frontier
    >>> from teachirl.app.problem import read_problem
    >>> text = '''
    ... [world]
    ... name = "chain"
    ... [reward.weights]
    ... "cell 1" = -1.0
    ... "cell 5" = 1.0
    ... [learner]
    ... sees = ["cell 3"]
    ... [teach]
    ... features = "all"
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "figure_1.toml"
    ...     _ = path.write_text(text)
    ...     curve = frontier(read_problem(path))
    >>> [(point.cost, round(point.guaranteed, 3), point.features) for point in curve.points]
    [(0.0, 0.0, ()), (1.0, 1.0, ('cell 1',))]
    >>> curve.exact
    True
    """
    progress = progress or Progress()
    task = problem.task
    free = [i for i in range(len(task.names)) if i not in (*task.required, *task.forbidden)]
    tried = _Tried(problem, seconds)
    tried.attempt(frozenset(task.required))
    search, plans = Search.ALL, 0
    if len(free) <= ALL:
        _try_all(tried, free, progress)
    else:
        search, plans = Search.GREEDY, _try_plans(tried, progress)
    points, wanted = tried.envelope(), problem.until
    enough = [p for p in points if wanted is not None and p.guaranteed >= wanted - ROUNDED]
    return Frontier(
        points=points,
        search=Search.OUT_OF_TIME if tried.stopped else search,
        sets=len(tried.guaranteed),
        free=len(free),
        plans=plans,
        seconds=seconds,
        wanted=wanted,
        enough=enough[0] if enough else None,
    )


class _Tried:
    """What is guaranteed by which set of features, as far as it is known; and whether to go on."""

    def __init__(self, problem: Problem, seconds: float) -> None:
        self.problem, self.task = problem, problem.task
        self.until, self.stopped = clock.seconds() + seconds, False
        self.guaranteed: dict[frozenset[int], float] = {}
        shown = self.task.demonstration
        # Of a sampled demonstration more rows are matched less closely, or by nobody: more may be
        # less.
        self.rises = shown.error == 0.0

    def out_of_time(self) -> bool:
        """Whether the time is up; asked only where there is more to do, which then is left."""
        self.stopped = self.stopped or clock.seconds() >= self.until
        return self.stopped

    def cost(self, features: Iterable[int]) -> float:
        # To twelve digits, so that .1 + .2 is .3.
        return float(f"{self.task.costs[sorted(features)].sum():.12g}")

    def view(self, features: Iterable[int]) -> Worldview:
        chosen = sorted(features)
        return self.task.worldview.extend(self.task.teachable[chosen])

    def attempt(self, features: frozenset[int]) -> float:
        if features not in self.guaranteed:
            view, shown = self.view(features), self.task.demonstration
            self.guaranteed[features] = self.problem.guaranteed(view, shown)
        return self.guaranteed[features]

    def hopeless(self, features: frozenset[int]) -> bool:
        """Whether one that costs no more guarantees as much as a set with all these and others."""
        if not self.rises:
            return False
        hope = min((g for s, g in self.guaranteed.items() if s >= features), default=math.inf)
        return self.beaten(features, hope)

    def beaten(self, features: frozenset[int], guaranteed: float) -> bool:
        """Whether another set that costs no more guarantees as much."""
        money = self.cost(features)
        return any(
            g >= guaranteed - SAME_GUARANTEE and self.cost(s) <= money and s != features
            for s, g in self.guaranteed.items()
        )

    def envelope(self) -> tuple[Point, ...]:
        """The sets that guarantee more than all that cost no more; of ties the smallest."""
        by_cost = sorted(self.guaranteed, key=lambda s: (self.cost(s), len(s), sorted(s)))
        points: list[Point] = []
        for _, group in groupby(by_cost, key=self.cost):
            even = list(group)
            features = even[first_largest([self.guaranteed[s] for s in even], SAME_GUARANTEE)]
            guaranteed = self.guaranteed[features]
            if not points or guaranteed > points[-1].guaranteed + SAME_GUARANTEE:
                points.append(self._point(features, guaranteed))
        return tuple(points)

    def _point(self, features: frozenset[int], guaranteed: float) -> Point:
        task = self.task
        rest = sorted(features.difference(task.required))
        return Point(
            self.cost(features),
            guaranteed,
            teaching_risk(self.view(features), task.weights),
            tuple(task.names[i] for i in (*task.required, *rest)),
        )


def _try_all(tried: _Tried, free: list[int], progress: Progress) -> None:
    """All sets that may be on the curve, the cheap ones first."""
    must = frozenset(tried.task.required)
    sets = [
        must.union(chosen) for size in range(len(free) + 1) for chosen in combinations(free, size)
    ]
    sets.sort(key=lambda s: (tried.cost(s), len(s), sorted(s)))
    # What all, and all but one, guarantee tells where there is nothing to hope for.
    whole = must.union(free)
    sets = [whole, *(whole - {left_out} for left_out in free), *sets]
    part = progress.part("sets of features", len(sets))
    for features in sets:
        if features not in tried.guaranteed and not tried.hopeless(features):
            if tried.out_of_time():
                return
            tried.attempt(features)
        part.advance()


def _try_plans(tried: _Tried, progress: Progress) -> int:
    """What greedy plans lead through, by gain and by gain per cost; how many plans there were."""
    task, problem = tried.task, tried.problem
    budgets = sorted({ample(task), math.inf})
    part = progress.part("plans", 2 * len(budgets))
    less = progress.part("a feature less", 1)
    own = task.relative(float(task.weights @ task.demonstration.expectations))
    most_features = len(task.teachable) - len(task.forbidden)
    most = max(own - CLOSE, 0.0) if task.demonstration.error == 0.0 else 1.0
    for teacher in (GapGreedy(tolerance=CLOSE), TRGreedy()):
        for max_cost in budgets:
            if tried.out_of_time():
                return part.total
            rounds = Rounds(
                task,
                teacher,
                rng=np.random.default_rng(problem.seed),
                budget=len(task.teachable),
                max_cost=max_cost,
                matching=problem.matching,
            )
            for each in rounds:
                if set(task.required) <= set(each.taught):
                    tried.guaranteed[frozenset(each.taught)] = each.round.guaranteed
                    last = len(each.taught) == most_features
                    if each.guarantees(most) or (not last and tried.out_of_time()):
                        break
            part.advance()
    _try_less(tried)
    less.advance()
    return part.total


def _try_less(tried: _Tried) -> None:
    """One feature less than in each set, and again of what is better than all that cost no more."""
    left = sorted(tried.guaranteed, key=lambda s: (-len(s), sorted(s)))
    while left:
        features = left.pop()
        for one in sorted(features.difference(tried.task.required)):
            fewer = features - {one}
            if fewer in tried.guaranteed or tried.hopeless(fewer):
                continue
            if tried.out_of_time():
                return
            if not tried.beaten(fewer, tried.attempt(fewer)):
                left.append(fewer)


__all__ = ["Frontier", "Point", "Search", "frontier"]
