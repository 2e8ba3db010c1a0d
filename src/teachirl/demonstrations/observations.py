"""Recorded episodes as a learner sees them: its own features and the actions, step by step.

A learner with worldview A sees Aφ of each step, and what was done; neither φ nor A, and no state:
two states that look the same are the same to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..arrays import Floats, Ints, frozen
from ..errors import require
from ..mdp.model import MDP, check_is_mdp
from .trajectories import Trajectories


@dataclass(frozen=True, eq=False)
class Observations:
    """m episodes, one after the other in flat arrays, as a learner sees them.

    Attributes
    ----------
    features : array [n, ℓ], or sparse array where the learner's features are sparse: what is seen
        at each step, of the state or, with features per pair, of what is done there
    actions : int array [n], what is done at each step
    offsets : int array [m + 1], the steps of episode i are ``offsets[i]:offsets[i + 1]``
    terminated : bool array [m], True if the episode ended, False if it was cut off

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> episodes = ti.Trajectories.from_arrays(mdp, [[1, 2, 3]], [[1, 1, 0]], [False])
    >>> seen = ti.Worldview.select(mdp, ["cell 3"]).observe(mdp)
    >>> observations = ti.Observations.of(seen, episodes)
    >>> observations.features.ravel(), observations.actions
    (array([0., 1., 0.]), array([1, 1, 0]))
    """

    features: Floats | sp.csr_array
    actions: Ints
    offsets: Ints
    terminated: NDArray[np.bool_]

    def __post_init__(self) -> None:
        phi: Any = self.features
        parts = [phi] if isinstance(phi, np.ndarray) else [phi.data, phi.indices, phi.indptr]
        for part in (*parts, self.actions, self.offsets, self.terminated):
            frozen(part)

    @staticmethod
    def of(seen: MDP, trajectories: Trajectories) -> Observations:
        """What is seen of episodes.

        Parameters
        ----------
        seen : MDP with the learner's features, as `Worldview.observe` gives it
        trajectories : Trajectories of an MDP with the same dynamics

        Returns
        -------
        Observations
        """
        check_is_mdp(seen)
        require(
            isinstance(trajectories, Trajectories),
            f"trajectories must be Trajectories, got {type(trajectories).__name__}",
        )
        last = int(trajectories.pairs.max())
        require(
            last < seen.n_pairs,
            f"trajectories must be of the same world: there is no state-action pair {last}",
        )
        rows = trajectories.pairs if seen.features_per_pair else trajectories.states
        features: Any = seen.features[rows]  # a copy: nothing leads to what is not seen
        actions = np.asarray(seen.dynamics.actions[trajectories.pairs], dtype=np.int64)
        return Observations(
            features, actions, trajectories.offsets.copy(), trajectories.terminated.copy()
        )

    def __len__(self) -> int:
        return len(self.terminated)

    def __repr__(self) -> str:
        count = self.features.shape[1]
        return (
            f"Observations({len(self)} episodes, {self.n_steps} steps, {count} "
            f"feature{'' if count == 1 else 's'})"
        )

    @property
    def n_steps(self) -> int:
        """int, how many steps all episodes have together."""
        return len(self.actions)


def check_observations(seen: MDP, observations: object) -> None:
    """Refuse observations that are not of these features and actions."""
    if not isinstance(observations, Observations):
        require(False, f"observations must be Observations, got {type(observations).__name__}")
        return
    width = int(observations.features.shape[1])
    require(
        width == seen.n_features,
        f"observations must have {seen.n_features} features, as the learner has, got {width}",
    )
    last = int(observations.actions.max(initial=0))
    require(
        last < seen.n_actions,
        f"observations must have actions from 0 to {seen.n_actions - 1}, got {last}",
    )


__all__ = ["Observations", "check_observations"]
