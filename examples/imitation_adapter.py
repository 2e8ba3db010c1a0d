"""Algorithms of the library `imitation` as learners: behavioural cloning, GAIL, AIRL.

`Imitator` is the adapter. It hands what the learner sees of the episodes to any function that
trains on them, and makes one stationary policy of what comes out. `behavioural_cloning` and
`adversarial` are such functions, for `imitation` (tried with its version 1.0.1):

    pip install imitation

Run it with `python examples/imitation_adapter.py`, which takes a minute. None of these algorithms
promises to match feature expectations: what is guaranteed to whoever matches is not guaranteed to
them. What is left of it for learners who miss as they do is the last column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

import teachirl as ti
from teachirl.errors import require
from teachirl.learners import Assignment, Learned, LearnStatus

# Worlds that are acted in side by side, which is faster.
WORLDS = 16

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


def transitions(observations: ti.Observations, discount: float = 1.0, seed: int = 0) -> Any:
    """Steps as `imitation` has them. What follows the last one of an episode nobody recorded.

    A step counts by its discount: it is kept with a probability of discount^t.
    """
    from imitation.data import types

    shown, starts = dense(observations.features), observations.offsets[:-1]
    steps = np.setdiff1d(np.arange(observations.n_steps), observations.offsets[1:] - 1)
    ages = steps - starts[np.searchsorted(starts, steps, "right") - 1]
    steps = steps[np.random.default_rng(seed).random(len(steps)) < discount**ages]
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


def behavioural_cloning(epochs: int = 3, seed: int = 0) -> Train:
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
            batch_size=min(128, len(shown)),
            optimizer_kwargs={"lr": 3e-3},
            device="cpu",
            custom_logger=logger.configure(format_strs=[]),
        )
        algorithm.train(n_epochs=epochs, progress_bar=False)
        return _chances(algorithm.policy)

    return train


def adversarial(name: str = "GAIL", steps: int = 16_384, seed: int = 0) -> Train:
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
        world = DummyVecEnv([partial(seen_world, seen, seed + i) for i in range(WORLDS)])
        shown = transitions(observations, seen.discount, seed)
        # Episodes end by chance, which discounts them already.
        acting = {"gamma": 1.0, "learning_rate": 3e-3, "n_epochs": 5, "batch_size": 256}
        algorithm = {"GAIL": gail.GAIL, "AIRL": airl.AIRL}[name](
            demonstrations=shown,
            demo_batch_size=min(256, len(shown)),
            n_disc_updates_per_round=16,
            disc_opt_kwargs={"lr": 3e-3},
            venv=world,
            gen_algo=PPO(
                "MlpPolicy", world, n_steps=1024 // WORLDS, seed=seed, device="cpu", **acting
            ),
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
    looks, dynamics, moves = dense(seen.features), seen.dynamics, seen.dynamics.transitions

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
            row = slice(*moves.indptr[pair : pair + 2])
            sums = np.cumsum(moves.data[row])
            drawn = np.searchsorted(sums, self.chance.random() * sums[-1], "right")
            self.state = int(moves.indices[row][drawn])
            # An episode has 1/(1 − γ) steps on average, so that states count as they do for us.
            ends = bool(self.chance.random() > dynamics.discount)
            return looks[self.state], 0.0, ends, False, {}

    return World()


def main() -> None:
    import torch

    from cloner import watched

    torch.set_num_threads(1)  # networks as small as these are faster so
    task = watched(np.random.default_rng(0))
    mdp, shown, taught = task.mdp, task.demonstration, [6, 7, 8, 2]
    learners = {
        "BC": Imitator(behavioural_cloning()),
        "GAIL": Imitator(adversarial("GAIL")),
        "AIRL": Imitator(adversarial("AIRL")),
    }
    for what, view in (
        ("as it is", task.worldview),
        ("once four more blocks are taught", task.worldview.extend(task.teachable[taught])),
    ):
        seen, target = view.observe(mdp), view.matrix @ shown.expectations
        matching = ti.certify(mdp, view, task.weights, shown).guaranteed
        print(f"The learner {what}: {matching:.2f} are guaranteed to whoever matches")
        print("      mismatch  performance  guaranteed to whoever misses by as much")
        for name, learner in learners.items():
            walks = ti.Observations.of(seen, shown.trajectories)
            learned = learner.learn(seen, target, observations=walks)
            near = ti.certify(mdp, view, task.weights, shown, mismatch=learned.mismatch).guaranteed
            reached = ti.relative_performance(mdp, task.weights, learned.policy)
            print(f"{name:4}  {learned.mismatch:8.2f}  {reached:11.2f}  {near:.2f}", flush=True)


if __name__ == "__main__":
    main()
