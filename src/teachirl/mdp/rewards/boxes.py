"""A box of weights, in words."""

from __future__ import annotations

import numpy as np

from ...arrays import Floats
from ...figures.digits import ROUNDING, asked, counted


def box_sentence(mean: Floats, root: Floats) -> str:
    """What is in doubt of a box: the same share of each weight, or some of the weights.

    Parameters
    ----------
    mean : array [k], its middle
    root : array [k, r], half of its edges

    Returns
    -------
    str
    """
    (k, r), half, counts = root.shape, np.abs(root).sum(axis=1), mean != 0.0
    shares = half[counts] / np.abs(mean[counts])
    alike = r > 1 and not half[~counts].any() and np.ptp(shares) <= ROUNDING * shares.max()
    if not alike:
        return f"any reward of a box, {r} of {counted(k, 'weight')} in doubt"
    return f"any reward with each of {r} weights off by up to {asked(float(shares.max()))}"


__all__ = ["box_sentence"]
