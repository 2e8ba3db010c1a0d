"""Gymnasium environments that expose their transition table, as MDPs.

``env.unwrapped.P[s][a]`` lists outcomes (probability, next state, reward, terminated). An outcome
that ends the episode leads to one absorbing state ``end`` with zero features, whatever next state
it names. The reward of a pair is the expectation over its outcomes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from ..arrays import Floats
from ..errors import require
from ..mdp.model import MDP
from .environments import explored_environment, made
from .map import map_from_names
from .minigrid import is_minigrid
from .outcomes import Outcomes, read_outcomes
from .toy_text import about
from .world import World

FeatureFunction: TypeAlias = Callable[[int, int], Mapping[str, float] | Sequence[float] | Floats]


def from_gymnasium(env_or_id: Any, discount: float, features: FeatureFunction | None = None) -> MDP:
    """The MDP of a Gymnasium environment with a transition table, such as Taxi-v4.

    The first feature is the environment's own expected reward, ``reward``. Beside it stand named
    features of FrozenLake, CliffWalking and Taxi (`docs/worlds.md`), or the user's own. The start
    is the environment's ``initial_state_distrib``, or uniform if it has none. Wrappers and time
    limits are ignored. An environment made here, from its id, is closed again.

    Parameters
    ----------
    env_or_id : Env, or str, an id for ``gymnasium.make``
    discount : float in (0, 1)
    features : Callable of (state, action) that returns a dict of named features, in which a missing
        name means 0, or a vector of always the same length; it replaces the named features

    Returns
    -------
    MDP with features per pair

    Examples
    --------
    >>> import teachirl as ti
    >>> ti.worlds.from_gymnasium("CliffWalking-v1", discount=0.99)
    MDP(49 states, 193 state-action pairs, 6 features per pair, discount 0.99)
    >>> mdp = ti.worlds.from_gymnasium("CliffWalking-v1", 0.99, lambda s, a: {"up": a == 0})
    >>> mdp.feature_names
    ('reward', 'up')
    """
    return gymnasium_world(env_or_id, discount, features).mdp


def gymnasium_world(
    env_or_id: Any,
    discount: float,
    features: FeatureFunction | None = None,
    arguments: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> World:
    """The world of a Gymnasium environment: the MDP of `from_gymnasium`, and where states lie.

    Its weights are those of the environment's own reward: split into the features that it is made
    of where these are known, as they are for FrozenLake, CliffWalking and Taxi.

    Parameters
    ----------
    env_or_id, discount, features : as in `from_gymnasium`
    arguments : of an id, what ``gymnasium.make`` is given beside it
    seed : int, of the level of a MiniGrid that was not reset yet

    Returns
    -------
    World without prices
    """
    require(
        features is None or callable(features), f"features must be a function, got {features!r}"
    )
    if isinstance(env_or_id, str):
        with made(env_or_id, arguments) as env:
            return gymnasium_world(env, discount, features, seed=seed)
    base = getattr(env_or_id, "unwrapped", env_or_id)
    if features is None and (is_minigrid(base) or getattr(base, "fickle_passenger", False)):
        return explored_environment(env_or_id, discount, seed, {"progress": True})
    return _converted(base, discount, features)


def _converted(base: Any, discount: float, features: FeatureFunction | None) -> World:
    table, known = read_outcomes(base), about(base)
    columns = known.features(table) if features is None else _asked(features, table)
    parts = {"reward": 1.0}
    if features is None and known.reward is not None:
        parts = known.reward(table)
    named = {"reward": table.expected(table.rewards), **columns}
    phi = np.column_stack(list(named.values()))
    start = getattr(base, "initial_state_distrib", None)
    start = np.full(table.n_states, 1.0 / table.n_states) if start is None else np.array(start)
    require(
        start.shape == (table.n_states,),
        f"initial_state_distrib must have shape ({table.n_states},), got {start.shape}",
    )
    states, actions, names = table.states, table.actions, known.state_names
    targets, pairs, probabilities = table.targets, table.pairs, table.probabilities
    n_states = table.n_states
    if table.ended.any():
        end, n_states = n_states, n_states + 1
        targets = np.append(np.where(table.ended, end, targets), end)
        pairs, probabilities = np.append(pairs, len(states)), np.append(probabilities, 1.0)
        states, actions = np.append(states, end), np.append(actions, actions.min())
        phi, start = np.vstack([phi, np.zeros(phi.shape[1])]), np.append(start, 0.0)
        names = [*(names or map(str, range(end))), "end"]
    mdp = MDP.from_pairs(
        states,
        actions,
        sp.csr_array((probabilities, (pairs, targets)), shape=(len(states), n_states)),
        phi,
        discount=discount,
        start=start,
        state_names=names,
        action_names=known.action_names,
        feature_names=named,
    )
    weights = np.array([parts.get(name, 0.0) for name in named])
    around = map_from_names(mdp, known.texts, known.walls)
    finals = tuple(np.unique(table.targets[table.ended]).tolist())
    return World(mdp, weights, reward_feature="reward", map=around, finals=finals)


def _asked(features: FeatureFunction, table: Outcomes) -> dict[str, Floats]:
    """Columns [P] of the user's own features, by name."""
    n_pairs, length = len(table.states), None
    columns: dict[str, Floats] = {}
    for pair, (state, action) in enumerate(zip(table.states, table.actions, strict=True)):
        given: Any = features(int(state), int(action))
        place = f"features({state}, {action})"
        if not isinstance(given, Mapping):
            vector = np.asarray(given)
            length = len(vector) if vector.ndim == 1 and length is None else length
            require(
                vector.ndim == 1 and len(vector) == length,
                f"{place} must be a dict or a vector"
                f"{'' if length is None else f' of length {length}'}, got {given!r}",
            )
            given = {f"feature {i}": value for i, value in enumerate(vector)}
        for name, value in given.items():
            require(
                isinstance(name, str) and name != "reward",
                f"{place}: a name must be a string other than 'reward', got {name!r}",
            )
            require(
                isinstance(value, (int, float, np.bool_, np.integer, np.floating))
                and bool(np.isfinite(value)),
                f"{place}: {name} must be a finite number, got {value!r}",
            )
            columns.setdefault(name, np.zeros(n_pairs))[pair] = value
    return columns
