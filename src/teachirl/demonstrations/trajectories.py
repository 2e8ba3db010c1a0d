"""Recorded episodes: what was done, and whether an episode ended or was only cut off.

An episode is a sequence of pairs (s_0, a_0), (s_1, a_1), … It *terminated* if its last step led
into a terminal state: one that every action stays in and whose features are all zero, so that
nothing after it counts. Every other episode was *cut off*: it went on, unseen, and that counts. To
take the second for the first would be to take an estimate for exact. So a file must say which it
is, and no episode is taken as terminated whose last step cannot lead into a terminal state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Ints, checked_indices, frozen
from ..errors import FileFormatError, InvalidInputError, TeachirlError, require
from ..figures.digits import counted
from ..mdp.model import MDP
from ..mdp.terminal import terminal_states
from .impossible_steps import (
    NAMED,
    UNKNOWN,
    Place,
    can_follow,
    impossible_steps,
    never_leads,
    no_action,
    no_start,
    why_impossible,
)


@dataclass(frozen=True)
class Skipped:
    """What was left out of a log that has steps which the MDP cannot have taken.

    An episode is taken as cut off before the first such step: what follows may have begun anywhere.

    Attributes
    ----------
    impossible : int, how many steps cannot have happened
    episodes : int, how many episodes have such steps
    steps, lost : int, how many steps were left out, and how many episodes as a whole
    """

    impossible: int
    episodes: int
    steps: int
    lost: int


@dataclass(frozen=True, eq=False)
class Trajectories:
    """m episodes of one or more steps each, one after the other in flat arrays.

    Made by `from_arrays`, `read_trajectories` or `sample_trajectories`; all arrays are read-only.

    Attributes
    ----------
    states : int array [n], the state of each step
    pairs : int array [n], the state-action pair of each step
    offsets : int array [m + 1], the steps of episode i are ``offsets[i]:offsets[i + 1]``
    terminated : bool array [m], True if the episode ended, False if it was cut off
    skipped : Skipped, what was left out as impossible; None if nothing was

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp, rng = ti.worlds.chain(3), np.random.default_rng(0)
    >>> right = ti.Policy.deterministic(mdp, [1, 1, 0])
    >>> ti.sample_trajectories(mdp, right, episodes=2, horizon=3, rng=rng).offsets
    array([0, 3, 6])
    """

    states: Ints
    pairs: Ints
    offsets: Ints
    terminated: NDArray[np.bool_]
    skipped: Skipped | None = None

    def __post_init__(self) -> None:
        n, m = len(self.pairs), len(self.terminated)
        require(len(self.states) == n, f"states must be {n}, one a pair, got {len(self.states)}")
        require(
            m >= 1
            and self.offsets.shape == (m + 1,)
            and self.offsets[0] == 0
            and self.offsets[-1] == n
            and bool((np.diff(self.offsets) >= 1).all()),
            f"offsets must rise from 0 to {n} in {m} steps of at least 1",
        )
        require(self.terminated.dtype == bool, f"terminated must be bool: {self.terminated.dtype}")
        for field in (self.states, self.pairs, self.offsets, self.terminated):
            frozen(field)

    @classmethod
    def from_arrays(
        cls,
        mdp: MDP,
        states: Sequence[ArrayLike],
        actions: Sequence[ArrayLike],
        terminated: ArrayLike,
    ) -> Trajectories:
        """Episodes from one array of states and one of actions an episode.

        Parameters
        ----------
        mdp : MDP in which they were recorded
        states, actions : sequences of m int arrays, of the length of each episode
        terminated : bool array [m], True where the episode ended and False where it was cut off

        Returns
        -------
        Trajectories

        Examples
        --------
        >>> import teachirl as ti
        >>> mdp = ti.worlds.chain(5)
        >>> ti.Trajectories.from_arrays(mdp, [[0, 1, 2], [3]], [[1, 1, 0], [0]], [False, False])
        Trajectories(2 episodes, 4 steps, 0 terminated)
        """
        ended = np.asarray(terminated)
        m = len(states)
        require(
            m >= 1 and len(actions) == m and ended.shape == (m,) and ended.dtype == bool,
            "states, actions and terminated must have one entry an episode, terminated of bools: "
            f"got {m}, {len(actions)} and {ended.dtype} {ended.shape}",
        )
        parts: list[tuple[Ints, Ints]] = []
        for i in range(m):
            part_states = checked_indices(f"states[{i}]", states[i], mdp.n_states)
            part_actions = checked_indices(f"actions[{i}]", actions[i], mdp.n_actions)
            require(
                len(part_states) == len(part_actions) >= 1,
                f"states[{i}] and actions[{i}] must have the same length of at least 1, "
                f"got {len(part_states)} and {len(part_actions)}",
            )
            parts.append((part_states, part_actions))
        offsets = np.cumsum([0] + [len(part[0]) for part in parts])
        return checked_trajectories(
            mdp,
            np.concatenate([part[0] for part in parts]),
            np.concatenate([part[1] for part in parts]),
            offsets,
            ended.copy(),
            _in_arrays,
            InvalidInputError,
        )

    def __len__(self) -> int:
        return len(self.terminated)

    @property
    def left_out(self) -> str:
        """What was left out as impossible, in two sentences; empty if nothing was."""
        out = self.skipped
        if out is None:
            return ""
        one = out.episodes == 1
        whole = f", and {counted(out.lost, 'episode')} as a whole" if out.lost else ""
        steps = f"{counted(out.steps, 'step')} {'is' if out.steps == 1 else 'are'}"
        return (
            f"Of {len(self) + out.lost} recorded episodes, {out.episodes} "
            f"{'has' if one else 'have'} impossible steps, {out.impossible} in all. "
            f"{'It counts' if one else 'They count'} as cut off before the first: {steps} left out"
            f"{whole}."
        )

    def __repr__(self) -> str:
        return (
            f"Trajectories({len(self)} episodes, {self.n_steps} steps, "
            f"{np.count_nonzero(self.terminated)} terminated)"
        )

    @property
    def n_steps(self) -> int:
        """int, how many steps all episodes have together."""
        return len(self.pairs)

    @property
    def lengths(self) -> Ints:
        """int array [m], the number of steps of each episode."""
        return np.diff(self.offsets)


def check_trajectories(
    mdp: MDP,
    trajectories: Trajectories,
    place: Place | None = None,
    error: type[TeachirlError] = InvalidInputError,
) -> None:
    """Refuse episodes that cannot have happened in the MDP.

    `place` says where an (episode, step) is, for the message; `error` is what is raised.
    """
    dynamics, place = mdp.dynamics, place or _in_arrays
    states, pairs, offsets = trajectories.states, trajectories.pairs, trajectories.offsets

    def refuse(steps: NDArray[np.intp], message: Callable[[int], str]) -> None:
        if len(steps):
            step = int(steps[0])
            episode = int(np.searchsorted(offsets, step, side="right")) - 1
            raise error(f"{place(episode, step - int(offsets[episode]))}: {message(step)}")

    outside = np.flatnonzero((pairs < 0) | (pairs >= mdp.n_pairs))
    refuse(outside, lambda step: f"there is no state-action pair {pairs[step]} in the MDP")
    other = np.flatnonzero(dynamics.pair_states[pairs] != states)
    refuse(other, lambda step: f"pair {pairs[step]} does not belong to state {states[step]}")
    first, last = offsets[:-1], offsets[1:] - 1
    refuse(
        first[dynamics.start[states[first]] == 0],
        lambda step: no_start(dynamics, int(states[step])),
    )
    within = np.ones(len(pairs), dtype=bool)
    within[last] = False
    steps = np.flatnonzero(within)
    refuse(
        steps[~can_follow(mdp, pairs[steps], states[steps + 1])],
        lambda step: never_leads(
            dynamics, int(states[step]), int(dynamics.actions[pairs[step]]), int(states[step + 1])
        ),
    )
    terminal = terminal_states(mdp)
    ends = last[trajectories.terminated]
    chances = dynamics.transitions @ terminal.astype(float) if len(ends) else np.zeros(mdp.n_pairs)
    refuse(
        ends[chances[pairs[ends]] == 0],
        lambda step: (
            "terminated is true, but the episode cannot have ended here: action "
            f"{dynamics.action_name(int(dynamics.actions[pairs[step]]))} in state "
            f"{dynamics.state_name(int(states[step]))} never leads to a terminal state (one that "
            "all actions stay in and whose features are all zero); if the recording merely "
            "stopped, terminated must be false"
        ),
    )


def _in_arrays(episode: int, step: int) -> str:
    return f"episode {episode}, step {step}"


def checked_trajectories(
    mdp: MDP,
    states: Ints,
    actions: Ints,
    offsets: Ints,
    terminated: NDArray[np.bool_],
    place: Place,
    error: type[TeachirlError],
    skip: str | None = None,
    unknown: Sequence[str] = (),
) -> Trajectories:
    """The trajectories of these states and actions, or an error that says where they are wrong.

    With ``skip="impossible"``, steps that cannot have happened, and what follows them, are left
    out. The message of a `FileFormatError` says how many there are, and names the first few, a line
    each. States and actions may be `UNKNOWN` if `unknown` says what the first few of them were.
    """
    require(skip in (None, "impossible"), f"skip must be None or 'impossible', got {skip!r}")
    pairs, exists = _pairs(mdp, states, actions)
    if skip is None:
        try:
            if unknown:
                raise error(unknown[0])
            _check_actions(mdp, states, actions, offsets, exists, place, error)
            found = Trajectories(states, pairs, offsets, terminated)
            check_trajectories(mdp, found, place, error)
            return found
        except FileFormatError as refused:
            bad = impossible_steps(mdp, states, pairs, exists, offsets)
            if not bad.any():
                raise
            count = len(np.unique(np.searchsorted(offsets, np.flatnonzero(bad), side="right")))
            first = (
                f"{refused} ({np.count_nonzero(bad)} of {len(bad)} steps, in {count} of "
                f'{len(terminated)} episodes, are impossible; skip = "impossible" leaves them and '
                "what follows them out)"
            )
            why = why_impossible(mdp, states, actions, exists, offsets, bad, place)
            others = (each for each in chain(unknown, why) if each != str(refused))
            named = "\n".join([first, *islice(others, NAMED - 1)])
            raise FileFormatError(named) from None
    bad = impossible_steps(mdp, states, pairs, exists, offsets)
    whole = _cut_off(mdp, states, pairs, offsets, terminated, bad)
    if whole is None:
        raise error(f"{place(0, 0)}: expected an episode that can have happened, got none")
    return whole


def _pairs(mdp: MDP, states: Ints, actions: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """int array [n], the pair of each state and action, and whether it exists."""
    dynamics = mdp.dynamics
    key = dynamics.pair_states.astype(np.int64) * dynamics.n_actions + dynamics.actions
    wanted = states * dynamics.n_actions + actions
    pairs = np.minimum(np.searchsorted(key, wanted), mdp.n_pairs - 1).astype(np.int64)
    return pairs, (key[pairs] == wanted) & (states != UNKNOWN) & (actions != UNKNOWN)


def _cut_off(
    mdp: MDP,
    states: Ints,
    pairs: Ints,
    offsets: Ints,
    terminated: NDArray[np.bool_],
    bad: NDArray[np.bool_],
) -> Trajectories | None:
    """The episodes up to the first impossible step of each; None if nothing is left."""
    places, lengths = np.flatnonzero(bad), np.diff(offsets)
    owners = np.searchsorted(offsets, places, side="right") - 1
    kept = lengths.copy()
    np.minimum.at(kept, owners, places - offsets[owners])
    # What cannot have ended where it does was cut off there.
    ending = mdp.dynamics.transitions @ terminal_states(mdp).astype(float)
    ended = terminated & (kept == lengths)
    ended[ended] = ending[pairs[offsets[1:][ended] - 1]] > 0
    alive = kept > 0
    if not alive.any():
        return None
    taken = np.arange(len(states)) - np.repeat(offsets[:-1], lengths) < np.repeat(kept, lengths)
    dropped = Skipped(len(places), len(np.unique(owners)), int((~taken).sum()), int((~alive).sum()))
    return Trajectories(
        states[taken],
        pairs[taken],
        np.concatenate([[0], np.cumsum(kept[alive])]),
        ended[alive],
        dropped if len(places) else None,
    )


def _check_actions(
    mdp: MDP,
    states: Ints,
    actions: Ints,
    offsets: Ints,
    exists: NDArray[np.bool_],
    place: Place,
    error: type[TeachirlError],
) -> None:
    absent = np.flatnonzero(~exists)
    if len(absent):
        step = int(absent[0])
        episode = int(np.searchsorted(offsets, step, side="right")) - 1
        why = no_action(mdp.dynamics, int(states[step]), int(actions[step]))
        raise error(f"{place(episode, step - int(offsets[episode]))}: {why}")
