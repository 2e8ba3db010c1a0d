"""What can be guaranteed for how much: the whole curve, so that a budget can be chosen."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...demonstrations.demonstration import Demonstration
from ...guarantees.bounds import WorstCaseStatus, unsearched
from ...guarantees.sensitivity import Sensitivity
from ...guarantees.worst_case import LEAST
from ...mdp import clock
from ...study.progress import Progress
from ...teachers.set_bounds import MOST
from ...views.worldview import Worldview
from ..problem import Problem
from .comparison import ASIDE
from .doubt import WeightDoubt, weight_doubt
from .enough_for_all import EnoughForAll, enough_for_all
from .kept import Kept
from .limited_sets import LimitedSets
from .misses import if_missed
from .patience import GRACE, Cut, Patience
from .plausible import OverRewards, over_rewards
from .set_search import SetSearch, Watch
from .sought import lean, limits, sought
from .stakes import Stakes, expectations_there, shown_briefly, stakes, unfinished
from .worth import WORTH

# How long to search, unless told otherwise: as long as one likes to wait for a table.
SECONDS = 60.0
# Seconds to prove what the points guarantee, beside what the search has proved of them.
PROVING = 5.0
# The share of the time after which what is known by then is rid of what it does not need.
SEEKING = 0.8
# What there is no curve without.
NEEDED = "find the best and the worst policy, what is shown, and a first bound on sets of features"


@dataclass(frozen=True)
class Point:
    """A set of features that guarantees more than all that were found for no more.

    Attributes
    ----------
    cost : of the whole set
    guaranteed : relative performance that is guaranteed once it is taught
    reward : the reward that is guaranteed then
    at_most : relative performance that no set exceeds which costs no more, up to what is not
        worth a point
    risk : the teaching risk once it is taught
    features : the names of its features; those that are required come first
    """

    cost: float
    guaranteed: float
    reward: float
    at_most: float
    risk: float
    features: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Frontier:
    """Guaranteed performance against cost.

    Attributes
    ----------
    points : by rising cost and rising guarantee; the first is what must be paid in any case. The
        cheapest that is enough, or the nearest, is among them, whatever reward it guarantees
    worth : relative performance that a point adds at least, unless it is the first with all that
        was asked for
    cut : Cut, what ended the search before it was known that no set is better; None if nothing did
    sets : how many sets were looked at by themselves
    free : how many features there are to choose from
    left_out : how many more there are, of which sets were not tried
    solves : how many MDPs were solved
    wanted : the relative performance to be guaranteed; None if none was asked for
    stakes : Stakes, what `told` guarantees in reward and of what was asked for
    told : `enough`, or else the point that comes nearest to what was asked for, or the last
    enough : the cheapest point that guarantees all that was asked for, or as much of it as what is
        shown has itself; None if none does, or nothing was
    enough_at_least : what it costs at least; None if nothing guarantees it, or nothing was asked
    view : Worldview, what the learner sees who was taught `told`
    demonstration : Demonstration, what is shown
    problem : Problem that it is about
    patience : Patience, how long it may take, and what is computed when it is asked for
    """

    points: tuple[Point, ...]
    worth: float
    cut: Cut | None
    sets: int
    free: int
    left_out: int
    solves: int
    wanted: float | None
    stakes: Stakes
    told: Point
    enough: Point | None
    enough_at_least: float | None
    view: Worldview
    demonstration: Demonstration
    problem: Problem
    patience: Patience

    @property
    def seconds(self) -> float:
        """How long it was allowed to take."""
        return self.patience.seconds

    @cached_property
    def sensitivity(self) -> Sensitivity | None:
        """What `told` guarantees of learners who miss a little; None if there was no time for
        it."""
        return if_missed(self.problem, self.view, self.demonstration, self.patience)

    @cached_property
    def doubt(self) -> WeightDoubt | None:
        """What `told` guarantees under other plausible weights; None if they were not inferred, or
        there was no time for it."""
        known = self.told.guaranteed
        return weight_doubt(self.problem, self.view, self.demonstration, known, self.patience)

    @cached_property
    def over_rewards(self) -> OverRewards | None:
        """What holds under all plausible rewards with `told`; None if one is given, or there was
        no time for it."""
        return over_rewards(self.problem, self.view, self.demonstration, self.patience)

    @cached_property
    def enough_for_all(self) -> EnoughForAll | None:
        """What to teach for all that was asked for under all plausible rewards; None if it is not
        known."""
        problem, shown, patience = self.problem, self.demonstration, self.patience
        return patience.spared(lambda: enough_for_all(problem, shown, patience))

    @property
    def exact(self) -> bool:
        """Whether no set of features is better, by more than `worth`."""
        return self.cut is None and not self.left_out


def frontier(
    problem: Problem,
    *,
    seconds: float | None = None,
    worth: float = WORTH,
    progress: Progress | None = None,
    kept: Kept | None = None,
    watch: Watch | None = None,
) -> Frontier:
    """Guaranteed performance against cost: what each budget buys, whatever the file's own is.

    Parameters
    ----------
    problem : Problem
    seconds : how long it may take; what is proved by then is returned, as it is on Ctrl-C, and
        `Frontier.cut` says so. By default the search ends after 60, and what it needs before, and
        what is told of it afterwards, take the time that they take
    worth : share of what is at stake for the expert that a point must add
    progress : Progress, to tell of what is being done; by default nobody is told
    kept : Kept, where what is proved is kept if the search is cut short; by default nowhere
    watch : called with what is known to be guaranteed, as soon as something is, and now and then

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
    if problem.world.model is not None:
        (problem.place / "world" / "log").refuse(
            "frontier needs a world that is known, not one estimated from a log; teach does not"
        )
    patience = Patience(SECONDS if seconds is None else seconds)
    progress, kept = progress or Progress(), kept or Kept()
    if seconds is None:
        patience.last = math.inf
    task, within = problem.task, patience.seconds
    free = len(task.names) - len(task.required) - len(task.forbidden)
    plan = progress.part("a greedy plan", 1, within=within)
    part = progress.part("sets of features", 2 ** min(free, MOST), weight=0.01, within=within)
    with patience.needed(NEEDED):
        search = SetSearch(problem, patience, worth, kept, watch)
        sets = LimitedSets(search)
    patience.renew()
    if not (search.tried and patience.over()):
        search.tighten(0, deadline=patience.last)
    with patience.work():
        _seek(search, sets)
        plan.advance()
        search.curve(part)
    kept.end(patience.cut)
    patience.renew()
    return _frontier(search, sets if problem.aims else None)


def _frontier(search: SetSearch, limited: LimitedSets | None) -> Frontier:
    """What a search has proved."""
    patience, chosen, cut = search.patience, search.envelope(), search.patience.cut
    enough = hope = None
    if limited is not None:
        enough, hope = limited.chosen, limited.cost_at_least
        if enough is None and not limits(search):
            # Out of time, what a greedy plan found may be enough.
            reached = (each for each in chosen if search.reaches(float(search.bounds.lower[each])))
            enough = next(reached, None)
    told = _told(search, limited) if enough is None else enough
    if told not in chosen:
        chosen = sorted([*_others(search, chosen, told), told], key=lambda each: search.cost[each])
    # One number for one set, in all commands: each is proved once more, as they prove it.
    problem = search.problem
    until = clock.seconds() + min(PROVING, patience.left()) if cut is None else -math.inf
    points = {each: _point(search, each, until) for each in chosen}
    if patience.cut is Cut.INTERRUPTED:
        cut = patience.cut
    meant = _stakes(search, limited, told)
    points[told] = replace(
        points[told],
        guaranteed=meant.performance,
        reward=meant.reward,
        at_most=max(points[told].at_most, meant.performance),
    )
    return Frontier(
        points=tuple(points.values()),
        worth=search.worth / search.scale,
        cut=cut,
        sets=search.tried,
        free=len(search.free),
        left_out=search.left_out,
        solves=search.bounds.solves,
        wanted=problem.until,
        stakes=meant,
        told=points[told],
        enough=None if enough is None else points[enough],
        enough_at_least=hope,
        view=search.bounds.view_of(told),
        demonstration=problem.task.demonstration,
        problem=problem,
        patience=patience,
    )


def _seek(search: SetSearch, sets: LimitedSets) -> None:
    """Look for what is asked for as `teach` does, for as long at least: in no time is the curve
    worse than its plan."""
    patience = search.patience
    search.patience = patience.share(SEEKING)
    found = None
    with search.patience.work():
        found = sought(search, sets)
    search.patience = patience
    if found is None and not patience.over():
        if not limits(search):
            lean(search, sets.proved())
        sought(search, sets)


def _told(search: SetSearch, limited: LimitedSets | None) -> int:
    """Where no set has all that was asked for, the one that comes nearest."""
    if limited is None or not limits(search):
        return search.envelope()[-1]  # the more reward the nearer
    return limited.proved()


def _others(search: SetSearch, chosen: list[int], told: int) -> list[int]:
    """Without sets that cost as much as the one that is told of, and guarantee no more."""
    lower, cost = search.bounds.lower, search.cost
    more = lower[told] + search.worth
    return [each for each in chosen if cost[each] != cost[told] or lower[each] > more]


def _point(search: SetSearch, chosen: int, until: float) -> Point:
    order, reward = search.order, _reward(search, chosen, until)
    last = int(np.searchsorted(search.cost[order], search.cost[chosen], "right"))
    most = float(search.bounds.hopes[order[:last]].max())
    guaranteed = float(search.task.relative_at_least(reward))
    return Point(
        float(search.cost[chosen]),
        guaranteed,
        max(reward, search.task.worst.lower),
        max(search.at_most(most), guaranteed),
        search.problem.risk(search.bounds.view_of(chosen)),
        search.names(chosen),
    )


def _reward(search: SetSearch, chosen: int, until: float) -> float:
    """What a set guarantees, proved as closely as a plan is; or as the search has it, if there is
    no time for that."""
    problem, view, left = search.problem, search.bounds.view_of(chosen), until - clock.seconds()
    if left > LEAST:
        case = view, problem.task.demonstration, problem.matching
        found = search.patience.spared(lambda: problem.task.worst_case(*case, max_seconds=left))
        left_so = (WorstCaseStatus.INFEASIBLE, WorstCaseStatus.OUT_OF_BUDGET)
        if found is not None and found.status not in left_so:
            return found.lower
    return search.reward(chosen)


def _stakes(search: SetSearch, limited: LimitedSets | None, chosen: int) -> Stakes:
    """What a set guarantees, with a policy that shows it."""
    problem, view = search.problem, search.bounds.view_of(chosen)
    shown, patience = problem.task.demonstration, search.patience
    left = patience.latest - clock.seconds()
    seconds = max(min(max(patience.left(), ASIDE), left), LEAST)
    found = unsearched(problem.model, view, problem.weights)
    if left > GRACE:  # what it finds takes that long to prove
        found = problem.task.worst_case(view, shown, problem.matching, max_seconds=seconds)
    stop = patience.cut is Cut.INTERRUPTED
    late = patience.cut is not None or unfinished(found)
    promise = problem.goals.promise(
        view,
        shown,
        problem.matching,
        known=found,
        least=search.reward(chosen) if late else -math.inf,
        before=limited.known(chosen) if limited is not None and stop else None,
        max_seconds=0.0 if stop else seconds,
    )
    there = expectations_there(problem, shown_briefly(problem, view, shown, found, patience))
    return stakes(problem, shown, promise, there, unfinished(found), patience.last)


__all__ = ["SECONDS", "Frontier", "Point", "frontier"]
