"""Whether a simulator really does what was explored: real episodes, without saving or loading."""

from __future__ import annotations

from array import array
from collections.abc import Hashable
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from ..arrays import Ints
from ..errors import InvalidInputError
from .exploration import Explored

# An episode is compared up to this step; one that heads for a state, for as many more.
STEPS = 200


class Conformance:
    """Compares episodes with what was explored.

    Parameters
    ----------
    simulator : Simulator
    explored : Explored, all that it can do
    rewards : array, that of each outcome
    """

    def __init__(self, simulator: Any, explored: Explored, rewards: array[float]) -> None:
        self.simulator, self.explored = simulator, explored
        self.rewards = rewards
        self.first = np.searchsorted(
            np.asarray(explored.pair_states), np.arange(len(explored.order) + 1)
        )
        self.actions = list(explored.action_numbers)

    def check(self, episodes: int, rng: np.random.Generator) -> None:
        """Refuse the simulator if something happens that was not explored.

        Every other episode heads for a state drawn from all of them, by the way on which it was
        first met; the others act at random. What deep states do is then seen, too.

        Parameters
        ----------
        episodes : int
        rng : numpy.random.Generator, for the simulator and for what is done
        """
        try:
            self.simulator.rng(rng)
            for episode in range(episodes):
                heading = episode % 2 == 1
                goal = int(rng.integers(len(self.explored.order))) if heading else None
                self._episode(episode, {} if goal is None else self._way(goal), rng)
        except InvalidInputError:
            raise
        except Exception as error:
            raise InvalidInputError(
                f"simulator: a real episode, which the exploration says is possible, raised "
                f"{type(error).__name__}: {error}"
            ) from error

    def _episode(self, episode: int, way: dict[int, int], rng: np.random.Generator) -> None:
        self.simulator.reset()
        steps = STEPS + len(way)
        state = self._known(episode, 0, None, None)
        for step in range(steps):
            pairs = range(self.first[state], self.first[state + 1])
            pair = way[state] if state in way else int(rng.choice(pairs))
            action = self.actions[self.explored.pair_actions[pair]]
            if action not in list(self.simulator.actions()):
                self._refuse(
                    episode, step, state, action, "which its actions() do not hold this time"
                )
            reward, over = self.simulator.step(action)
            number = -1 if over else self._known(episode, step, state, action)
            self._possible(episode, step, pair, number, float(reward))
            if over:
                return
            state = number

    def _known(self, episode: int, step: int, state: int | None, action: Hashable) -> int:
        key = self.simulator.key()
        number = self.explored.numbers.get(key)
        if number is None:
            why = f"which leads to the state {key!r}, which was never met"
            self._refuse(episode, step, state, action, why)
        return number

    def _possible(self, episode: int, step: int, pair: int, number: int, reward: float) -> None:
        """Refuse an outcome that the pair was not found to have."""
        begin, end = self.explored.ends[pair], self.explored.ends[pair + 1]
        known = [(self.explored.targets[i], self.rewards[i]) for i in range(begin, end)]
        if (number, reward) not in known:
            state = self.explored.pair_states[pair]
            action = self.actions[self.explored.pair_actions[pair]]
            others = " or ".join(self._told(*each) for each in known[:3])
            why = f"which gives {self._told(number, reward)}, but was explored to give {others}"
            self._refuse(episode, step, state, action, why)

    def _told(self, number: int, reward: float) -> str:
        where = "the end" if number < 0 else f"the state {self.explored.order[number]!r}"
        return f"{where} with reward {reward:g}"

    def _refuse(
        self, episode: int, step: int, state: int | None, action: Hashable, why: str
    ) -> NoReturn:
        done = "it begins"
        if state is not None:
            done = f"it does {action!r} in the state {self.explored.order[state]!r}"
        raise InvalidInputError(
            f"simulator: what it does is not what was explored. In a real episode (number "
            f"{episode + 1}, step {step + 1}) {done}, {why}. Something that matters is not in what "
            "save() gives or load(saved) takes, or not in key()"
        )

    @cached_property
    def _parents(self) -> Ints:
        """[S], the pair by which each state was first met; −1 for those where episodes begin."""
        targets = np.asarray(self.explored.targets)
        pairs = np.repeat(np.arange(len(self.explored.pair_states)), np.diff(self.explored.ends))
        parents = np.full(len(self.explored.order), -1, dtype=np.int64)
        # The last one to be written is the first one that was met.
        inside = np.flatnonzero(targets >= 0)[::-1]
        parents[targets[inside]] = pairs[inside]
        for _, state in self.explored.starts:
            parents[state] = -1
        return parents

    def _way(self, goal: int) -> dict[int, int]:
        """By state, the pairs on the way by which a state was first met."""
        way, state = {}, goal
        while self._parents[state] >= 0:
            pair = int(self._parents[state])
            state = self.explored.pair_states[pair]
            way[state] = pair
        return way


__all__ = ["Conformance"]
