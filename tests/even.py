"""Features in units in which learners take them as they are."""

from __future__ import annotations

import numpy as np

from teachirl import MDP
from teachirl.learners.learner import divided, even_units


def evenly(seen: MDP) -> MDP:
    """The MDP with features of range 1: distances in them are those that learners measure."""
    units = even_units(seen, np.zeros(seen.n_features))
    return seen.with_features(divided(seen.features, units))
