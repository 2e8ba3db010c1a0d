"""Which choices an expert who is optimal but for slips must have meant.

Let c(s, a) be how often a was chosen in s, of n actions there, and ε the rate of slips. Whatever
the weights and habits are, chances are ε/n at least, so that what was chosen in s has at most the
log-probability

    h_s(ε) = max Σ_a c(s, a) log p_a  over p_a ≥ ε/n with Σ p_a = 1,

which falls with ε. If a is not optimal in s, its chance is ε/n exactly, and the choices in s have

    c(s, a) log(ε/n) + Σ_b c(s, b) log(c(s, b)/N) + N log(1 − ε/n)  at most, N = Σ_b c(s, b), b ≠ a.

The sum of this and of the h of all other states bounds log L(w) for every w under which a is not
optimal. The first part rises with ε and the rest falls, so that between two rates it is bounded by
the first at the larger one and the rest at the smaller one. Where the largest of these bounds is
below what weights need to be plausible, a is optimal for all plausible ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints

# Rates of slips between which bounds are taken; at the first, a slip is all but impossible.
RATES = np.concatenate([[0.0], np.geomspace(1e-12, 1.0, 1600)])


def certainly_meant(counts: Floats, states: Ints, n: Floats, enough: float) -> NDArray[np.bool_]:
    """Which choices are optimal for all plausible weights, if the expert is optimal but for slips.

    Parameters
    ----------
    counts : array [m], how often each pair was chosen, from 1 on
    states : int array [m], the state of each
    n : array [m], how many actions there are in it
    enough : float, log δQ, below which weights are not plausible

    Returns
    -------
    bool array [m]
    """
    below, above = RATES[:-1], RATES[1:]
    found, which = np.unique(states, return_inverse=True)
    chosen = [np.flatnonzero(which == i) for i in range(len(found))]
    most = [_most(counts[pairs], float(n[pairs[0]]), below) for pairs in chosen]
    total = np.sum(most, axis=0) if most else np.zeros(len(below))
    meant = np.zeros(len(counts), dtype=bool)
    for pairs, own in zip(chosen, most, strict=True):
        for pair in pairs:
            others = counts[pairs[pairs != pair]]
            kept, actions = float(others.sum()), float(n[pair])
            slipped = counts[pair] * np.log(above / actions) + kept * np.log1p(-below / actions)
            if kept > 0.0:
                slipped += float(others @ np.log(others / kept))
            meant[pair] = float((total - own + slipped).max()) < enough
    return meant


def _most(counts: Floats, n: float, rates: Floats) -> Floats:
    """h_s at each rate: chances in proportion to the counts, but for those that would be less than
    the least, which are just that."""
    counts, least = np.sort(counts)[::-1], rates / n
    most, known = np.full(len(rates), -np.inf), np.zeros(len(rates), dtype=bool)
    for free in range(len(counts), 0, -1):
        share = (1.0 - (n - free) * least) / counts[:free].sum()
        fits = ~known & (counts[free - 1] * share >= least)
        logs = np.log(counts[:free]) @ counts[:free] + counts[:free].sum() * np.log(share[fits])
        if free < len(counts):
            logs = logs + counts[free:].sum() * np.log(least[fits])
        most[fits] = logs
        known |= fits
    return most


__all__ = ["certainly_meant"]
