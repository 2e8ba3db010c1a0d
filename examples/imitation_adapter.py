"""Algorithms of the library `imitation` as learners: behavioural cloning, GAIL, AIRL.

`Imitator` is the adapter. It hands what the learner sees of the episodes to any function that
trains on them, and makes one stationary policy of what comes out. `behavioural_cloning` and
`adversarial` are such functions, for `imitation` (tried with its version 1.0.1):

    pip install imitation

Run it with `python examples/imitation_adapter.py`. Networks are trained anew in each round, which
takes long; each algorithm's lesson is printed when it is done. None of these algorithms promises to
match feature expectations: what is guaranteed to whoever matches is guaranteed to them only as far
as they do, which the lesson's column `mismatch` says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

import teachirl as ti
from teachirl.errors import require
from teachirl.learners import Assignment, Learned, LearnStatus

# The probability of each action [m, A] where things look like that [m, ℓ]; and what finds it, given
# the world and the episodes as they are seen.
Chances: TypeAlias = Callable[[np.ndarray], np.ndarray]
Train: TypeAlias = Callable[[ti.MDP, ti.Observations], Chances]


@dataclass(frozen=True)
class Imitator:
    """A learner who does what a function makes of the episodes that were shown.

    Parameters
    ----------
    train : Train; it must give the same each time
    """

    train: Train
    matches: ClassVar[bool] = False  # not by intent

    def learn(
        self,
        seen: ti.MDP,
        target: ArrayLike,
        start: ti.Policy | None = None,
        observations: ti.Observations | None = None,
    ) -> Learned:
        task = Assignment(seen, target, start, observations)
        require(observations is not None, "an imitator needs episodes: show a sample, or records")
        dynamics = seen.dynamics
        chances_of = self.train(seen, observations)
        chances = np.asarray(chances_of(dense(seen.features)), dtype=float)
        # Features are of a state, and each of its pairs has an action; or they are of the pair.
        rows = np.arange(seen.n_pairs) if seen.features_per_pair else dynamics.pair_states
        taken = chances[rows, dynamics.actions]
        sums = np.add.reduceat(taken, dynamics.offsets[:-1])[dynamics.pair_states]
        # Where only actions are wanted that do not exist, it does what it did before.
        taken = np.where(sums > 0, taken / np.where(sums > 0, sums, 1.0), task.start.probabilities)
        policy = ti.Policy(dynamics, chances=taken)
        return task.report(policy, np.zeros(seen.n_features), 0, [], LearnStatus.SETTLED)


def dense(features: Any) -> np.ndarray:
    """Features [n, ℓ], in single precision as networks want them; who sees nothing sees a 1."""
    table = features if isinstance(features, np.ndarray) else features.toarray()
    ones = np.ones((len(table), 1 if table.shape[1] == 0 else 0))
    return np.hstack([table, ones]).astype(np.float32)


def transitions(observations: ti.Observations) -> Any:
    """Steps as `imitation` has them. What follows the last one of an episode nobody recorded."""
    from imitation.data import types

    shown = dense(observations.features)
    steps = np.setdiff1d(np.arange(observations.n_steps), observations.offsets[1:] - 1)
    return types.Transitions(
        obs=shown[steps],
        acts=observations.actions[steps],
        infos=np.array([{}] * len(steps)),
        next_obs=shown[steps + 1],
        dones=np.zeros(len(steps), dtype=bool),
    )


def spaces(seen: ti.MDP) -> tuple[Any, Any]:
    """What can be seen, and done, as Gymnasium says it."""
    from gymnasium import spaces

    width = dense(seen.features[:1]).shape[1:]
    return spaces.Box(-np.inf, np.inf, width, np.float32), spaces.Discrete(seen.n_actions)


def behavioural_cloning(epochs: int = 20, seed: int = 0) -> Train:
    """`imitation.algorithms.bc.BC`: a network that makes the expert's actions likely."""

    def train(seen: ti.MDP, observations: ti.Observations) -> Chances:
        import torch
        from imitation.algorithms import bc
        from imitation.util import logger

        torch.manual_seed(seed)
        looks, actions = spaces(seen)
        shown = transitions(observations)
        algorithm = bc.BC(
            observation_space=looks,
            action_space=actions,
            demonstrations=shown,
            rng=np.random.default_rng(seed),
            batch_size=min(32, len(shown)),
            device="cpu",
            custom_logger=logger.configure(format_strs=[]),
        )
        algorithm.train(n_epochs=epochs, progress_bar=False)
        return _chances(algorithm.policy)

    return train


def adversarial(name: str = "GAIL", steps: int = 20_000, seed: int = 0) -> Train:
    """`imitation`'s GAIL or AIRL: a policy that a network cannot tell from the expert's.

    They act in the world as it is seen, and so need features per state.
    """

    def train(seen: ti.MDP, observations: ti.Observations) -> Chances:
        import torch
        from imitation.algorithms.adversarial import airl, gail
        from imitation.rewards.reward_nets import BasicRewardNet
        from imitation.util import logger
        from stable_baselines3 import PPO
        from stable_baselines3.common.vec_env import DummyVecEnv

        torch.manual_seed(seed)
        world, shown = DummyVecEnv([lambda: seen_world(seen, seed)]), transitions(observations)
        algorithm = {"GAIL": gail.GAIL, "AIRL": airl.AIRL}[name](
            demonstrations=shown,
            demo_batch_size=min(256, len(shown)),
            venv=world,
            gen_algo=PPO("MlpPolicy", world, n_steps=512, seed=seed, device="cpu"),
            reward_net=BasicRewardNet(world.observation_space, world.action_space),
            allow_variable_horizon=True,
            custom_logger=logger.configure(format_strs=[]),
        )
        algorithm.train(steps)
        return _chances(algorithm.policy)

    return train


def _chances(policy: Any) -> Chances:
    """The probabilities of a policy of Stable-Baselines3."""

    def chances(looks: np.ndarray) -> np.ndarray:
        import torch

        with torch.no_grad():
            given = policy.get_distribution(torch.as_tensor(looks))
        return np.asarray(given.distribution.probs, dtype=float)

    return chances


def seen_world(seen: ti.MDP, seed: int) -> Any:
    """The world as the learner sees it, as an environment of Gymnasium; its reward is 0."""
    import gymnasium

    require(not seen.features_per_pair, "an environment needs features per state")
    looks, dynamics = dense(seen.features), seen.dynamics

    class World(gymnasium.Env[Any, Any]):
        observation_space, action_space = spaces(seen)
        chance = np.random.default_rng(seed)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.state = int(self.chance.choice(seen.n_states, p=dynamics.start))
            return looks[self.state], {}

        def step(self, action: int) -> Any:
            first, last = dynamics.offsets[self.state : self.state + 2]
            there = np.flatnonzero(dynamics.actions[first:last] == action)
            pair = int(first + (there[0] if len(there) else 0))  # what does not exist is the first
            row = dynamics.transitions[[pair]]
            self.state = int(self.chance.choice(row.indices, p=row.data / row.data.sum()))
            # An episode has 1/(1 − γ) steps on average, so that states count as they do for us.
            ends = bool(self.chance.random() > dynamics.discount)
            return looks[self.state], 0.0, False, ends, {}

    return World()


def main() -> None:
    from cloner import lesson

    for name, train in (
        ("BC", behavioural_cloning()),
        ("GAIL", adversarial("GAIL")),
        ("AIRL", adversarial("AIRL")),
    ):
        print(f"{name}\n{lesson(Imitator(train))}\n", flush=True)


if __name__ == "__main__":
    main()
