"""Small worlds that go through what the commands do, so that it is compiled.

A step is a few calls for some kind of world. Kernels that stand alone come first, so that processes
which take one step after another wait little for each other.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from ... import worlds
from ...arrays import Floats
from ...demonstrations.estimation import estimate_mdp
from ...demonstrations.sampling import sample_trajectories
from ...guarantees.solvers.master import Master
from ...guarantees.worst_case import worst_case
from ...learners import MaxCausalEntropy, MinNormPoint, Projection
from ...mdp.evaluation import OFTEN, usual_way
from ...mdp.model import MDP
from ...mdp.occupancy import chain_of, feature_expectations, state_flow
from ...mdp.planning import optimal_policies, optimal_policy
from ...mdp.policy import Policy
from ...mdp.soft_planning import soft_policy
from ...selection.best_subset import best_subset
from ...views.worldview import Worldview
from ..decisions import assess, frontier, plan
from ..problem import read_problem

PROBLEMS = {
    "a road": """
world = { name = "driving", sight = 1, traffic = [
    { lane = "left", density = 0.2, slow = 0.0, medium = 0.5, fast = 0.5 },
    { lane = "right", density = 0.2, slow = 0.5, medium = 0.5, fast = 0.0 }] }
learner = { sees = ["slow", "fast"] }
teach = { feature = [{ name = "lane change" }, { name = "braking" }, { name = "ahead 1" }] }
""",
    "a grid": """
world = { name = "gridworld", size = 4, block = 2, slip = 0.1 }
reward = { weights = { "cell 0" = 1.0, "cell 3" = -1.0 } }
learner = { sees = ["cell 1"] }
teach = { features = "all" }
""",
    "a chain": """
world = { name = "chain", cells = 6 }
reward = { weights = { "cell 1" = 1.0, "cell 6" = -1.0 } }
learner = { sees = ["cell 2"] }
teach = { features = "all" }
""",
}


def _decide(text: str) -> None:
    """What `certify`, `teach` and `frontier` do."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "problem.toml"
        file.write_text(text, encoding="utf-8")
        problem = read_problem(file)
        assess(problem)
        plan(problem)
        frontier(problem, seconds=1.0)


def _weights(mdp: MDP) -> Floats:
    return np.linspace(-1.0, 1.0, mdp.n_features)


def _plan(mdp: MDP) -> None:
    weights = _weights(mdp)
    optimal_policy(mdp, weights)
    optimal_policies(mdp, np.stack([weights, -weights, np.abs(weights)]))


def _garnet(per_pair: bool = False, branching: int = 5) -> MDP:
    rng = np.random.default_rng(0)
    return worlds.garnet(rng, 100, 3, branching, 3, per_pair=per_pair)


def _six_moves(per_pair: bool) -> None:
    """Plans and a worst case, for six deterministic actions."""
    rng = np.random.default_rng(0)
    mdp = worlds.garnet(rng, 20, 6, 1, 3, per_pair=per_pair)
    _plan(mdp)
    worst_case(mdp, Worldview(np.eye(3)[:1]), np.ones(3), optimal_policy(mdp, np.ones(3)).policy)


def _one_way() -> MDP:
    """A world without cycles."""
    n = 40
    rows = np.triu(np.random.default_rng(0).random((2, n, n)), 1).swapaxes(0, 1)
    rows[-1, :, -1] = 1.0
    return MDP.from_arrays(rows, np.eye(n)[:, :3], discount=0.9, normalize=True)


def _evaluate() -> None:
    mdp = _garnet()
    for sparse in (True, False):
        chain = chain_of(mdp, Policy.uniform(mdp), sparse)
        # Values first: commands begin with visits, and need not wait for those meanwhile.
        chain.values(np.eye(mdp.n_states)[:, :1])
        chain.values(np.eye(mdp.n_states)[:, :8])
        chain.visits(np.asarray(mdp.start)[:, None])
    usual_way(chain)
    long = worlds.chain(1000)
    state_flow(long, Policy.uniform(long), np.eye(1000)[0])
    slow = worlds.chain(200, discount=0.999)
    usual_way(chain_of(slow, Policy.uniform(slow)))


def _evaluate_often() -> None:
    mdp = _garnet()
    chain = chain_of(mdp, Policy.uniform(mdp))
    for _ in range(OFTEN + 1):
        chain.values(np.eye(mdp.n_states)[:, :1])
        chain.visits(np.asarray(mdp.start)[:, None])


def _minimise() -> None:
    master, rng = Master(3, 2), np.random.default_rng(0)
    master.add(rng.random((6, 3)), rng.random(6), np.arange(6) % 2, 0)
    master.solve(np.zeros(3), 1.0, 1e-9)


def _learn() -> None:
    for mdp in (_garnet(), worlds.gridworld(4, 2)):
        target = feature_expectations(mdp, optimal_policy(mdp, _weights(mdp)).policy)
        for learner in (Projection(), MinNormPoint(), MaxCausalEntropy()):
            learner.learn(mdp, target)


def _choose() -> None:
    rows, weights = np.random.default_rng(0).normal(size=(10, 12)), np.linspace(1.0, 2.0, 12)
    best_subset(Worldview(np.eye(12)[:1]), weights, rows, size=4)


def _sample() -> None:
    mdp, rng = _garnet(), np.random.default_rng(0)
    for policy in (Policy.uniform(mdp), optimal_policy(mdp, np.ones(3)).policy):
        sample_trajectories(mdp, policy, episodes=4, horizon=20, rng=rng)


def _log() -> None:
    counts = np.array([[[3, 2], [0, 4]], [[1, 5], [2, 2]]])
    model = estimate_mdp(counts, np.eye(2), discount=0.9)
    policy = Policy.uniform(model.nominal)
    worst_case(model, Worldview(np.eye(2)[:1]), np.array([1.0, -1.0]), policy)


def _soft() -> None:
    soft_policy(_garnet(), np.ones(3))


STEPS: dict[str, Callable[[], None]] = {
    "worst cases": _minimise,
    "plans, sparse, features of pairs": lambda: _plan(_garnet(per_pair=True)),
    "soft plans": _soft,
    "plans, tables": lambda: _plan(worlds.gridworld(4, 2, slip=0.1)),
    "plans, sparse": lambda: _plan(_garnet()),
    "policies": _evaluate,
    "plans, tables, features of pairs": lambda: _plan(_garnet(per_pair=True, branching=1)),
    "plans by components": lambda: _plan(_one_way()),
    "wide tables": partial(_six_moves, per_pair=False),
    "wide tables, features of pairs": partial(_six_moves, per_pair=True),
    "learners": _learn,
    "policies of small worlds": _evaluate_often,
    "sets of features": _choose,
    "samples": _sample,
    "worlds known from a log": _log,
    **{name: partial(_decide, text) for name, text in PROBLEMS.items()},
}
# What most commands need after their first plan.
LATER = ("worst cases", "soft plans", "policies")
