"""What was seen to follow what: the log that a model is estimated from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Ints, Names, checked_names, frozen
from ..errors import require
from ..figures.digits import counted
from ..mdp.model import MDP, check_is_mdp
from ..mdp.terminal import terminal_states
from .trajectories import Trajectories


@dataclass(frozen=True, eq=False)
class TransitionLog:
    """How often which state followed a state and an action.

    Made by `from_counts` or `from_trajectories`; all arrays are read-only.

    Attributes
    ----------
    steps : int array [n, 3], each state, action and next state that was seen, once and in order
    counts : int array [n], how often
    n_states, n_actions : int, how many of each there are
    state_names, action_names : tuples of str, or None where they are numbered
    unfinished : int, how many further steps were logged whose next state is not known, such as the
        last ones of episodes that were cut off

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> counts = np.zeros((2, 1, 2), dtype=int)
    >>> counts[0, 0], counts[1, 0] = [6, 4], [0, 9]
    >>> log = ti.TransitionLog.from_counts(counts)
    >>> log, log.steps.tolist(), log.counts.tolist()
    (TransitionLog(19 steps, 2 states, 1 action), [[0, 0, 0], [0, 0, 1], [1, 0, 1]], [6, 4, 9])
    """

    steps: Ints
    counts: Ints
    n_states: int
    n_actions: int
    state_names: Names | None = None
    action_names: Names | None = None
    unfinished: int = 0

    def __post_init__(self) -> None:
        steps, counts = np.asarray(self.steps), np.asarray(self.counts)
        require(
            steps.ndim == 2 and steps.shape[1] == 3 and counts.shape == (len(steps),),
            f"steps must have shape (n, 3) and counts (n,), got {steps.shape} and {counts.shape}",
        )
        require(
            steps.dtype.kind in "iu" and counts.dtype.kind in "iu",
            f"steps and counts must be whole numbers, got {steps.dtype} and {counts.dtype}",
        )
        require(bool((counts >= 0).all()), "counts must not be negative")
        for column, (what, limit) in enumerate(
            (("state", self.n_states), ("action", self.n_actions), ("next state", self.n_states))
        ):
            bad = np.flatnonzero((steps[:, column] < 0) | (steps[:, column] >= limit))
            require(
                len(bad) == 0,
                f"each {what} must lie in 0 … {limit - 1}, got "
                f"{steps[bad[0], column] if len(bad) else ''} in step {bad[0] if len(bad) else ''}",
            )
        shape = (self.n_states, self.n_actions, self.n_states)
        keys, where = np.unique(
            np.ravel_multi_index(tuple(steps.T.astype(np.int64)), shape), return_inverse=True
        )
        total = np.bincount(where, counts, len(keys)).astype(np.int64)
        keys, total = keys[total > 0], total[total > 0]
        distinct = np.column_stack(np.unravel_index(keys, shape)).astype(np.int64)
        object.__setattr__(self, "steps", frozen(distinct.reshape(-1, 3)))
        object.__setattr__(self, "counts", frozen(total))
        for name, count in (("state_names", self.n_states), ("action_names", self.n_actions)):
            object.__setattr__(self, name, checked_names(name, getattr(self, name), count))

    @classmethod
    def from_counts(cls, counts: ArrayLike) -> TransitionLog:
        """A log from how often each state followed each state and action.

        Parameters
        ----------
        counts : int array [S, A, S]

        Returns
        -------
        TransitionLog
        """
        table = np.asarray(counts)
        require(
            table.ndim == 3 and table.shape[0] == table.shape[2],
            f"counts must have shape [S, A, S], got {table.shape}",
        )
        require(
            table.dtype.kind in "iu" or bool((table == np.round(table)).all()),
            "counts must be whole numbers",
        )
        places = np.argwhere(table != 0)
        much = table[tuple(places.T)].astype(np.int64)
        return cls(places.astype(np.int64), much, table.shape[0], table.shape[1])

    @classmethod
    def from_trajectories(cls, mdp: MDP, trajectories: Trajectories) -> TransitionLog:
        """A log from episodes, whose states and actions are those of an MDP.

        Parameters
        ----------
        mdp : MDP of which only states, actions and which terminal states can follow them count
        trajectories : Trajectories

        Returns
        -------
        TransitionLog
        """
        check_is_mdp(mdp)
        dynamics, steps = mdp.dynamics, trajectories
        last = np.zeros(len(steps.pairs), dtype=bool)
        last[steps.offsets[1:] - 1] = True
        inner = np.flatnonzero(~last)
        pairs, follow = steps.pairs[inner], steps.states[inner + 1]
        final = steps.pairs[steps.offsets[1:] - 1][steps.terminated]
        pairs = np.concatenate([pairs, final])
        follow = np.concatenate([follow, _ends_of(mdp, final)])
        triples = np.column_stack([dynamics.pair_states[pairs], dynamics.actions[pairs], follow])
        return cls(
            triples.astype(np.int64),
            np.ones(len(pairs), dtype=np.int64),
            mdp.n_states,
            mdp.n_actions,
            dynamics.state_names,
            dynamics.action_names,
            int(np.count_nonzero(~steps.terminated)),
        )

    def __repr__(self) -> str:
        return (
            f"TransitionLog({counted(self.n_steps, 'step')}, {counted(self.n_states, 'state')}, "
            f"{counted(self.n_actions, 'action')})"
        )

    @property
    def n_steps(self) -> int:
        """int, how many steps there are in all."""
        return int(self.counts.sum())

    def name_of(self, state: int, action: int) -> str:
        """What a pair is called in messages.

        Parameters
        ----------
        state, action : int

        Returns
        -------
        str
        """
        where = self.state_names[state] if self.state_names else str(state)
        what = self.action_names[action] if self.action_names else str(action)
        return f"state {where}, action {what}"


def _ends_of(mdp: MDP, pairs: Ints) -> Ints:
    """int array [n], the terminal states that the last pairs [n] of episodes led to.

    That there may be several is refused: without these steps, those that end an episode would be
    missing among what followed, and the rest taken for all.
    """
    dynamics, terminal = mdp.dynamics, terminal_states(mdp)
    rows = dynamics.transitions[pairs]
    ends = terminal[rows.indices]
    owners = np.repeat(np.arange(len(pairs)), np.diff(rows.indptr))[ends]
    bad = np.flatnonzero(np.bincount(owners, minlength=len(pairs)) != 1)
    if len(bad):
        pair = pairs[bad[0]]
        state = dynamics.state_name(int(dynamics.pair_states[pair]))
        require(
            False,
            f"trajectories must say what followed: an episode terminated after state {state}, "
            f"action {dynamics.action_name(int(dynamics.actions[pair]))}, which may lead to "
            f"{np.count_nonzero(owners == bad[0])} terminal states; log its steps with their next "
            "states instead",
        )
    return np.asarray(rows.indices[ends], dtype=np.int64)


__all__ = ["TransitionLog"]
