"""What a problem is made of, and what in it looks like a mistake, before anything is computed."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...arrays import AnyRows, Floats
from ...mdp.model import MDP
from ...precision import DEPENDENT
from ...views.linear_algebra import axes, extended_basis, lengths_of, unit_rows, without_span
from ..problem import Problem
from .expert import ExpertAccount, expert_account
from .undiscounted import Undiscounted, undiscounted


class Oddity(enum.Enum):
    """What can look like a mistake without being one."""

    NEVER = enum.auto()
    CONSTANT = enum.auto()
    UNCHANGEABLE = enum.auto()
    SAME = enum.auto()
    MULTIPLES = enum.auto()
    SEEN = enum.auto()
    UNREACHED = enum.auto()
    TOO_DEAR = enum.auto()
    NOTHING_TO_TEACH = enum.auto()
    BROKEN_LIMIT = enum.auto()
    MISSED_GOAL = enum.auto()
    IMPOSSIBLE = enum.auto()

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Notice:
    """Something to look at.

    Attributes
    ----------
    kind : Oddity: features that are 0, or the same, wherever one can get; features that count and
        of which all policies have the same amount; features that are equal, or multiples of each
        other, wherever one can get; teachable ones that the learner sees already, or whose amount
        follows from what it sees; states that nobody gets to; nothing
        that `max_cost` could buy; nothing that could be taught; features of which what is shown
        has more, or less, than a limit allows; goals that it misses; features and goals of which
        no policy has what was asked for
    names : of the features, states or goals
    """

    kind: Oddity
    names: tuple[str, ...]


@dataclass(frozen=True)
class Feature:
    """A feature in numbers.

    Attributes
    ----------
    name, weight : of the feature
    seen : whether the learner sees it, alone or as a combination of what it sees
    price : what teaching it costs; None if it is not for sale as it is
    least, most : of it in the states, or pairs, that one can get to
    share : of these, how many have it at all
    expert : how much of it the expert collects, discounted
    undiscounted : the same per episode or per 1000 steps; None if that is not known
    earned : what it adds to the expert's reward
    """

    name: str
    weight: float
    seen: bool
    price: float | None
    least: float
    most: float
    share: float
    expert: float
    undiscounted: float | None
    earned: float


@dataclass(frozen=True)
class Combination:
    """A combination of features that could be taught.

    Attributes
    ----------
    name, price : of the combination
    weights : tuple of pairs, the features in it by name, each with its weight
    """

    name: str
    price: float
    weights: tuple[tuple[str, float], ...]


@dataclass(frozen=True, eq=False)
class Check:
    """What a problem is made of.

    Attributes
    ----------
    notices : Notice, what looks odd
    features : Feature, all of them, in the order of the world
    combinations : Combination, those that could be taught
    reward : the expert's, discounted; an estimate if it was recorded
    undiscounted : Undiscounted, what the expert collects; None if that is not known
    account : ExpertAccount, what the expert does, and whether that is odd
    """

    notices: tuple[Notice, ...]
    features: tuple[Feature, ...]
    combinations: tuple[Combination, ...]
    reward: float
    undiscounted: Undiscounted | None
    account: ExpertAccount


def check(problem: Problem) -> Check:
    """What a problem is made of, and what in it looks like a mistake.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    Check

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from teachirl.app.decisions import check
    >>> from teachirl.app.problem import read_problem
    >>> text = '''
    ... [world]
    ... name = "chain"
    ... [reward.weights]
    ... "cell 5" = 1.0
    ... [learner]
    ... sees = ["cell 3"]
    ... [[teach.feature]]
    ... name = "cell 3"
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "seen.toml"
    ...     _ = path.write_text(text)
    ...     found = check(read_problem(path))
    >>> found.notices
    (Notice(kind=SEEN, names=('cell 3',)),)
    >>> found.features[4].name, round(found.features[4].earned, 2)
    ('cell 5', 4.31)
    """
    mdp, task, view = problem.mdp, problem.task, problem.worldview
    expert, taught = problem.expert, problem.teachables
    there = sp.csc_array(_where_one_gets(mdp))
    least, most = (_dense(getattr(there, end)(axis=0)) for end in ("min", "max"))
    filled = np.diff(there.indptr) / there.shape[0]
    seen = _in_span(view.basis, axes(range(mdp.n_features), mdp.n_features))
    prices = {name: float(cost) for name, cost in zip(taught.names, taught.costs, strict=True)}
    plain = undiscounted(mdp, expert.policy or expert.trajectories)
    features = tuple(
        Feature(
            name=mdp.feature_name(i),
            weight=float(task.weights[i]),
            seen=bool(seen[i]),
            price=prices.get(mdp.feature_name(i)),
            least=float(least[i]),
            most=float(most[i]),
            share=float(filled[i]),
            expert=float(expert.expectations[i]),
            undiscounted=None if plain is None else float(plain.amounts[i]),
            earned=float(task.weights[i] * expert.expectations[i]) + 0.0,
        )
        for i in range(mdp.n_features)
    )
    return Check(
        tuple(_notices(problem, there, features)),
        features,
        tuple(_combinations(problem)),
        float(task.weights @ expert.expectations),
        plain,
        expert_account(problem),
    )


def _combinations(problem: Problem) -> Iterator[Combination]:
    """What could be taught and is no feature of the world."""
    name, taught = problem.mdp.feature_name, problem.teachables
    own = {name(i) for i in range(problem.mdp.n_features)}
    for called, cost, row in zip(taught.names, taught.costs, taught.features, strict=True):
        if called not in own:
            parts = ((name(int(i)), float(row[i])) for i in np.flatnonzero(row))
            yield Combination(called, float(cost), tuple(parts))


def _where_one_gets(mdp: MDP) -> Any:
    """The features [n, k] of the states, or pairs, that some policy visits."""
    rows = mdp.dynamics.reachable
    if mdp.features_per_pair:
        rows = np.flatnonzero(np.isin(mdp.dynamics.pair_states, rows))
    phi: Any = mdp.features
    return phi[rows]


def _dense(row: Any) -> Floats:
    dense: Floats = np.asarray(row.todense(), dtype=np.float64).ravel()
    return dense


def _in_span(basis: Floats, rows: AnyRows) -> Any:
    """bool array [n], whether each row is a combination of the basis."""
    return lengths_of(without_span(basis, unit_rows(rows))) <= DEPENDENT


def _notices(
    problem: Problem, there: sp.csc_array, features: tuple[Feature, ...]
) -> Iterator[Notice]:
    never = [each.name for each in features if each.least == each.most == 0.0]
    flat = [each.name for each in features if each.least == each.most != 0.0]
    fixed = _in_span(problem.task.indistinct.basis, axes(range(len(features)), len(features)))
    dull = [
        each.name
        for each, same in zip(features, fixed, strict=True)
        if same and each.weight != 0.0 and each.name not in {*never, *flat}
    ]
    oddities = (Oddity.NEVER, never), (Oddity.CONSTANT, flat), (Oddity.UNCHANGEABLE, dull)
    for kind, names in oddities:
        if names:
            yield Notice(kind, tuple(names))
    there.sum_duplicates()
    there.eliminate_zeros()
    alike = defaultdict(list)
    for i, each in enumerate(features):
        if each.name not in never and each.name != problem.world.reward_feature:
            own = slice(there.indptr[i], there.indptr[i + 1])
            data = there.data[own]
            shares = np.round(data / data[np.abs(data).argmax()], 12) + 0.0
            alike[there.indices[own].tobytes(), shares.tobytes()].append(each)
    for them in alike.values():
        if len(them) > 1:
            equal = len({(each.least, each.most) for each in them}) == 1
            kind = Oddity.SAME if equal else Oddity.MULTIPLES
            yield Notice(kind, tuple(each.name for each in them))
    taught, mdp = problem.teachables, problem.mdp
    unchanged = problem.task.indistinct.basis
    known = extended_basis(problem.worldview.basis, unchanged)
    vain = _in_span(known, taught.features) & ~_in_span(unchanged, taught.features)
    useless = np.flatnonzero(vain | _in_span(problem.worldview.basis, taught.features))
    if len(useless):
        yield Notice(Oddity.SEEN, tuple(taught.names[i] for i in useless))
    visited = np.union1d(mdp.dynamics.reachable, np.array(problem.world.finals, dtype=np.int64))
    lost = np.setdiff1d(np.arange(mdp.n_states), visited)
    if len(lost) and not problem.world.built_in:
        yield Notice(Oddity.UNREACHED, tuple(mdp.dynamics.state_name(int(i)) for i in lost))
    offered = [i for i in range(len(taught.names)) if i not in taught.forbidden]
    cheapest = min((float(taught.costs[i]) for i in offered), default=0.0)
    if problem.max_cost is not None and problem.max_cost < cheapest:
        yield Notice(Oddity.TOO_DEAR, ())
    if not offered:
        yield Notice(Oddity.NOTHING_TO_TEACH, ())
    yield from _hopeless(problem)


def _hopeless(problem: Problem) -> Iterator[Notice]:
    """Goals that nobody can meet, or who does as what is shown."""
    missed = [goal for goal in problem.out_of_reach if goal not in problem.impossible]
    kinds = (
        (Oddity.BROKEN_LIMIT, [goal for goal in missed if goal.feature is not None]),
        (Oddity.MISSED_GOAL, [goal for goal in missed if goal.feature is None]),
        (Oddity.IMPOSSIBLE, problem.impossible),
    )
    for kind, goals in kinds:
        names = dict.fromkeys(goal.name or goal.kind.value for goal in goals)
        if names:
            yield Notice(kind, tuple(names))


__all__ = ["Check", "Combination", "Feature", "Notice", "Oddity", "check"]
