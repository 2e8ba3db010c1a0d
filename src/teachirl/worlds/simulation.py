"""Worlds from simulators: every step is run in every way its draws can come out.

A simulator can be put into any of its states, and draws its chances from the generator that it is
given. It gets one that branches (`branching.py`), so that probabilities are exact and nothing is
sampled. Whether `save`, `load` and `key` tell the whole state is found out afterwards: in real
episodes, without saving or loading, nothing may happen that was not explored (`conformance.py`).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, NoReturn, Protocol

import numpy as np

from ..errors import InvalidInputError, require
from .branching import BranchingGenerator
from .conformance import Conformance
from .exploration import Explored, Progress

METHODS = ("rng", "reset", "save", "load", "key", "actions", "step")
REWARD = "reward"


class Simulator(Protocol):
    """What `from_simulator` explores. It may also have a method ``features(action)``, which gives
    the features of an action in the present state, by name.

    Examples
    --------
    >>> import teachirl as ti
    >>> class Walk:
    ...     def rng(self, generator):
    ...         self.generator = generator
    ...     def reset(self):
    ...         self.place = 2
    ...     def save(self):
    ...         return self.place
    ...     def load(self, saved):
    ...         self.place = saved
    ...     def key(self):
    ...         return self.place
    ...     def actions(self):
    ...         return ["left", "right"]
    ...     def step(self, action):
    ...         stumbles = self.generator.random() < 0.1
    ...         self.place += -1 if (action == "left") != stumbles else 1
    ...         return float(self.place == 4), self.place in (0, 4)
    >>> world = ti.worlds.from_simulator(Walk(), discount=0.9)
    >>> world.mdp
    MDP(4 states, 7 state-action pairs, 1 feature per pair, discount 0.9)
    >>> round(ti.optimal_policy(world.mdp, world.weights).value, 3)
    0.853
    """

    def rng(self, generator: Any) -> None:
        """Take the generator to draw from, from now on.

        Parameters
        ----------
        generator : numpy.random.Generator, or what stands in for one
        """
        ...

    def reset(self) -> object:
        """Begin an episode.

        Returns
        -------
        object, which is ignored
        """
        ...

    def save(self) -> Any:
        """All that the present state is.

        Returns
        -------
        object, which must not change when the simulator goes on
        """
        ...

    def load(self, saved: Any) -> object:
        """Be in a state again.

        Parameters
        ----------
        saved : Any, what `save` returned

        Returns
        -------
        object, which is ignored
        """
        ...

    def key(self) -> Hashable:
        """What tells the present state from all others.

        Returns
        -------
        Hashable; its text is the state's name
        """
        ...

    def actions(self) -> Iterable[Hashable]:
        """What can be done in the present state.

        Returns
        -------
        iterable of actions, at least one
        """
        ...

    def step(self, action: Any) -> tuple[float, bool]:
        """Do it.

        Parameters
        ----------
        action : Hashable, one of `actions`

        Returns
        -------
        tuple of the reward, and whether the episode ends
        """
        ...


def explore(
    simulator: Simulator,
    *,
    max_states: int = 1_000_000,
    max_seconds: float = math.inf,
    max_branches: int = 10_000,
    episodes: int = 20,
    progress: Progress = False,
) -> Explored:
    """All that a simulator can do, compared with what it does."""
    for method in METHODS:
        require(
            callable(getattr(simulator, method, None)),
            f"simulator must have a method {method}, {type(simulator).__name__} has none",
        )
    require(max_branches >= 1, f"max_branches must be at least 1, got {max_branches}")
    require(episodes >= 0, f"episodes must not be negative, got {episodes}")
    model = _Branched(simulator, max_branches)
    explored = Explored(model, max_states, max_seconds, what="simulator")
    model.watch(explored)
    try:
        explored.begin()
        explored.run(progress)
    finally:
        # Nobody should go on with a generator that draws nothing; and the seed is of no importance.
        simulator.rng(np.random.default_rng(0))
    Conformance(simulator, explored, model.rewards).check(episodes, np.random.default_rng(0))
    return explored


class _Branched:
    """A simulator as a `Model`, whose states are keys."""

    def __init__(self, simulator: Simulator, max_branches: int) -> None:
        self.simulator, self.max_branches = simulator, max_branches
        self.saved: dict[Hashable, Any] = {}
        self.known: Mapping[Hashable, int] = {}
        self.here: Any = None
        self.expected = 0.0
        # Of each outcome, in the order of exploration.
        self.rewards = array("d")

    def watch(self, explored: Explored) -> None:
        """Draw from a generator that branches, until the time is up."""
        self.known = explored.numbers
        self.generator = BranchingGenerator(self.max_branches, explored.deadline)
        with _blaming("rng(generator)"):
            self.simulator.rng(self.generator)

    def start(self) -> Iterator[tuple[float, Hashable]]:
        with _blaming("reset()"):
            yield from self.generator.every(self._begun)

    def actions(self, state: Hashable) -> Iterable[Hashable]:
        with _blaming(f"load(saved) in state {state!r}"):
            self.here = self.saved.pop(state)
            self.simulator.load(self.here)
            found = self.simulator.key()
        require(
            found == state,
            f"simulator.load(saved) leads to the state {found!r} instead of {state!r}, which was "
            "saved: save must give all of a state, and nothing that changes later",
        )
        with _blaming(f"actions() in state {state!r}"):
            return tuple(self.simulator.actions())

    def outcomes(
        self, state: Hashable, action: Hashable
    ) -> Iterable[tuple[float, Hashable | None]]:
        found: dict[tuple[Hashable, float], float] = {}
        with _blaming(f"step({action!r}) in state {state!r}"):
            for chance, outcome in self.generator.every(lambda: self._stepped(action)):
                found[outcome] = found.get(outcome, 0.0) + chance
        self.expected = math.fsum(chance * reward for (_, reward), chance in found.items())
        require(
            math.isfinite(self.expected),
            f"simulator.step({action!r}) in state {state!r} must give a finite reward, got "
            f"{self.expected}",
        )
        self.rewards.extend(reward for _, reward in found)
        return [(chance, key) for (key, _), chance in found.items()]

    def features(self, state: Hashable, action: Hashable) -> Mapping[str, float]:
        features = getattr(self.simulator, "features", None)
        if features is None:
            return {REWARD: self.expected}
        with _blaming(f"features({action!r}) in state {state!r}"):
            self.simulator.load(self.here)
            given = features(action)
            named = {REWARD: self.expected, **given}
        require(REWARD not in given, f"simulator.features must not be called {REWARD!r}")
        return named

    def _begun(self) -> Hashable:
        self.simulator.reset()
        return self._noted()

    def _stepped(self, action: Hashable) -> tuple[Hashable, float]:
        self.simulator.load(self.here)
        reward, over = self.simulator.step(action)
        return None if over else self._noted(), float(reward)

    def _noted(self) -> Hashable:
        """The key of the present state, which is saved if it is new."""
        key = self.simulator.key()
        if key is None:
            raise InvalidInputError("simulator.key() must not be None, which stands for the end")
        if key not in self.known and key not in self.saved:
            self.saved[key] = self.simulator.save()
        return key


class _blaming:  # noqa: N801  # it reads as a verb
    """Tells errors of the simulator's as its own, with the call and the state."""

    def __init__(self, call: str) -> None:
        self.call = call

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        if isinstance(error, InvalidInputError):
            said = str(error)
            if not said.startswith("simulator."):
                raise InvalidInputError(f"simulator.{self.call}: {said}") from error
        elif isinstance(error, Exception):
            self._blame(error)

    def _blame(self, error: Exception) -> NoReturn:
        raise InvalidInputError(
            f"simulator.{self.call} raised {type(error).__name__}: {error}"
        ) from error


__all__ = ["REWARD", "Simulator", "explore"]
