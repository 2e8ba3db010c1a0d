"""The worlds that `check_learner` runs a learner through: small, and awkward on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from ..arrays import Floats, frozen
from ..demonstrations.demonstration import Demonstration
from ..demonstrations.observations import Observations
from ..demonstrations.sampling import sample_trajectories
from ..learners.learner import even_units
from ..mdp.model import MDP
from ..mdp.occupancy import feature_expectations, mixture, policy_from_occupancy
from ..mdp.planning import optimal_policy
from ..mdp.policy import Policy
from ..views.worldview import Worldview
from ..worlds import chain, gridworld


@dataclass(frozen=True, eq=False)
class Case:
    """Something to learn: what is true, what the learner sees of it, and what is shown.

    Attributes
    ----------
    name : str, what is special about it
    mdp : MDP with the true features φ
    view : Worldview A
    weights : array [k], the true reward
    expert : Policy that is demonstrated
    target : array [ℓ], the demonstration as the learner sees it
    reachable : bool, whether the expert matches the target; otherwise, no policy does
    """

    name: str
    mdp: MDP
    view: Worldview
    weights: Floats
    expert: Policy
    target: Floats
    reachable: bool = True

    @cached_property
    def seen(self) -> MDP:
        return self.view.observe(self.mdp)

    @cached_property
    def observations(self) -> Observations:
        """What is seen of a few episodes of the expert, the same in every case that looks so."""
        rng = np.random.default_rng(0)
        shown = sample_trajectories(self.seen, self.expert, episodes=4, horizon=25, rng=rng)
        return Observations.of(self.seen, shown)

    @cached_property
    def scale(self) -> float:
        """max ‖Aφ‖/(1 − γ), which no policy's expectations exceed"""
        return self.seen.largest_feature / (1.0 - self.seen.discount)

    @cached_property
    def even(self) -> Case:
        """The same in even units (`learners.learner`), in which nearness may be measured."""
        units = even_units(self.seen, self.target)
        return replace(
            self,
            view=Worldview(self.view.matrix / units[:, None]),
            target=frozen(self.target / units),
        )

    @cached_property
    def nearest_policy(self) -> Policy:
        """A policy that hardly any other is nearer to the target than."""
        if self.reachable:
            return self.expert
        # Least squares over occupancies x ≥ 0, with flow constraints so heavy that they hold. What
        # the policy of x does is computed from it, so that its mismatch is one that exists.
        dynamics, heavy = self.seen.dynamics, 1e6 * self.seen.largest_feature
        leaves = np.eye(dynamics.n_states)[dynamics.pair_states]
        flow = leaves - dynamics.discount * dynamics.transitions.toarray()
        table = np.hstack([heavy * flow, by_pair(self.seen)]).T
        x, _ = nnls(table, np.concatenate([heavy * dynamics.start, self.target]))
        return policy_from_occupancy(self.seen, x)

    @cached_property
    def nearest(self) -> float:
        """Its mismatch."""
        return self.miss(self.nearest_policy)

    def miss(self, policy: Policy) -> float:
        """‖μ(π) − target‖ in the learner's features, by a dense solve that no learner uses."""
        return float(np.linalg.norm(dense_expectations(self.seen, policy) - self.target))

    def twin(self) -> Case:
        """A case with other true features that looks the same to the learner, down to the last bit.

        What is seen comes first among the true features, others after it.
        """
        visible, n_rows = self.seen.features, int(self.seen.features.shape[0])
        others = np.cos(np.arange(10.0 * n_rows)).reshape(n_rows, 10)
        phi: Any = (
            np.hstack([visible, others])
            if isinstance(visible, np.ndarray)
            else sp.csr_array(sp.hstack([visible, sp.csr_array(others)]))
        )
        k = int(phi.shape[1])
        # Other dynamics, too, in that they are another object: nothing leads from one to the other.
        mdp = MDP(replace(self.mdp.dynamics), phi)
        view = Worldview(np.eye(k)[: self.seen.n_features])
        expert = Policy(mdp.dynamics, self.expert.pairs, self.expert.chances)
        return replace(
            self, mdp=mdp, view=view, weights=np.cos(np.arange(1.0, k + 1)), expert=expert
        )


def dense(features: Any) -> Floats:
    """Features as an array."""
    return np.asarray(features if isinstance(features, np.ndarray) else features.toarray())


def by_pair(mdp: MDP) -> Floats:
    """The features of each pair, dense, [P, k]."""
    rows = dense(mdp.features)
    return np.asarray(rows if mdp.features_per_pair else rows[mdp.dynamics.pair_states])


def dense_expectations(mdp: MDP, policy: Policy) -> Floats:
    """μ(π) = Φᵀx, [k], by solving for the occupancy x with dense matrices."""
    dynamics, chances = mdp.dynamics, policy.probabilities
    choose = np.zeros((dynamics.n_states, dynamics.n_pairs))
    choose[dynamics.pair_states, np.arange(dynamics.n_pairs)] = chances
    step = choose @ dynamics.transitions.toarray()
    y = np.linalg.solve(np.eye(dynamics.n_states) - dynamics.discount * step.T, dynamics.start)
    return np.asarray(by_pair(mdp).T @ (chances * y[dynamics.pair_states]))


def cases() -> Iterator[Case]:
    """All cases, made anew, so that a learner that breaks one breaks it for itself."""
    line = chain(5)
    right, away = [-2.0, -1.0, 0.0, 1.0, 2.0], [-1.0, -1.0, -1.0, 0.0, 0.0]
    # The expert does less of all that is seen than a policy that knows nothing: signs matter.
    yield _case("a chain of five cells", line, np.eye(5)[:3], away)
    yield _case("an empty worldview", line, np.empty((0, 5)), right)
    yield _case("features that are all zero", line, np.zeros((2, 5)), right)
    yield _case(
        "zero and duplicate features",
        line,
        [[1, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 1, 0, 0], [1, 0, 1, 0, 0]],
        right,
    )
    yield _case("features in tiny units", line, 1e-12 * np.eye(5)[1:4], right, mixed=True)
    units = np.array([1.0, 1e-9, 1e-4])
    yield _case("units that differ", line, units[:, None] * np.eye(5)[1:4], right, mixed=True)
    yield _case("a target inside the polytope", line, np.eye(5), right, mixed=True)
    yield _sampled("a sampled target that no policy has", line, np.eye(5), right)
    yield _far("a target far out of reach", line, [[1, 0, 0, 0, 0], [0, 1, -1, 0, 0]], right)
    yield _case("a discount of .999", chain(4, discount=0.999), np.eye(4)[:2], [0, 1, 0, 1])
    per_pair = line.with_features(np.cos(np.arange(24.0)).reshape(8, 3).round(2))
    yield _case("features per pair", per_pair, [[1, 0, 0], [0, 1, -1]], [1, -1, 1], mixed=True)
    yield _case(
        "one state",
        MDP.from_arrays(np.ones((1, 3, 1)), np.array([[[1, 0], [0, 1], [-1, -1]]]), discount=0.5),
        np.eye(2),
        [1, 2],
        mixed=True,
    )
    yield _case("one state, one action", MDP.from_arrays([[[1.0]]], [[3.0]], discount=0.9), [[2]])
    ring = MDP.from_arrays(np.roll(np.eye(4), 1, axis=1)[:, None], np.eye(4), discount=0.8)
    yield _case("one action in every state", ring, np.eye(4)[:2], [1, 0, 0, 0])
    yield _far("nothing to choose, and out of reach", ring, np.eye(4)[:3], [1, 0, 0, 0])
    yield _case("states that are never reached", _islands(), np.eye(3)[:2], [-1, 2, 0], mixed=True)
    yield _case("a terminal sink", _errand(), [[1, 0], [1, 1]], [-1, 5], mixed=True)
    slippery = gridworld(4, block=2, slip=0.3)
    yield _case("moves that slip", slippery, [[2, -2, 0, 4], [0, 1, 2, -2]], [0, 1, 2, 3])
    yield _case("sparse features", gridworld(4), np.eye(16)[[5, 10]], np.sin(np.arange(16)))


def _case(
    name: str, mdp: MDP, matrix: ArrayLike, weights: ArrayLike = (1.0,), *, mixed: bool = False
) -> Case:
    """An optimal policy is shown or, if `mixed`, a mixture of it with policies that are not."""
    w = np.array(weights, dtype=float)
    expert = optimal_policy(mdp, w).policy
    if mixed:
        expert = mixture(mdp, [expert, Policy.uniform(mdp), first_actions(mdp)], [0.5, 0.3, 0.2])
    view = Worldview(np.array(matrix, dtype=float))
    target = feature_expectations(view.observe(mdp), expert)
    return Case(name, mdp, view, frozen(w), expert, frozen(target))


def _sampled(name: str, mdp: MDP, matrix: ArrayLike, weights: ArrayLike) -> Case:
    case = _case(name, mdp, matrix, weights)
    rng = np.random.default_rng(0)
    shown = Demonstration.sample(mdp, case.expert, episodes=3, horizon=12, rng=rng)
    target = case.view.matrix @ shown.expectations
    return replace(case, target=frozen(target), reachable=False)


def _far(name: str, mdp: MDP, matrix: ArrayLike, weights: ArrayLike) -> Case:
    case = _case(name, mdp, matrix, weights)
    target = case.target + 5.0 * case.scale * np.cos(np.arange(case.view.n_rows))
    return replace(case, target=frozen(target), reachable=False)


def first_actions(mdp: MDP) -> Policy:
    """The policy that takes each state's first action."""
    return Policy.of_choice(mdp.dynamics, np.zeros(mdp.n_states, dtype=np.int64))


def _islands() -> MDP:
    """Two islands of two states, and a start on the first."""
    here, there = np.kron(np.eye(2), np.eye(2)), np.kron(np.eye(2), np.eye(2)[::-1])
    features = [[1, 0, 2], [0, 1, 0], [9, 9, 9], [-9, 7, 0]]
    start = [1.0, 0, 0, 0]
    return MDP.from_arrays(np.stack([here, there], 1), features, discount=0.9, start=start)


def _errand() -> MDP:
    """Wait or go; going ends the episode, in a sink without features and with one action."""
    return MDP.from_pairs(
        [0, 0, 1, 1, 2],
        [0, 1, 0, 1, 0],
        np.array([[0.5, 0.5, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 1]]),
        [[1, 0], [0, 1], [0, 0]],
        discount=0.9,
        start=[1.0, 0, 0],
    )
