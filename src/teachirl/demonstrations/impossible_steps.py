"""Steps of recorded episodes that cannot have happened, and why not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..arrays import Ints, some
from ..mdp.dynamics import Dynamics
from ..mdp.model import MDP

# Where an (episode, step) is, for a message.
Place: TypeAlias = Callable[[int, int], str]

# In the place of the number of a state, or of an action, that the MDP does not have.
UNKNOWN = -1
# Of more impossible steps the first are named, and all of them counted.
NAMED = 5


def can_follow(mdp: MDP, pairs: Ints, targets: Ints) -> NDArray[np.bool_]:
    """bool array [n]: whether each of the pairs can lead to its target."""
    visited, places = np.unique(pairs, return_inverse=True)
    rows = mdp.dynamics.transitions[visited]
    owners = np.repeat(np.arange(len(visited)), np.diff(rows.indptr))
    # Rows are sorted by successor, so that these keys ascend.
    keys = owners * mdp.n_states + rows.indices
    wanted = places * mdp.n_states + targets
    possible: NDArray[np.bool_] = np.append(keys, -1)[np.searchsorted(keys, wanted)] == wanted
    return possible


def impossible_steps(
    mdp: MDP, states: Ints, pairs: Ints, exists: NDArray[np.bool_], offsets: Ints
) -> NDArray[np.bool_]:
    """bool array [n]: the action is not there, or nothing that came before leads to the state."""
    bad = ~exists
    firsts = offsets[:-1]
    bad[firsts] |= mdp.dynamics.start[states[firsts]] == 0
    follows = np.ones(len(states), dtype=bool)
    follows[firsts] = False
    steps = np.flatnonzero(follows)
    bad[steps] |= exists[steps - 1] & ~can_follow(mdp, pairs[steps - 1], states[steps])
    return bad


def why_impossible(
    mdp: MDP,
    states: Ints,
    actions: Ints,
    exists: NDArray[np.bool_],
    offsets: Ints,
    bad: NDArray[np.bool_],
    place: Place,
) -> Iterator[str]:
    """Where each impossible step is and why it is, but for those of which something is `UNKNOWN`.

    As `impossible_steps` finds them: a step that cannot follow is told of where it should.
    """
    dynamics = mdp.dynamics
    for step in np.flatnonzero(bad & (states != UNKNOWN) & (actions != UNKNOWN)).tolist():
        episode = int(np.searchsorted(offsets, step, side="right")) - 1
        since, state = step - int(offsets[episode]), int(states[step])
        if not exists[step]:
            yield f"{place(episode, since)}: {no_action(dynamics, state, int(actions[step]))}"
        elif since == 0:
            yield f"{place(episode, since)}: {no_start(dynamics, state)}"
        else:
            before, did = int(states[step - 1]), int(actions[step - 1])
            yield f"{place(episode, since - 1)}: {never_leads(dynamics, before, did, state)}"


def no_action(dynamics: Dynamics, state: int, action: int) -> str:
    """That a state does not have an action."""
    there = dynamics.actions[dynamics.offsets[state] : dynamics.offsets[state + 1]].tolist()
    return (
        f"action {dynamics.action_name(action)} does not exist in state "
        f"{dynamics.state_name(state)}; expected one of: "
        f"{some([dynamics.action_name(each) for each in there])}"
    )


def no_start(dynamics: Dynamics, state: int) -> str:
    """That a state is none to start in."""
    return (
        f"no episode starts in state {dynamics.state_name(state)}, whose probability in the MDP's "
        "start is 0"
    )


def never_leads(dynamics: Dynamics, state: int, action: int, target: int) -> str:
    """That an action does not lead to the state that comes next."""
    return (
        f"action {dynamics.action_name(action)} in state {dynamics.state_name(state)} never leads "
        f"to state {dynamics.state_name(target)}, which comes next"
    )


__all__ = [
    "NAMED",
    "UNKNOWN",
    "Place",
    "can_follow",
    "impossible_steps",
    "never_leads",
    "no_action",
    "no_start",
    "why_impossible",
]
