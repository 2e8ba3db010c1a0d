"""How a world moves: states, the pairs of states and actions, and where they lead."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..arrays import Floats, Ints, Names, frozen
from ..errors import require
from .evaluation import Usual, usual_of
from .kernels import Components, Layout, Table, components_of, layout_of, rounding_of
from .kernels.components import strong_components


@dataclass(frozen=True, eq=False)
class Dynamics:
    """How the world moves, whatever is seen or wanted in it: shared by all views of one MDP.

    Made by `MDP.from_arrays` and `MDP.from_pairs`, which check it; all arrays are read-only.

    Attributes
    ----------
    offsets : int array [S + 1], the pairs of state s are ``offsets[s]:offsets[s + 1]``
    actions : int array [P], which action each pair takes
    n_actions : int, how many actions there are in all; a state may have fewer
    transitions : sparse array [P, S], rows sum to 1
    start : array [S], the distribution of the first state
    discount : float in (0, 1)
    state_names, action_names : tuples of str, or None where they are numbered

    Examples
    --------
    >>> import teachirl as ti
    >>> dynamics = ti.worlds.chain(3).dynamics
    >>> dynamics.offsets, dynamics.actions  # in the middle there are two ways to go
    (array([0, 1, 3, 4]), array([1, 0, 1, 0]))
    """

    offsets: Ints
    actions: Ints
    n_actions: int
    transitions: sp.csr_array
    start: Floats
    discount: float
    state_names: Names | None = None
    action_names: Names | None = None

    def __repr__(self) -> str:
        return (
            f"Dynamics({self.n_states} states, {self.n_pairs} state-action pairs, "
            f"discount {self.discount:g})"
        )

    @cached_property
    def n_states(self) -> int:
        """int S, how many states there are."""
        return len(self.offsets) - 1

    @cached_property
    def n_pairs(self) -> int:
        """int P, how many pairs of a state and an action there are."""
        return len(self.actions)

    @cached_property
    def pair_states(self) -> NDArray[np.int32]:
        """int array [P], the state that each pair belongs to."""
        counts = np.diff(self.offsets)
        return frozen(np.repeat(np.arange(self.n_states, dtype=np.int32), counts))

    @cached_property
    def layout(self) -> Layout:
        """The same transitions, in the most compact form that the planning kernels understand."""
        return layout_of(self)

    @cached_property
    def components(self) -> Components | None:
        """The same transitions in the order of their strong components, if that helps planning."""
        return components_of(self, self.layout)

    @cached_property
    def rounding(self) -> float:
        """What a backup may be off by, relative to the largest reward plus the largest value."""
        return rounding_of(self.layout)

    @cached_property
    def usual(self) -> Usual:
        """How policies are best evaluated that are not sparse enough for elimination."""
        return usual_of(self)

    @cached_property
    def deterministic(self) -> bool:
        """Whether each pair has one successor, in a table: paths can then be followed."""
        return isinstance(self.layout, Table) and self.layout.own == 1.0

    @cached_property
    def arrivals(self) -> sp.csc_array:
        """The transitions, transposed: sparse array [S, P]."""
        return self.transitions.T

    @cached_property
    def reachable(self) -> Ints:
        """int array, the states that some policy visits, in order."""
        n, rows, starts = self.n_states, self.transitions, np.flatnonzero(self.start > 0.0)
        if len(starts) == n:
            return frozen(starts)
        # One more state, the first, leads to where it all starts. What it reaches is a component
        # before its own; what it does not reach comes later. The pairs of a state are neighbours,
        # so their successors together are the state's.
        targets = np.concatenate([starts, rows.indices]).astype(np.uint32) + np.uint32(1)
        ends = np.append(0, rows.indptr[self.offsets] + len(starts))
        order, _ = strong_components(ends, frozen(targets))
        own = int(np.flatnonzero(order == 0)[0])
        return frozen(np.sort(order[:own]).astype(np.int64) - 1)

    def state_name(self, state: int) -> str:
        """The name of a state, in quotes, or its number if states have no names.

        Parameters
        ----------
        state : int

        Returns
        -------
        str
        """
        return self.state_names[state] if self.state_names else str(state)

    def action_name(self, action: int) -> str:
        """The name of an action, in quotes, or its number if actions have no names.

        Parameters
        ----------
        action : int

        Returns
        -------
        str
        """
        return self.action_names[action] if self.action_names else str(action)

    def pair_of(self, state: int, action: int) -> int:
        """The number of the pair (state, action).

        Parameters
        ----------
        state : int
        action : int, one of the state's

        Returns
        -------
        int, of 0 … P − 1
        """
        require(
            0 <= state < self.n_states, f"state must lie in 0 … {self.n_states - 1}, got {state}"
        )
        require(
            0 <= action < self.n_actions,
            f"action must lie in 0 … {self.n_actions - 1}, got {action}",
        )
        first, last = self.offsets[state], self.offsets[state + 1]
        found = np.flatnonzero(self.actions[first:last] == action)
        require(
            len(found) == 1,
            f"action {self.action_name(action)} does not exist in state {self.state_name(state)}",
        )
        return int(first + found[0])
