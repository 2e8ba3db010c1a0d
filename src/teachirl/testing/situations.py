"""The situations that `check_teacher` puts a teacher in: small, and awkward on purpose."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..demonstrations.demonstration import Demonstration
from ..mdp.model import MDP
from ..mdp.planning import optimal_policy, worst_policy
from ..mdp.policy import Policy
from ..teachers import Situation
from ..teaching.matching import Matching
from ..teaching.task import Task
from ..views.worldview import Worldview
from ..worlds import chain, gridworld


@dataclass(frozen=True, eq=False)
class Scene:
    """A situation, and what is special about it."""

    name: str
    situation: Situation


RIGHT = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])


def scenes() -> Iterator[Scene]:
    """All scenes, made anew, so that a teacher who breaks one breaks it for itself."""
    line, one = chain(5), np.eye(5)
    middle, rest = one[[2]], one[[0, 1, 3, 4]]
    yield _scene("a chain of five cells", line, RIGHT, middle, one)
    yield _scene("an empty worldview", line, RIGHT, one[:0], one)
    yield _scene("a worldview that sees everything", line, RIGHT, one, one)
    yield _scene("a reward that is seen", line, RIGHT, [RIGHT], one)
    yield _scene("a reward of which all policies earn the same", line, np.ones(5), middle, one)
    awkward = [one[0], 0 * one[0], one[2], one[0], one[4], -3 * one[4], one[0] + one[2], 0 * one[0]]
    yield _scene("zero, duplicate and dependent features", line, RIGHT, middle, awkward)
    yield _scene("nothing but zero features", line, RIGHT, middle, np.zeros((3, 5)))
    yield _scene("features in tiny units", line, RIGHT, 1e-12 * middle, 1e-12 * rest)
    yield _scene("a reward in tiny units", line, 1e-12 * RIGHT, middle, rest)
    yield _scene("one feature to teach", line, RIGHT, middle, one[[4]])
    yield _scene("one candidate left", line, RIGHT, middle, rest, taught=(3, 0, 2))
    yield _scene("some taught, one more to teach", line, RIGHT, middle, one, taught=(4, 1), left=1)
    yield _scene("forbidden features", line, RIGHT, middle, one, forbidden=[4, 0])
    yield _scene("required features", line, RIGHT, middle, one, required=[1, 3])
    yield _scene("a required feature of no use", line, RIGHT, one, one, required=[2])
    costs = [5.0, 1.0, 1.0, 2.0, 6.0]
    yield _scene("costs, and much money", line, RIGHT, middle, one, costs=costs, money=9.0)
    yield _scene("costs, and little money", line, RIGHT, middle, one, costs=costs, money=2.0)
    yield _scene("costs that do not matter", line, RIGHT, middle, one, costs=costs)
    yield _scene(
        "required and dear",
        line,
        RIGHT,
        middle,
        one,
        costs=costs,
        money=7.0,
        required=[0, 2],
        taught=(2,),
    )
    # Whatever was learned is allowed: a policy that is bad, and one with one action a state.
    yield _scene("a learner who does worst", line, RIGHT, middle, one, policy=_worst(line, RIGHT))
    uniform = Demonstration.of_policy(line, Policy.uniform(line))
    yield _scene("an expert who does nothing well", line, RIGHT, middle, one, demonstration=uniform)
    yield _scene("a mismatch that is allowed", line, RIGHT, middle, one, mismatch=0.5)
    sampled = _sampled(line, RIGHT)
    yield _scene(
        "a sampled demonstration",
        line,
        RIGHT,
        middle,
        one,
        demonstration=sampled,
        mismatch=sampled.error,
    )
    yield _scene(
        "a sampled demonstration that is to be matched",
        line,
        RIGHT,
        middle,
        one,
        demonstration=sampled,
    )
    long = chain(4, discount=0.999)
    yield _scene("a discount of .999", long, [0, 1, 0, 1], np.eye(4)[:1], np.eye(4))
    per_pair = line.with_features(np.cos(np.arange(24.0)).reshape(8, 3).round(2))
    yield _scene("features per pair", per_pair, [1, -1, 1], [[0, 1, -1]], np.eye(3))
    bandit = MDP.from_arrays(
        np.ones((1, 3, 1)), np.array([[[1, 0], [0, 1], [-1, -1]]]), discount=0.5
    )
    yield _scene("one state", bandit, [1, 2], [[1, -1]], np.eye(2))
    lone = MDP.from_arrays([[[1.0]]], [[3.0]], discount=0.9)
    yield _scene("one state, one action", lone, [1.0], np.empty((0, 1)), [[2.0], [0.0]])
    ring = MDP.from_arrays(np.roll(np.eye(4), 1, axis=1)[:, None], np.eye(4), discount=0.8)
    yield _scene("one action in every state", ring, [1, 0, 0, 0], np.eye(4)[:1], np.eye(4))
    slippery = gridworld(4, block=2, slip=0.3)
    yield _scene("moves that slip", slippery, [0, 1, 2, 3], [[2, -2, 0, 4]], np.eye(4))
    sparse = np.sin(np.arange(16))
    yield _scene("sparse features", gridworld(4), sparse, np.eye(16)[[5]], np.eye(16)[:6])


def candidates_of(task: Task, taught: tuple[int, ...], money: float) -> list[int]:
    """Who may be taught next; while some are required, those alone."""
    needed = [feature for feature in task.required if feature not in taught]
    free = needed or [
        feature
        for feature in range(len(task.teachable))
        if feature not in taught and feature not in task.forbidden
    ]
    return sorted(feature for feature in free if task.costs[feature] <= money)


def _scene(
    name: str,
    mdp: MDP,
    weights: ArrayLike,
    matrix: ArrayLike,
    teachable: ArrayLike,
    *,
    taught: tuple[int, ...] = (),
    left: int | None = None,
    money: float = math.inf,
    mismatch: float = 0.0,
    policy: Policy | None = None,
    **options: Any,
) -> Scene:
    """A task with `options`; `left` features and `money` are there for what is not yet taught."""
    task = Task(mdp, weights, Worldview(np.array(matrix, dtype=float)), teachable, **options)
    view = task.worldview
    for feature in taught:
        view = view.extend(task.teachable[feature], task.names[feature])
    situation = Situation(
        task=task,
        view=view,
        demonstration=task.demonstration,
        policy=Policy.uniform(mdp) if policy is None else policy,
        taught=taught,
        candidates=np.array(candidates_of(task, taught, money)),
        features_left=len(task.teachable) - len(taught) if left is None else left,
        cost_left=money,
        matching=Matching(mismatch),
    )
    return Scene(name, situation)


def _worst(mdp: MDP, weights: ArrayLike) -> Policy:
    return worst_policy(mdp, weights).policy


def _sampled(mdp: MDP, weights: ArrayLike) -> Demonstration:
    """What an optimal policy was seen to do in a few episodes; which policy it was is not told."""
    expert, rng = optimal_policy(mdp, weights).policy, np.random.default_rng(0)
    shown = Demonstration.sample(mdp, expert, episodes=200, horizon=40, rng=rng)
    return Demonstration(shown.expectations, shown.bias, shown.radius, shown.confidence)
