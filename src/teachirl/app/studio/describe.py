"""A problem as the desk draws it: its features, its goals, and where its states lie."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from ...demonstrations.sampling import sample_trajectories
from ...mdp.model import MDP
from ...mdp.occupancy import occupancy
from ...mdp.policy import Policy
from ...mdp.terminal import terminal_states
from ...worlds.map import Map
from ...worlds.pictures import Whereabouts
from ..decisions import acquaint
from ..document.goals import asked_for
from ..problem import Problem
from .choice import shows, unanswered

# What is larger is a blur on a screen, and slow to draw: then a table is shown.
MOST_CELLS = 2500
# Features that are listed one by one; states of which a table tells; steps of an episode.
LISTED, STATES, STEPS = 300, 12, 60


def described(problem: Problem) -> dict[str, Any]:
    """All of a problem that does not depend on what is chosen.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    dict, for JSON
    """
    mdp, task = problem.mdp, problem.task
    around = drawable(problem.world.map)
    return {
        "title": problem.title,
        "digest": digest(problem),
        "file": problem.path.name,
        "features": features(problem),
        "left_out": max(0, mdp.n_features - LISTED),
        "states": mdp.n_states,
        "discount": mdp.discount,
        "show": shows(problem),
        "mismatch": problem.mismatch,
        "mismatch_most": _most_mismatch(problem),
        "unknown": None if problem.unknown is None else known(problem),
        "wanted": problem.until,
        "goals": [asked_for(goal) for goal in problem.goals],
        "rewards": None if problem.rewards is None else problem.rewards.sentence,
        "best": task.best.value,
        "worst": task.worst.value,
        "map": None if around is None else geometry(around),
    }


def digest(problem: Problem) -> str:
    """What tells a problem from another: its text, that of the files it names, and what was changed
    of it by options."""
    texts = [problem.source, *(f"{name} {sha}" for name, sha in problem.files), *problem.options]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def features(problem: Problem) -> list[dict[str, Any]]:
    """What the learner sees, what could be taught, and the rest, in the world's order."""
    mdp, taught = problem.mdp, problem.teachables
    prices = dict(zip(taught.names, taught.costs.tolist(), strict=True))
    required = {taught.names[i] for i in taught.required}
    forbidden = {taught.names[i] for i in taught.forbidden}
    own = [mdp.feature_name(i) for i in range(mdp.n_features)]
    weights = dict(zip(own, problem.weights.tolist(), strict=True))
    seen = list(problem.view.names or ())
    found = []
    for name in dict.fromkeys([*seen, *taught.names, *own]):
        price = prices.get(name)
        kind = "closed" if price is None or name in forbidden else "sale"
        kind = "required" if name in required else kind
        found.append(
            {
                "name": name,
                "kind": "seen" if name in seen else kind,
                "price": price if name not in forbidden else None,
                "weight": weights.get(name),
                # What the learner's own combinations are made of is not switched here.
                "fixed": name not in weights and name in seen,
            }
        )
    return found[:LISTED]


def drawable(around: Map | None) -> Map | None:
    """The map, if there is one that is not too large."""
    if around is None or around.shape[0] * around.shape[1] > MOST_CELLS:
        return None
    return around


def geometry(around: Map, *, texts: bool = True) -> dict[str, Any]:
    """Cells, walls and names of a map; without texts, which say what lies in cells."""
    return {
        "rows": around.shape[0],
        "columns": around.shape[1],
        "texts": list(around.texts) if texts else [],
        "walls": [] if around.walls is None else np.asarray(around.walls).tolist(),
        "row_names": list(around.row_names),
        "column_names": list(around.column_names),
    }


def behaviour(problem: Problem, policy: Policy, seed: int = 0) -> dict[str, Any]:
    """What a policy does: visits and arrows, the states it is in most, and an episode of it."""
    mdp, around = problem.mdp, drawable(problem.world.map)
    x = occupancy(mdp, policy)
    found: dict[str, Any] = {"episode": episode(mdp, problem.world.map, policy, seed)}
    if around is not None:
        drawn = Whereabouts(mdp, around, x)
        visits = np.where(drawn.visited, drawn.visits, 0.0)
        found["visits"] = [float(f"{each:.4g}") for each in visits]
        found["moves"] = drawn.moves().tolist()
        found["sentence"] = drawn.sentence()
    else:
        found["most"] = most_visited(mdp, x)
    return found


def most_visited(mdp: MDP, x: np.ndarray) -> list[dict[str, Any]]:
    """The states that are visited most, and what is done there; not those where all is over."""
    dynamics = mdp.dynamics
    visits = np.bincount(dynamics.pair_states, x, minlength=mdp.n_states)
    visits[terminal_states(mdp)] = 0.0
    order = np.argsort(-np.round(visits, 9), kind="stable")[:STATES]
    rows = []
    for state in order[visits[order] > 1e-9]:
        own = slice(dynamics.offsets[state], dynamics.offsets[state + 1])
        action = int(dynamics.actions[own][int(np.argmax(np.round(x[own], 9)))])
        rows.append(
            {
                "state": dynamics.state_name(int(state)),
                "visits": float(visits[state]),
                "action": dynamics.action_name(action),
            }
        )
    return rows


def episode(mdp: MDP, around: Map | None, policy: Policy, seed: int) -> list[dict[str, Any]]:
    """The steps of an episode, as they are played."""
    rng, dynamics = np.random.default_rng(seed), mdp.dynamics
    found = sample_trajectories(mdp, policy, episodes=1, horizon=STEPS, rng=rng)
    steps = []
    for state, pair in zip(found.states.tolist(), found.pairs.tolist(), strict=True):
        step: dict[str, Any] = {
            "state": dynamics.state_name(state),
            "action": dynamics.action_name(int(dynamics.actions[pair])),
        }
        if around is not None:
            step["cell"] = int(around.cells[state])
        steps.append(step)
    return steps


def known(problem: Problem) -> dict[str, Any]:
    """What is known of a learner who is unknown."""
    found = acquaint(problem)
    return {
        "candidates": [
            {"name": each.name, "standing": each.standing.value, "alike": list(each.alike)}
            for each in found.candidates
        ],
        "guaranteed": found.guaranteed,
        "at_most": found.at_most,
        "next": found.next_file,
        "drawn": unanswered(problem.path),
        "p_value": found.diagnosis.p_value,
        "answered": len(problem.unknown.exchanges) if problem.unknown is not None else 0,
    }


def _most_mismatch(problem: Problem) -> float:
    """Where the slider ends: a tenth of the longest that can be seen of a policy."""
    seen = problem.worldview.matrix @ problem.task.demonstration.expectations
    size = float(np.linalg.norm(seen)) or problem.mdp.largest_feature / (1.0 - problem.mdp.discount)
    return float(f"{0.25 * size:.1g}")


__all__ = ["behaviour", "described", "drawable", "geometry"]
