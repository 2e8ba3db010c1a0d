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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Floats
from ...mdp import clock
from ...mdp.estimated import EstimatedMDP
from ...mdp.evaluation import Method
from ...mdp.kernels.robust import Chosen
from ...mdp.model import MDP
from ...mdp.occupancy import (
    expectation_error,
    expectations_of,
    occupancy,
    policy_from_occupancy,
)
from ...mdp.planning import optimal_policy
from ...mdp.policy import Policy
from ...mdp.robust_planning import Response, chain_in, respond, unchosen, values_in
from ...precision import up
from ...views.worldview import Worldview
from ..bounds import WorstCaseBounds, check_limits, checked_case, lower_bound, mirrored
from .blocks import TRIES, Blocks
from .bundle import searched
from .master import Master
from .plans import Case, Planned, Witness
from .view_coordinates import ViewCoordinates

# Blocks of start states; half of them each for what is shown and for the learner.
FEW, MANY, LARGE = 64, 256, 4096
SOLVES = 2000


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
        # The best in the nominal world is nearly the best in all of them.
        near = optimal_policy(self.mdp, -q, tolerance=1e-6).values
        best = respond(
            self.model, -q, nature=1, tolerance=tolerance, guess=near, chosen=self._chosen[0]
        )
        if self.policy is None or theta is None or not theta.any():
            return Planned(Answer(best, None), best.lower, best.upper, None)
        seen = self.sight.basis.T @ theta
        # As far off, in units of reward, as the learner's plan may be.
        share = float(np.linalg.norm(q)) / (float(np.linalg.norm(seen)) or 1.0)
        within = min(max(tolerance * share, 1e-13), 1e-6)
        near = -self.shown_values[:, :-1] @ theta
        shown = respond(
            self.model,
            -seen,
            nature=1,
            policy=self.policy,
            tolerance=within,
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


class DoubtPlans:
    """The plans of one search: as `OwnPlans`, each with a world of its own."""

    def __init__(self, case: DoubtCase, count: int) -> None:
        self.case, self.model = case, case.model
        self.starts = Blocks(case.mdp, case.directions, count)
        self.blocks = _Count(self.starts.count * (1 if case.policy is None else 2))
        self._rewards = case.model.rewards_of_pairs(case.directions)
        self.answers: dict[int, Answer] = {}
        self.mixture: dict[int, Floats] | None = None
        self._origin = self.starts.masses[:, None] * np.append(case.shown, case.earned)
        self._dense = 0

    def begin(self, master: Master) -> None:
        policy, model = self.case.policy, self.model
        if policy is not None:
            nominal = np.asarray(model.successors.data)
            chances = np.asarray(policy.probabilities)
            self._origin = self._from_blocks(self.case.shown_values)
            same = Response(0.0, 0.0, np.zeros(0), chances, nominal, 0, True)
            self._add(Answer(same, same), np.zeros_like(self._origin), master)
            self.mixture = {0: np.ones(self.blocks.count)}

    def put(self, policy: Answer, master: Master) -> Floats:
        columns: Floats = self._columns(policy.mine.chances, policy.mine.rows) - self._origin
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
        case, count = self.case, self.starts.count
        visits, flow = self._blended(0)
        world, policy = self._world(visits, flow), policy_from_occupancy(case.mdp, visits)
        target = case.target
        if case.policy is not None:
            target = self.model.expectations(*self._blended(count))
        x = occupancy(world, policy)
        mu = expectations_of(world, x)
        earned = up(float(case.w @ mu) + expectation_error(world, case.w))
        return Witness(policy, x, mu, target, earned, world)

    def _add(self, answer: Answer, columns: Floats, master: Master) -> None:
        number = max(self.answers, default=-1) + 1
        self.answers[number] = answer
        count = self.starts.count
        master.add(columns[:, :-1], columns[:, -1], np.arange(count), number)
        if answer.theirs is not None:
            shown = self._origin - self._columns(answer.theirs.chances, answer.theirs.rows)
            master.add(shown[:, :-1], np.zeros(count), count + np.arange(count), number)
        if len(self.answers) % 64 == 0:
            held = master.sources() | set(self.mixture or ())
            self.answers = {i: answer for i, answer in self.answers.items() if i in held}

    def _columns(self, chances: Floats, rows: Floats) -> Floats:
        """⟨d_i, μ_g⟩ of a policy in a world, for all directions and blocks: [G, n]."""
        found = values_in(self.model, chances, rows, self._rewards, self._dense < TRIES)
        self._dense = 0 if found.method is Method.ELIMINATION else self._dense + 1
        return self._from_blocks(found.x)

    def _from_blocks(self, values: Floats) -> Floats:
        """What values [S, n] are from each block on, [G, n]."""
        states = self.starts.states
        first = self.model.start[states, None] * values[states]
        return np.add.reduceat(first, self.starts.bounds[:-1], axis=0)

    def _world(self, x: Floats, flow: Floats) -> MDP:
        """The world in which pairs that are visited so often [P] are followed by that [n]."""
        model, owners = self.model, self.model.owners
        visits = x[owners]
        rows = np.divide(flow, visits, out=np.array(model.successors.data), where=visits > 0.0)
        return model.world(rows)

    def _blended(self, first: int) -> tuple[Floats, Floats]:
        """How often the mixture visits each pair [P], and what follows how often [n], from this
        block on."""
        model, starts = self.model, self.starts
        owners = model.owners
        x, flow = np.zeros(model.n_pairs), np.zeros(len(owners))
        held = slice(first, first + starts.count)
        whole = np.sum([shares[held] for shares in (self.mixture or {}).values()], axis=0)
        for source, shares in (self.mixture or {}).items():
            part = shares[held] / np.where(whole > 0.0, whole, 1.0)
            answer = self.answers[source].mine if first == 0 else self.answers[source].theirs
            if answer is None or not part.any():
                continue
            start = np.zeros(model.n_states)
            lengths = np.diff(starts.bounds)
            start[starts.states] = model.start[starts.states] * np.repeat(part, lengths)
            visits = chain_in(model, answer.chances, answer.rows).visits(start[:, None]).x[:, 0]
            mine = np.maximum(visits, 0.0)[model.nominal.dynamics.pair_states] * answer.chances
            x += mine
            flow += mine[owners] * answer.rows
        return x, flow


@dataclass(frozen=True)
class _Count:
    """How many blocks the columns of plans belong to."""

    count: int


__all__ = ["worst_case_in_doubt"]
