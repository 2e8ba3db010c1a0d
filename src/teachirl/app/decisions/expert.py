"""What the expert does, and whether that is what the reward was meant to say."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from ...demonstrations.error_bounds import mean_and_gaps
from ...demonstrations.trajectories import Trajectories
from ...mdp import clock
from ...mdp.model import MDP
from ...mdp.planning import optimal_policies
from ...precision import INVISIBLE, ranks
from ...views.linear_algebra import axes
from ..problem import Baseline, Problem
from .instead import (
    FAR,
    HARDLY,
    NEVER,
    SMALL_CHANGE,
    Instead,
    idle_of,
    of_instead,
    paid_by_all_who_act,
)
from .patience import Patience

# Who has less than this share of what there can be of a feature hardly ever collects it.
SELDOM = 0.05
# But what pays enough makes small change of all else: a weight that is at least this share of the
# largest that earns was not meant as such, unless there are many of them.
LARGE = 0.5
# Up to so many are few: of many that earn, an expert may have to choose one.
FEW = 5
# Transitions times features up to which the least and the most of each feature are planned for.
PLANNED = 20_000_000
# Among more features it is not looked for those that are levels of one thing.
LEVELS = 25


@dataclass(frozen=True)
class Collected:
    """What the expert has of a feature that counts.

    Attributes
    ----------
    name, weight : of the feature
    amount : how much of it the expert has, discounted
    earned : what that earns; negative if it costs
    least, most : what policies can have of it; NaN if the world is too large to know, or there
        was no time for it
    recorded : the mean amount of the recordings that the weights were inferred from, where the
        amount is that of a policy that is optimal for them; else None
    shown : the amount of the policy that is shown in the place of the expert's; None if there is
        none
    sure : whether the sign of the weight is known: it may not be if the weights were inferred
    outdone : whether the expert has something better in its place: another level of the same thing,
        as a speed is one of several, that earns more than this one could
    of_acting : whether it is a price of each step, which all pay who do not do nothing
    """

    name: str
    weight: float
    amount: float
    earned: float
    least: float
    most: float
    recorded: float | None = None
    shown: float | None = None
    sure: bool = True
    outdone: bool = False
    of_acting: bool = False

    @property
    def _wanted(self) -> bool:
        """Whether it is odd not to have it."""
        return self.weight > 0.0 and self.sure and not self.outdone

    @property
    def shown_earned(self) -> float | None:
        """What the amount that is shown earns."""
        return None if self.shown is None else self.weight * self.shown + 0.0

    @property
    def recorded_earned(self) -> float | None:
        """What that earns."""
        return None if self.recorded is None else self.weight * self.recorded

    @property
    def _share(self) -> float:
        """Where the amount is between the least and the most; NaN if all have the same."""
        width = self.most - self.least
        size = max(abs(self.most), abs(self.least))
        return (self.amount - self.least) / width if width > INVISIBLE * size else np.nan

    @property
    def never_collected(self) -> bool:
        """Whether it would earn, and the expert does not collect it."""
        if np.isnan(self.most):
            return self._wanted and self.amount == 0.0
        return self._wanted and self._share <= NEVER

    @property
    def seldom_collected(self) -> bool:
        """Whether it would earn, and the expert hardly ever collects it."""
        return self._wanted and NEVER < self._share <= SELDOM

    @property
    def could_earn(self) -> float:
        """What it could earn at most; NaN if the world is too large to know."""
        return self.weight * self.most

    @property
    def never_avoided(self) -> bool:
        """Whether it costs, could be avoided, and the expert has as much of it as there can be."""
        odd = self.weight < 0.0 and self.sure and not self.of_acting
        return odd and self._share >= 1.0 - NEVER


@dataclass(frozen=True)
class Record:
    """What the recordings earn that the weights were inferred from, by these weights.

    Attributes
    ----------
    reward : the mean of the episodes
    at_most : the same, if what was cut off of them earned as an optimal policy does from the start
    hardly_better : whether even that is hardly better than doing nothing
    far : whether it is far from what an optimal policy earns, counted from doing nothing
    """

    reward: float
    at_most: float
    hardly_better: bool
    far: bool


@dataclass(frozen=True, eq=False)
class ExpertAccount:
    """What the expert does; where nobody but the recordings that the weights were inferred from
    tells of it, what an optimal policy for these weights does, and what was recorded.

    Attributes
    ----------
    reward : what the expert earns; an estimate if it was recorded
    collected : Collected, of each feature that counts, what earns or costs most first
    idle : Baseline, doing nothing, if there is an action for that; else acting at random
    idle_reward : what that earns; NaN if there was no time for it
    turnover : all that is earned and paid, by the expert or by doing nothing
    hardly_better : whether the expert does hardly better
    estimated : whether it is known from recorded episodes alone
    record : Record, of the recordings that the weights were inferred from, where all else is of an
        optimal policy for these weights, not of the expert; else None
    instead : Instead, of the policy that was chosen to be shown in the expert's place; else None
    """

    reward: float
    collected: tuple[Collected, ...]
    idle: Baseline
    idle_reward: float
    turnover: float
    hardly_better: bool
    estimated: bool
    record: Record | None = None
    instead: Instead | None = None

    @property
    def never_collected(self) -> tuple[Collected, ...]:
        """The features that would earn, and are never collected."""
        return tuple(each for each in self.collected if each.never_collected)

    @property
    def seldom_collected(self) -> tuple[Collected, ...]:
        """The features that would earn, and are hardly ever collected."""
        return tuple(each for each in self.collected if each.seldom_collected)

    @property
    def passed_over(self) -> tuple[Collected, ...]:
        """Those of them that are no small change: by what they could earn, or, if they are few,
        by their weights, which do not shrink beside a feature that pays too much. By weight those
        count as well that are hardly ever collected."""
        never, seldom = self.never_collected, self.seldom_collected
        least, large = SMALL_CHANGE * self.turnover, math.inf
        if len(never) + len(seldom) <= FEW:
            large = LARGE * max((each.weight for each in self.collected), default=0.0)
        return tuple(
            each
            for each in (*never, *seldom)
            if each.weight >= large or (each.never_collected and not each.could_earn < least)
        )

    @property
    def left_lying(self) -> tuple[Collected, ...]:
        """The others of them, and the others that are hardly ever collected."""
        told = self.passed_over
        little = (*self.never_collected, *self.seldom_collected)
        return tuple(each for each in little if each not in told)

    @property
    def tell_left_lying(self) -> bool:
        """Whether these are told first: how little it is depends on how much another pays."""
        return 0 < len(self.left_lying) <= FEW

    @property
    def never_avoided(self) -> tuple[Collected, ...]:
        """The features that cost, and are never avoided."""
        return tuple(each for each in self.collected if each.never_avoided)

    @property
    def cost_unavoided(self) -> float:
        """What those cost."""
        return -sum(each.earned for each in self.never_avoided)

    @property
    def doubtful(self) -> bool:
        """Whether there is anything to warn of."""
        odd = self.record is not None and (self.record.hardly_better or self.record.far)
        odd |= self.instead is not None and self.instead.doubtful
        return odd or self.hardly_better or bool(self.passed_over or self.never_avoided)


def expert_account(problem: Problem, until: float = math.inf) -> ExpertAccount:
    """What the expert does, feature by feature, and against doing nothing.

    Parameters
    ----------
    problem : Problem
    until : when to do without what policies could have of a feature, and what doing nothing earns,
        by `clock.seconds`

    Returns
    -------
    ExpertAccount

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from teachirl.app.decisions import expert_account
    >>> from teachirl.app.problem import read_problem
    >>> text = '''
    ... [world]
    ... name = "chain"
    ... [reward.weights]
    ... "cell 1" = 1.0
    ... "cell 5" = 2.0
    ... [learner]
    ... sees = []
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "two_ends.toml"
    ...     _ = path.write_text(text)
    ...     found = expert_account(read_problem(path))
    >>> [(each.name, round(each.earned, 2)) for each in found.collected]
    [('cell 5', 8.62), ('cell 1', 0.2)]
    """
    mdp, weights, shown = problem.mdp, problem.weights, problem.expert
    mu = shown.expectations
    counted = np.flatnonzero(weights)
    earned = weights * mu
    order = ranks(np.abs(earned[counted]), INVISIBLE * float(np.abs(earned).max()))
    counted = counted[np.argsort(order, kind="stable")]
    unknown = np.full(len(counted), np.nan)
    ranges = clock.in_time(until, lambda: _ranges(mdp, counted))
    least, most = (unknown, unknown) if ranges is None else ranges
    idle, waiting = idle_of(problem, until)
    turnover = float(np.fmax(np.abs(earned), np.abs(waiting)).sum())
    gain = float(earned.sum() - waiting.sum())
    chosen = None if problem.chosen is None else problem.task.demonstration
    episodes = problem.reward.expert if problem.guessed else None
    seen = None if episodes is None else mean_and_gaps(mdp, episodes)[0]
    signs = np.ones(len(weights)) if problem.inferred is None else problem.inferred.plausible.signs
    outdone = _outdone(mdp, weights, earned, dict(zip(counted.tolist(), most, strict=True)))
    acting, record = paid_by_all_who_act(mdp, idle.policy), None
    if episodes is not None and seen is not None:
        record = _record(mdp, episodes, weights * seen, earned, waiting)
    return ExpertAccount(
        float(earned.sum()),
        tuple(
            Collected(
                mdp.feature_name(int(i)),
                float(weights[i]),
                float(mu[i]),
                float(earned[i]),
                float(least[place]),
                float(most[place]),
                None if seen is None else float(seen[i]),
                None if chosen is None else float(chosen.expectations[i]),
                sure=bool(signs[i]),
                outdone=int(i) in outdone,
                of_acting=bool(acting[i]),
            )
            for place, i in enumerate(counted)
        ),
        idle,
        float(waiting.sum()),
        turnover,
        mdp.n_pairs > mdp.n_states and gain <= HARDLY * turnover,
        shown.error > 0.0,
        record,
        None if chosen is None else of_instead(problem, chosen, idle, waiting),
    )


def _outdone(mdp: MDP, weights: Floats, earned: Floats, most: dict[int, float]) -> set[int]:
    """Of features that would earn, those in whose place the expert has something better: as fast
    is in that of slow, where everything is one or the other."""
    better = {
        i: [j for j in most if weights[j] > weights[i] and earned[j] > weights[i] * most[i]]
        for i in most
        if weights[i] > 0.0
    }
    if not any(better.values()) or mdp.n_features > LEVELS:
        return set()
    reached = mdp.dynamics.reachable
    if mdp.features_per_pair:
        reached = np.flatnonzero(np.isin(mdp.dynamics.pair_states, reached))
    rows: Any = mdp.features[reached]
    rows = rows if isinstance(rows, np.ndarray) else rows.toarray()
    levels = np.flatnonzero(((rows == 0.0) | (rows == 1.0)).all(axis=0) & rows.any(axis=0))
    kinds = np.unique(rows[:, levels] > 0.0, axis=0)
    here = dict(zip(levels.tolist(), kinds.T, strict=True))
    return {
        i
        for i, others in better.items()
        if any(i in here and j in here and _one_of(here, i, j) for j in others)
    }


def _one_of(here: dict[int, NDArray[np.bool_]], first: int, second: int) -> bool:
    """Whether two features are levels of one thing: with some others, exactly one is there
    wherever one can get."""
    if np.any(here[first] & here[second]):
        return False

    different = list({each.tobytes(): each for each in here.values()}.values())

    def completed(covered: NDArray[np.bool_]) -> bool:
        if covered.all():
            return True
        place = int(np.argmin(covered))
        fitting = (each for each in different if each[place] and not np.any(each & covered))
        return any(completed(covered | each) for each in fitting)

    return completed(here[first] | here[second])


def _record(
    mdp: MDP, episodes: Trajectories, recorded: Floats, earned: Floats, waiting: Floats
) -> Record:
    """What was recorded against an optimal policy and doing nothing, all by what features earn."""
    reward, best, idle = (float(each.sum()) for each in (recorded, earned, waiting))
    cut = np.mean(~episodes.terminated * mdp.discount ** episodes.lengths.astype(float))
    at_most = reward + max(float(cut) * best, 0.0)
    turnover = float(np.fmax(np.abs(recorded), np.abs(waiting)).sum())
    choice = mdp.n_pairs > mdp.n_states
    return Record(
        reward,
        at_most,
        choice and at_most - idle <= HARDLY * turnover,
        choice and at_most - idle < FAR * (best - idle),
    )


def account_in_time(problem: Problem, patience: Patience) -> ExpertAccount:
    """`expert_account`, on Ctrl-C without what takes long.

    Parameters
    ----------
    problem : Problem
    patience : Patience

    Returns
    -------
    ExpertAccount
    """
    found = patience.spared(lambda: expert_account(problem, patience.last))
    return found or expert_account(problem, clock.seconds() - 1.0)


def _ranges(mdp: MDP, features: np.ndarray) -> tuple[Floats, Floats] | None:
    """The least and the most that policies have of these features; None in a large world."""
    if len(features) * mdp.dynamics.transitions.nnz > PLANNED:
        return None
    rows = np.asarray(axes(features, mdp.n_features))
    plans = optimal_policies(mdp, np.vstack([rows, -rows]))
    found = np.array([plan.value for plan in plans])
    return -found[len(rows) :], found[: len(rows)]


__all__ = ["Collected", "ExpertAccount", "Record", "account_in_time", "expert_account"]
