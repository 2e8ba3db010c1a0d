"""Stationary policies: one pair a state, or a distribution over each state's pairs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import ROW_SUM_TOLERANCE, Floats, Ints, as_floats, at, checked_indices, frozen
from ..errors import require
from ..figures.digits import counted
from .cards import policy_card
from .dynamics import Dynamics
from .model import MDP, check_is_mdp
from .policy_files import load_chances, save_policy


@dataclass(frozen=True, eq=False)
class Policy:
    """A stationary policy of every MDP with these dynamics.

    Exactly one of `pairs` and `chances` is given; use `deterministic`, `from_matrix`, `uniform` or
    `policy_from_occupancy` rather than the constructor.

    Attributes
    ----------
    dynamics : Dynamics
    pairs : int array [S], the pair taken in each state, or None for a stochastic policy
    chances : array [P], the probability of each pair given its state, or None

    Examples
    --------
    >>> import teachirl as ti
    >>> ti.Policy.uniform(ti.worlds.chain(3)).matrix()
    array([[0. , 1. ],
           [0.5, 0.5],
           [1. , 0. ]])
    """

    dynamics: Dynamics
    pairs: Ints | None = None
    chances: Floats | None = None

    def __post_init__(self) -> None:
        dynamics = self.dynamics
        require(
            (self.pairs is None) != (self.chances is None),
            "a policy needs either pairs or chances, and not both",
        )
        if self.pairs is not None:
            pairs = checked_indices("pairs", self.pairs, dynamics.n_pairs)
            require(
                np.array_equal(dynamics.pair_states[pairs], np.arange(dynamics.n_states)),
                "pairs must hold one pair of each state, in their order",
            )
            object.__setattr__(self, "pairs", frozen(pairs))
        else:
            chances = np.array(as_floats("chances", self.chances))
            shape = (dynamics.n_pairs,)
            require(chances.shape == shape, f"chances must have shape {shape}, got {chances.shape}")
            bad = np.argwhere(~(chances >= 0) | ~np.isfinite(chances))
            require(len(bad) == 0, f"chances must be non-negative, got {at(chances, bad)}")
            sums = np.add.reduceat(chances, dynamics.offsets[:-1])
            worst = int(np.abs(sums - 1.0).argmax())
            require(
                abs(sums[worst] - 1.0) <= ROW_SUM_TOLERANCE,
                f"probabilities must sum to 1 in every state: those of state "
                f"{dynamics.state_name(worst)} sum to {sums[worst]:.12g}",
            )
            object.__setattr__(self, "chances", frozen(chances / sums[dynamics.pair_states]))

    @staticmethod
    def of_choice(dynamics: Dynamics, choice: NDArray[Any]) -> Policy:
        """The policy of a choice that is known to be valid, unchecked.

        Parameters
        ----------
        dynamics : Dynamics
        choice : int array [S], which of its own actions each state takes, counted from 0

        Returns
        -------
        Policy
        """
        return Policy.of_pairs(dynamics, dynamics.offsets[:-1] + choice)

    @staticmethod
    def of_pairs(dynamics: Dynamics, pairs: Ints) -> Policy:
        """The policy of pairs that are known to be valid, unchecked; they become read-only.

        Parameters
        ----------
        dynamics : Dynamics
        pairs : int array [S], the pair taken in each state

        Returns
        -------
        Policy
        """
        policy = object.__new__(Policy)  # nothing to check, and planners are in a hurry
        policy.__dict__.update(dynamics=dynamics, pairs=frozen(pairs), chances=None)
        return policy

    @staticmethod
    def of_chances(dynamics: Dynamics, chances: Floats) -> Policy:
        """The policy of probabilities that are known to be valid, unchecked.

        Parameters
        ----------
        dynamics : Dynamics
        chances : array [P], the probability of each pair given its state; they sum to 1 a state

        Returns
        -------
        Policy
        """
        policy = object.__new__(Policy)
        object.__setattr__(policy, "dynamics", dynamics)
        object.__setattr__(policy, "pairs", None)
        object.__setattr__(policy, "chances", frozen(chances))
        return policy

    @staticmethod
    def deterministic(mdp: MDP, actions: ArrayLike) -> Policy:
        """The policy that takes ``actions[s]`` in state s.

        Parameters
        ----------
        mdp : MDP
        actions : int array [S]

        Returns
        -------
        Policy

        Examples
        --------
        >>> import teachirl as ti
        >>> mdp = ti.worlds.chain(5)
        >>> right = ti.Policy.deterministic(mdp, [1, 1, 1, 1, 0])  # the last cell has no right
        >>> [mdp.dynamics.action_name(a) for a in right.actions]
        ['right', 'right', 'right', 'right', 'left']
        """
        dynamics = mdp.dynamics
        wanted = np.asarray(actions)
        require(
            wanted.shape == (mdp.n_states,) and wanted.dtype.kind in "iu",
            f"actions must be {mdp.n_states} integers, got {wanted.dtype} {wanted.shape}",
        )
        hits = np.flatnonzero(dynamics.actions == wanted[dynamics.pair_states])
        states = dynamics.pair_states[hits]
        if len(hits) < mdp.n_states:
            state = int(np.setdiff1d(np.arange(mdp.n_states), states)[0])
            require(
                False,
                f"actions[{state}] is {wanted[state]}, which does not exist in state "
                f"{dynamics.state_name(state)}",
            )
        return Policy(dynamics, pairs=hits)

    @staticmethod
    def from_matrix(mdp: MDP, probabilities: ArrayLike) -> Policy:
        """The policy with the probability ``probabilities[s, a]`` of action a in state s.

        Parameters
        ----------
        mdp : MDP
        probabilities : array [S, A]; 0 for actions that do not exist

        Returns
        -------
        Policy
        """
        dynamics = mdp.dynamics
        matrix = np.array(as_floats("probabilities", probabilities))
        shape = (mdp.n_states, mdp.n_actions)
        require(matrix.shape == shape, f"probabilities must have shape {shape}, got {matrix.shape}")
        bad = np.argwhere(~(matrix >= 0) | ~np.isfinite(matrix))
        if len(bad):
            state, action = bad[0]
            require(
                False,
                f"probabilities must be non-negative, got {matrix[state, action]} for state "
                f"{dynamics.state_name(state)}, action {dynamics.action_name(action)}",
            )
        weights = matrix[dynamics.pair_states, dynamics.actions]
        matrix[dynamics.pair_states, dynamics.actions] = 0.0
        absent = np.argwhere(matrix > 0)
        if len(absent):
            state, action = absent[0]
            require(
                False,
                f"action {dynamics.action_name(action)} does not exist in state "
                f"{dynamics.state_name(state)} but has probability {matrix[state, action]}",
            )
        return Policy(dynamics, chances=weights)

    @staticmethod
    def uniform(mdp: MDP) -> Policy:
        """The policy that takes all of a state's actions with the same probability.

        Parameters
        ----------
        mdp : MDP

        Returns
        -------
        Policy
        """
        counts = np.diff(mdp.dynamics.offsets)
        share = np.ones(int(counts.max()) + 1)
        for count in np.flatnonzero(np.bincount(counts)):  # that sum to 1 as others are made to
            alike = np.full(count, 1.0 / count)
            share[count] = alike[0] / np.add.reduceat(alike, [0])[0]
        return Policy.of_chances(mdp.dynamics, np.repeat(share[counts], counts))

    def __repr__(self) -> str:
        kind = "stochastic" if self.pairs is None else "deterministic"
        return f"Policy({kind}, {counted(self.dynamics.n_states, 'state')})"

    def _repr_html_(self) -> str:
        return policy_card(self)

    @property
    def is_deterministic(self) -> bool:
        """bool, whether each state has one action that is always taken."""
        return self.pairs is not None

    @property
    def actions(self) -> Ints:
        """int array [S], the action of each state; of a stochastic policy, the likeliest."""
        if self.pairs is not None:
            return np.asarray(self.dynamics.actions[self.pairs])
        return np.asarray(self.matrix().argmax(axis=1))

    @property
    def probabilities(self) -> Floats:
        """array [P], the probability of each pair given its state."""
        if self.chances is not None:
            return self.chances
        weights = np.zeros(self.dynamics.n_pairs)
        weights[self.pairs] = 1.0
        return weights

    def matrix(self) -> Floats:
        """The probability of each action in each state.

        Returns
        -------
        array [S, A]
        """
        matrix = np.zeros((self.dynamics.n_states, self.dynamics.n_actions))
        matrix[self.dynamics.pair_states, self.dynamics.actions] = self.probabilities
        return matrix

    def save(self, path: str | Path) -> None:
        """Write the policy as CSV: columns state, action and, unless each state has one action that
        is certain, probability. A problem file reads it as well.

        Parameters
        ----------
        path : str or Path
        """
        save_policy(self, Path(path))

    @staticmethod
    def load(path: str | Path, mdp: MDP) -> Policy:
        """Read what `save` wrote.

        Parameters
        ----------
        path : str or Path
        mdp : MDP that the policy is for, by the names of its states and actions

        Returns
        -------
        Policy
        """
        check_is_mdp(mdp)
        chances, certain = load_chances(Path(path), mdp.dynamics)
        if certain:
            return Policy(mdp.dynamics, pairs=np.flatnonzero(chances))
        return Policy.of_chances(mdp.dynamics, chances)


def check_policy(mdp: MDP, policy: Policy) -> None:
    """Refuse a policy that is for other states or actions than the MDP's."""
    check_is_mdp(mdp)
    require(isinstance(policy, Policy), f"policy must be a Policy, got {type(policy).__name__}")
    mine, theirs = mdp.dynamics, policy.dynamics
    if mine is theirs:
        return
    same = np.array_equal(mine.offsets, theirs.offsets) and np.array_equal(
        mine.actions, theirs.actions
    )
    require(same, f"policy must belong to the MDP: {policy!r} has other states or actions")
