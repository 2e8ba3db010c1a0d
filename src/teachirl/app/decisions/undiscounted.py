"""What a policy collects without discounting, for those who count episodes or hours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...arrays import Floats, frozen
from ...demonstrations.trajectories import Trajectories
from ...mdp import clock
from ...mdp.model import MDP
from ...mdp.policy import Policy
from ...mdp.terminal import terminal_states
from ...precision import INVISIBLE

STEPS = 1000
# An episode that most likely has ended by then is followed for so many steps at most.
LONGEST = 20 * STEPS
# Of larger worlds, so many steps take longer than a few seconds.
MOST = 1_000_000
# So many states at most have a step that is faster if zeros are multiplied as well.
DENSE = 128


@dataclass(frozen=True, eq=False)
class Undiscounted:
    """How much of each feature a policy collects, on average and not discounted.

    Attributes
    ----------
    amounts : array [k]
    whole : whether they are those of whole episodes, which end; else, of the first `STEPS` steps
    """

    amounts: Floats
    whole: bool

    @property
    def per(self) -> str:
        """What the amounts are of."""
        return "episode" if self.whole else f"{STEPS} steps"


def undiscounted(mdp: MDP, policy: Policy | Trajectories | None) -> Undiscounted | None:
    """How much of each feature a policy collects in an episode, or in its first 1000 steps.

    Parameters
    ----------
    mdp : MDP
    policy : Policy, or Trajectories that were recorded: their mean, if all of them ended, or else
        what they have in 1000 of their steps; None if it is not known

    Returns
    -------
    Undiscounted; None without a policy, and in a world that is too large

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(3)
    >>> found = undiscounted(mdp, ti.Policy.uniform(mdp))
    >>> found.per, found.amounts.round().tolist()
    ('1000 steps', [250.0, 500.0, 250.0])
    """
    dynamics = mdp.dynamics
    if isinstance(policy, Trajectories):
        return _recorded(mdp, policy)
    if policy is None or dynamics.transitions.nnz > MOST:
        return None
    pairs = np.arange(mdp.n_pairs)
    chosen = sp.csr_array(
        (policy.probabilities, (dynamics.pair_states, pairs)), shape=(mdp.n_states, mdp.n_pairs)
    )
    inflow = sp.csr_array((chosen @ dynamics.transitions).T)
    step_on = inflow.toarray() if mdp.n_states <= DENSE else inflow
    alive = (~terminal_states(mdp)).astype(float)
    now, visits, counted = np.array(mdp.start), np.zeros(mdp.n_states), np.zeros(mdp.n_states)
    for step in range(LONGEST):
        going_on = float(alive @ now)
        if step == STEPS:
            counted = visits.copy()
        if going_on <= INVISIBLE or (step >= STEPS and going_on > 0.5):
            break
        clock.look()
        visits += now
        now = step_on @ now
    whole = going_on <= INVISIBLE
    counted = visits if whole else counted
    taken = counted
    if mdp.features_per_pair:
        taken = counted[dynamics.pair_states] * policy.probabilities
    amounts = np.asarray(mdp.features.T @ taken, dtype=float)
    return Undiscounted(frozen(amounts), whole)


def _recorded(mdp: MDP, episodes: Trajectories) -> Undiscounted:
    """The mean of episodes that all ended, or what there is in 1000 recorded steps."""
    rows = episodes.pairs if mdp.features_per_pair else episodes.states
    visits = np.bincount(rows, minlength=mdp.features.shape[0]).astype(float)
    whole = bool(np.all(episodes.terminated))
    share = 1.0 / len(episodes) if whole else STEPS / max(episodes.n_steps, 1)
    amounts = np.asarray(mdp.features.T @ visits, dtype=float) * share
    return Undiscounted(frozen(amounts), whole)


__all__ = ["Undiscounted", "undiscounted"]
