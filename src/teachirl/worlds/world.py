"""A world: an MDP, and what else is known of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats, checked_positive, frozen
from ..errors import require
from ..mdp.estimated import EstimatedMDP
from ..mdp.model import MDP
from .map import Map


@dataclass(frozen=True, eq=False)
class World:
    """An MDP, the weights that its expert acts on, what its features cost, where its states lie.

    Attributes
    ----------
    mdp : MDP
    weights : array [k], the reward is ⟨weights, φ⟩; None if the world has no reward of its own
    prices : array [k], what it costs to give a learner each feature; None where nobody says
    map : Map, where the states lie; None if the world cannot be drawn
    reward_feature : str, the name of the feature that is the reward itself, which no sensor shows;
        None if there is no such feature
    finals : ints, the states of an environment in which its episodes end, and which are therefore
        never entered: they end before
    note : str, what a reader of a guarantee must know about where the MDP comes from; mostly empty
    model : EstimatedMDP, what is known of the world from a log, whose nominal MDP `mdp` then is;
        None if the MDP is known
    built_in : bool, whether it is one of ours: that no action leads to some of its states is then
        no mistake of whoever uses it

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(3)
    >>> ti.worlds.World(mdp, weights=[0, 0, 1], prices=[1, 1, 2]).prices
    array([1., 1., 2.])
    """

    mdp: MDP
    weights: Floats | None = None
    prices: Floats | None = None
    map: Map | None = None
    reward_feature: str | None = None
    finals: tuple[int, ...] = ()
    note: str = ""
    model: EstimatedMDP | None = None
    built_in: bool = False

    def __post_init__(self) -> None:
        k = self.mdp.n_features
        if self.weights is not None:
            weights = np.array(self.mdp.checked_weights(self.weights))
            require(weights.shape == (k,), f"weights must have shape ({k},), got {weights.shape}")
            object.__setattr__(self, "weights", frozen(weights))
        if self.prices is not None:
            prices = checked_positive("prices", self.prices, k)
            object.__setattr__(self, "prices", frozen(prices))

    def __repr__(self) -> str:
        return f"World({self.mdp!r}{'' if self.prices is None else ', with prices'})"
