"""The worst case where the world is known from a log: by the bundle method, as it stands.

Rows of different pairs have nothing to do with each other, so that M = {μ_P(π)} over all policies
and all worlds of the sets is convex, and whoever minimises ⟨q, μ⟩ over it chooses policy and rows
state by state (`mdp.robust_planning`). A plan then is a policy with the world that goes with it.

What was *recorded* in the world, b, is known, and the worst case is exact:

    min ⟨w, μ⟩ over μ ∈ M with ‖Aμ − b‖ ≤ ε
      = max over θ of  ⟨θ, b⟩ − ε‖θ‖ + min_{μ ∈ M} ⟨w − Aᵀθ, μ⟩.

Of a *policy* that is shown, b depends on the world. Let the demonstration happen in one world of
the sets and the learner live in another: that can only lower the minimum, and ⟨θ, b⟩ becomes the
least of ⟨Aᵀθ, μ_P(π_T)⟩ over all worlds. In the master problem these are further blocks of columns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Floats, frozen
from ...mdp import clock
from ...mdp.estimated import EstimatedMDP
from ...mdp.kernels.robust import Chosen, add_flow
from ...mdp.model import MDP
from ...mdp.occupancy import (
    expectation_error,
    expectations_of,
    occupancy,
    policy_from_occupancy,
)
from ...mdp.planning import optimal_policy
from ...mdp.policy import Policy
from ...mdp.right_hand_sides import Method
from ...mdp.robust_planning import Response, chain_in, respond, unchosen, values_in
from ...precision import up
from ...views.worldview import Worldview
from ..bounds import WorstCaseBounds, check_limits, checked_case, lower_bound, mirrored
from .blocks import TRIES, Blocks
from .bundle import searched
from .master import Master
from .plans import Case, Planned, Witness
from .view_coordinates import ViewCoordinates

# Blocks of start states for the learner, and how many times fewer there are for what is shown:
# there nature alone chooses, and few blocks say as much.
FEW, MANY, LARGE = 192, 256, 4096
FEWER = 64
SOLVES = 2000
# So many plans are remembered, at most, and so many numbers of them.
PLANS, ENTRIES = 32, 1 << 22


def worst_case_in_doubt(
    model: EstimatedMDP,
    view: Worldview,
    weights: ArrayLike,
    expectations: ArrayLike,
    mismatch: float = 0.0,
    *,
    policy: Policy | None = None,
    maximise: bool = False,
    tolerance: float = 1e-6,
    max_solves: int = SOLVES,
    max_seconds: float = math.inf,
    start: Floats | None = None,
    enough: float = math.inf,
) -> WorstCaseBounds:
    """The least reward ⟨weights, μ⟩ of all policies that match, in all worlds of the sets.

    Parameters
    ----------
    model : EstimatedMDP
    weights : array [k]
    expectations : array [k], what was recorded; of a policy, those in the nominal world
    mismatch : ε, how far ‖A(μ − μ_T)‖ may be from 0
    policy : if a policy is shown, not a recording
    maximise, tolerance, max_solves, max_seconds, start, enough : as in `worst_case_by_bundle`

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> model = ti.estimate_mdp(np.array([[[6, 4]], [[0, 9]]]), np.eye(2), discount=0.9)
    >>> view, w = ti.Worldview(np.eye(2)[:1]), [1.0, 0.0]
    >>> found = ti.worst_case(model, view, w, ti.Demonstration([1.1, 8.9]))
    >>> round(found.lower, 6)  # what was recorded is seen
    1.1
    """
    w, target = checked_case(model, view, weights, expectations, mismatch)
    check_limits(tolerance, max_seconds)
    deadline = clock.seconds() + max_seconds
    sight = ViewCoordinates(model, view, float(mismatch))
    case = DoubtCase(model.nominal, sight, -w if maximise else w, target, policy, model)
    count = FEW if model.n_states <= LARGE else MANY
    near = None
    if start is not None:
        near = sight.basis @ (view.matrix.T @ (-start if maximise else start))
    plans = DoubtPlans(case, count)
    found = searched(case, plans, tolerance, max_solves, deadline, near, enough)
    return mirrored(found) if maximise else found


class Answer(NamedTuple):
    """The learner's policy and world; the world of the demonstration, where that is a policy."""

    mine: Response
    theirs: Response | None


@dataclass(frozen=True, eq=False)
class DoubtCase(Case):
    """As `Case`, in all worlds of the sets; `mdp` is the nominal one."""

    model: EstimatedMDP

    def planned(self, q: Floats, theta: Floats | None, tolerance: float, guess: Any) -> Planned:
        # The best in the nominal world is nearly the best in all of them; and no plan that is known
        # is better than the best.
        near = optimal_policy(self.mdp, -q, tolerance=1e-6).values
        mine, theirs = self.known
        if theta is not None:
            near = mine.best(np.append(theta, -1.0), near)
        searching = theta is not None and bool(theta.any())
        # Rewards differ by far less than q and the features might allow, and the tolerance is a
        # share of that.
        within = 2.0 * tolerance * float(np.linalg.norm(q)) * self.sight.reach
        best = respond(
            self.model,
            -q,
            nature=1,
            tolerance=tolerance,
            within=within if searching else None,
            guess=near,
            chosen=self._chosen[0],
        )
        if self.policy is None or theta is None or not searching:
            return Planned(Answer(best, None), best.lower, best.upper, None)
        along = np.append(-theta, 0.0)
        near = theirs.best(along, self.shown_values @ along)
        shown = respond(
            self.model,
            -(self.sight.basis.T @ theta),
            nature=1,
            policy=self.policy,
            within=within,
            guess=near,
            chosen=self._chosen[1],
        )
        nominal = float(theta @ self.shown)
        return Planned(
            Answer(best, shown),
            best.lower + shown.lower + nominal,
            best.upper + shown.upper + nominal,
            None,
        )

    @cached_property
    def _chosen(self) -> tuple[Chosen, Chosen]:
        """The rows that were chosen last: for the learner, and for what is shown."""
        return unchosen(self.model), unchosen(self.model)

    @cached_property
    def known(self) -> tuple[Known, Known]:
        """What is known of plans so far: of the learner's, and of worlds for what is shown."""
        size = self.model.n_states, len(self.directions)
        return Known(*size), Known(*size)

    @cached_property
    def shown_values(self) -> Floats:
        """What the policy that is shown is worth along B and w in the nominal world, [S, r + 1]."""
        assert self.policy is not None
        model, rewards = self.model, self.model.rewards_of_pairs(self.directions)
        return values_in(model, self.policy.probabilities, model.sets.nominal, rewards).x

    @cached_property
    def directions(self) -> Floats:
        """B and w, [r + 1, k]."""
        return np.vstack([self.sight.basis, self.w])

    def proved(self, theta: Floats) -> float:
        sight, policy = self.sight, self.policy
        mismatch = sight.mismatch
        terms = self.model, sight.view, self.w, self.target, mismatch, theta, policy
        return lower_bound(*terms, chosen=self._chosen)


class Known:
    """What the last plans are worth in each state along B and w: arrays [S, r + 1].

    All of them can be followed, whatever θ is. So of w − Bᵀθ the best policy in the best world is
    worth at least as much as any of them, in every state.
    """

    def __init__(self, states: int, directions: int) -> None:
        most = max(min(PLANS, ENTRIES // (states * directions)), 1)
        self._values, self._count = np.empty((most, states, directions)), 0

    def add(self, values: Floats) -> None:
        self._values[self._count % len(self._values)] = values
        self._count += 1

    def best(self, along: Floats, least: Floats) -> Floats:
        """The best of them, and of `least` [S], in that direction [r + 1]: array [S]."""
        held = self._values[: self._count] @ along
        return np.asarray(held.max(axis=0, initial=-np.inf).clip(min=least))


class DoubtPlans:
    """The plans of one search: as `OwnPlans`, each with a world of its own."""

    def __init__(self, case: DoubtCase, count: int) -> None:
        self.case, self.model = case, case.model
        # Those of the learner, and those of what is shown.
        self.starts = Blocks(case.mdp, case.directions, count)
        self.origins = Blocks(case.mdp, case.directions, max(count // FEWER, 1))
        mine, theirs = self.starts.count, self.origins.count
        self.blocks = _Count(mine if case.policy is None else mine + theirs)
        self._rewards = case.model.rewards_of_pairs(case.directions)
        self.answers: dict[int, Answer] = {}
        self.mixture: dict[int, Floats] | None = None
        self._origin = self.starts.masses[:, None] * np.append(case.shown, case.earned)
        self._dense = 0
        # The world of what is shown for which that was found last: rows [n] and columns.
        self._shown: tuple[Floats, Floats] | None = None

    def begin(self, master: Master, asked: float) -> None:
        policy, model = self.case.policy, self.model
        if policy is not None:
            nominal = np.asarray(model.successors.data)
            chances = np.asarray(policy.probabilities)
            values = self.case.shown_values
            self._origin = self.starts.sums(values)
            self._shown = nominal, np.zeros((self.origins.count, values.shape[1]))
            same = Response(0.0, 0.0, np.zeros(0), chances, nominal, 0, True)
            self._add(Answer(same, same), np.zeros_like(self._origin), master)
            self.mixture = {0: np.ones(self.blocks.count)}

    def put(self, policy: Answer, master: Master) -> Floats:
        columns: Floats = self.starts.sums(self._values(policy.mine, 0)) - self._origin
        self._add(policy, columns, master)
        return columns

    def keep(self, master: Master) -> None:
        mixture: dict[int, Floats] = {}
        for source, block, share in zip(*master.shares(), strict=True):
            if source >= 0:
                shares = mixture.setdefault(int(source), np.zeros(self.blocks.count))
                shares[block] = share
        self.mixture = mixture

    def witness(self) -> Witness | None:
        if self.mixture is None:
            return None
        case = self.case
        visits, flow = self._blended(0)
        world, policy = self._world(visits, flow), policy_from_occupancy(case.mdp, visits)
        target = case.target
        if case.policy is not None:
            target = self.model.expectations(*self._blended(1))
        x = occupancy(world, policy)
        mu = expectations_of(world, x)
        earned = up(float(case.w @ mu) + expectation_error(world, case.w))
        return Witness(policy, x, mu, target, earned, world)

    def correct(self, master: Master) -> bool:
        return False

    def _add(self, answer: Answer, columns: Floats, master: Master) -> None:
        number = max(self.answers, default=-1) + 1
        self.answers[number] = answer
        count = self.starts.count
        master.add(columns[:, :-1], columns[:, -1], np.arange(count), number)
        if answer.theirs is not None:
            shown, owners = self._shown_columns(answer.theirs), np.arange(self.origins.count)
            master.add(shown[:, :-1], np.zeros(len(shown)), count + owners, number)
        if len(self.answers) % 64 == 0:
            held = master.sources() | set(self.mixture or ())
            self.answers = {i: answer for i, answer in self.answers.items() if i in held}

    def _shown_columns(self, plan: Response) -> Floats:
        """By how much less than in the nominal world that shows from each block, [G, n]."""
        if self._shown is None or not np.array_equal(plan.rows, self._shown[0]):
            less = self.case.shown_values - self._values(plan, 1)
            self._shown = plan.rows, self.origins.sums(less)
        return self._shown[1]

    def _values(self, plan: Response, whose: Literal[0, 1]) -> Floats:
        """What a policy in a world is worth in all directions, [S, n]."""
        found = values_in(self.model, plan.chances, plan.rows, self._rewards, self._dense < TRIES)
        self._dense = 0 if found.method is Method.ELIMINATION else self._dense + 1
        self.case.known[whose].add(found.x)
        return found.x

    def _world(self, x: Floats, flow: Floats) -> MDP:
        """The world in which pairs that are visited so often [P] are followed by that [n]."""
        model, owners = self.model, self.model.owners
        visits = x[owners]
        rows = np.divide(flow, visits, out=np.array(model.successors.data), where=visits > 0.0)
        return model.world(rows)

    def _blended(self, whose: Literal[0, 1]) -> tuple[Floats, Floats]:
        """How often the mixture of the learner's plans, or of worlds for what is shown, visits each
        pair [P], and what follows how often [n]."""
        model, starts = self.model, (self.starts, self.origins)[whose]
        x, flow = np.zeros(model.n_pairs), np.zeros(model.successors.nnz)
        first = self.starts.count if whose else 0
        held = slice(first, first + starts.count)
        whole = np.sum([shares[held] for shares in (self.mixture or {}).values()], axis=0)
        for source, shares in (self.mixture or {}).items():
            part = shares[held] / np.where(whole > 0.0, whole, 1.0)
            answer = self.answers[source][whose]
            if answer is None or not part.any():
                continue
            start = np.zeros(model.n_states)
            lengths = np.diff(starts.bounds)
            start[starts.states] = model.start[starts.states] * np.repeat(part, lengths)
            chances, rows = (frozen(part.view()) for part in (answer.chances, answer.rows))
            visits = chain_in(model, chances, rows).visits(start[:, None]).x[:, 0]
            often = np.ascontiguousarray(visits)
            add_flow(model.sets, model.nominal.dynamics.offsets, chances, rows, often, x, flow)
        return x, flow


@dataclass(frozen=True)
class _Count:
    """How many blocks the columns of plans belong to."""

    count: int


__all__ = ["worst_case_in_doubt"]
