"""How well an expert's next choice can be told from the choices before it.

A forecaster names, before each step, the chances of the actions that the expert may take; their
product over all steps is the probability that it gives to the episodes. Whoever the expert is, a
forecaster's probability divided by that of the expert's own chances has expectation 1, as each
factor has, given all that came before. So it exceeds 1/δ with probability δ at most (Ville 1939).
Nothing is assumed of the states: of what chance did, where episodes start or why they stop.

The forecaster here is a mixture of several, which costs no more than the logarithm of their number:

- *soft*: the soft policy that fits the past best, slipping now and then;
- *habit*: what was done most often in this state before, slipping now and then;
- *counts*: Dirichlet's rule, the counts in this state with the soft policy as prior.

The past is that before the current block of steps; blocks double in length. Within a block the
first choice in a new state becomes the habit there, and counts are kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..mdp.model import MDP

# Rates at which forecasters take the expert to slip, and the strengths of Dirichlet's prior.
SLIPS = np.array([0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 3e-3, 1e-3, 1e-4, 1e-6])
STRENGTHS = (0.1, 1.0, 10.0)
# Steps in the first block; and of all chances, the share that is spread evenly.
FIRST, EVEN = 8, 0.01


def forecast(mdp: MDP, pairs: Ints, fitted: Callable[[Floats], Floats]) -> float:
    """The logarithm of the probability that the forecaster gives to a sequence of choices.

    Parameters
    ----------
    mdp : MDP
    pairs : int array [n], the state-action pairs of all steps, one episode after the other
    fitted : gives the chances [P] of the soft policy that fits counts [P] best

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> from teachirl.demonstrations.forecasts import forecast
    >>> mdp = ti.worlds.chain(5)
    >>> evenly = ti.Policy.uniform(mdp).probabilities
    >>> walk = np.tile([2, 3], 60)  # always the same in two cells, both of which have a choice
    >>> bool(120 * np.log(0.5) < forecast(mdp, walk, lambda counts: evenly) < -2 * np.log(2))
    True
    """
    states, offsets = mdp.dynamics.pair_states.astype(np.int64), mdp.dynamics.offsets
    n = np.diff(offsets)[states].astype(float)
    counts, done = np.zeros(mdp.n_pairs), 0
    total = np.zeros(2 * len(SLIPS) + len(STRENGTHS))
    while done < len(pairs):
        block = pairs[done : max(2 * done, FIRST)]
        soft = (1.0 - EVEN) * (fitted(counts) if done else 1.0 / n) + EVEN / n
        now = np.bincount(block, minlength=mdp.n_pairs).astype(float)
        habit, first = _habits(block, counts, states, offsets)
        told = np.append(
            _slipping(soft[block], n[block]), _slipping(habit[~first], n[block[~first]])
        )
        told[len(SLIPS) :] += np.log(soft[block[first]]).sum()
        total += np.append(told, [_counted(now, counts + c * soft, offsets) for c in STRENGTHS])
        done += len(block)
        counts += now
    return float(scipy.special.logsumexp(total)) - math.log(len(total))


def _slipping(chances: Floats, n: Floats) -> Floats:
    """The log-probability of choices with these chances and so many actions, for all of SLIPS."""
    return np.array([np.log((1.0 - slip) * chances + slip / n).sum() for slip in SLIPS])


def _habits(
    block: Ints, counts: Floats, states: Ints, offsets: Ints
) -> tuple[Floats, NDArray[np.bool_]]:
    """Whether each choice of a block is the habit in its state, and whether there was none yet."""
    most = np.maximum.reduceat(counts, offsets[:-1])
    here = states[block]
    leader = np.full(len(most), -1)
    known = np.flatnonzero(counts == most[states])[::-1]
    leader[states[known]] = known  # of those in a tie, the first
    leader[most == 0.0] = -1
    new, places = np.unique(here, return_index=True)
    fresh = leader[new] < 0
    leader[new[fresh]] = block[places[fresh]]
    first = np.zeros(len(block), dtype=bool)
    first[places[fresh]] = True
    return (leader[here] == block).astype(float), first


def _counted(now: Floats, prior: Floats, offsets: Ints) -> float:
    """The log-probability of choices with counts `now`, in any order, by Dirichlet's rule."""
    gammaln = scipy.special.gammaln
    gained = gammaln(now + prior) - gammaln(prior)
    all_now, all_prior = (np.add.reduceat(each, offsets[:-1]) for each in (now, prior))
    return float(gained.sum() - (gammaln(all_now + all_prior) - gammaln(all_prior)).sum())


__all__ = ["forecast"]
