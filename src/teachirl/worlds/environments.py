"""Gymnasium's environments: how they are made, and those that can be explored."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import InvalidInputError, MissingExtraError, require
from .map import map_from_names
from .minigrid import MiniGridSimulator, is_minigrid, without_observations
from .outcomes import read_outcomes
from .simulation import REWARD, explore
from .toy_text import about
from .world import World


@contextmanager
def made(name: str, arguments: Mapping[str, Any] | None = None) -> Iterator[Any]:
    """An environment by its id, which is closed in the end."""
    try:
        import gymnasium
    except ImportError as error:
        raise MissingExtraError("gymnasium", "gym") from error
    if name.startswith(("MiniGrid-", "BabyAI-")):
        _register_minigrid()
    given = dict(arguments or {})
    try:
        with warnings.catch_warnings():
            # An old version either works, or there is an error that says the same.
            warnings.simplefilter("ignore", DeprecationWarning)
            env = gymnasium.make(name, **given)
    except Exception as error:
        # What an environment makes of arguments that it does not know has no common type.
        if not given and not isinstance(error, (gymnasium.error.Error, ImportError)):
            raise
        told = "".join(f", {key} = {value!r}" for key, value in given.items())
        raise InvalidInputError(f"gymnasium cannot make {name!r}{told}: {error}") from error
    try:
        yield env
    finally:
        env.close()


def _register_minigrid() -> None:
    try:
        with warnings.catch_warnings():
            # What pygame says of its own dependencies is not for us to mend.
            warnings.simplefilter("ignore")
            import minigrid  # noqa: F401  # importing it makes its ids known
    except ImportError as error:
        raise MissingExtraError("minigrid", "minigrid") from error


def explored_environment(env: Any, discount: float, seed: int, limits: Mapping[str, Any]) -> World:
    """The world of an environment that is known well enough to be explored.

    Parameters
    ----------
    env : an environment of MiniGrid or of Gymnasium's toy text
    discount : float in (0, 1)
    seed : int, of the level of one that was not reset yet
    limits : of `simulation.explore`

    Returns
    -------
    World
    """
    base = env.unwrapped
    before = base.np_random
    try:
        if is_minigrid(base):
            return _minigrid(base, discount, seed, limits)
        return _toy_text(base, discount, limits)
    finally:
        base.np_random = before


def _minigrid(base: Any, discount: float, seed: int, limits: Mapping[str, Any]) -> World:
    if base.agent_pos is None:
        base.reset(seed=seed)
    simulator = MiniGridSimulator(base)
    with without_observations(base):
        explored = explore(simulator, **limits)
    simulator.reset()
    mdp = explored.mdp(discount, simulator.name)
    weights = np.eye(1, mdp.n_features)[0]
    around = simulator.map(mdp, explored.order)
    return World(mdp, weights, map=around, reward_feature=REWARD)


class ToyTextSimulator:
    """FrozenLake, CliffWalking or Taxi, stepped through instead of read from its table.

    Parameters
    ----------
    base : the environment, unwrapped
    """

    def __init__(self, base: Any) -> None:
        self.base, self.known = base, about(base)
        require(
            self.known.state_names is not None,
            f"{type(base).__name__} is not among those that can be explored, which are "
            "MiniGrid's, FrozenLake, CliffWalking and Taxi; others need a Simulator, which says "
            "how to save and load a state",
        )
        self.fickle = bool(getattr(base, "fickle_passenger", False))
        # What is told of a pair's outcomes is told of those of its table.
        self.table = read_outcomes(base, whole=False)
        self.columns = self.known.features(self.table)
        self.pairs = {
            pair: number
            for number, pair in enumerate(
                zip(self.table.states.tolist(), self.table.actions.tolist(), strict=True)
            )
        }
        self.numbers = {name: i for i, name in enumerate(self.known.action_names or ())}

    def rng(self, generator: Any) -> None:
        self.base.np_random = generator

    def reset(self) -> None:
        self.base.reset()

    def key(self) -> Hashable:
        state = int(self.base.s)
        return (state, bool(self.base.fickle_step)) if self.fickle else state

    save = key

    def load(self, saved: Any) -> None:
        if self.fickle:
            self.base.s, self.base.fickle_step = saved
        else:
            self.base.s = saved

    def actions(self) -> tuple[str, ...]:
        return tuple(self.numbers)

    def step(self, action: str) -> tuple[float, bool]:
        _, reward, over, _, _ = self.base.step(self.numbers[action])
        return float(reward), bool(over)

    def features(self, action: str) -> dict[str, float]:
        pair = self.pairs[int(self.base.s), self.numbers[action]]
        return {name: float(column[pair]) for name, column in self.columns.items()}

    def name(self, key: Any) -> str:
        """What to call a state."""
        assert self.known.state_names is not None
        state, undecided = key if self.fickle else (key, False)
        return f"{self.known.state_names[state]}{'; may change its mind' if undecided else ''}"


def _toy_text(base: Any, discount: float, limits: Mapping[str, Any]) -> World:
    simulator = ToyTextSimulator(base)
    known = simulator.known
    mdp = explore(simulator, **limits).mdp(discount, simulator.name)
    parts = {REWARD: 1.0} if known.reward is None else known.reward(simulator.table)
    weights = np.array([parts.get(name, 0.0) for name in mdp.feature_names or ()])
    around = map_from_names(mdp, known.texts, known.walls)
    return World(mdp, weights, map=around, reward_feature=REWARD)


__all__ = ["ToyTextSimulator", "explored_environment", "made"]
