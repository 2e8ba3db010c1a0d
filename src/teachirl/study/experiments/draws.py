"""What the paper leaves to chance, drawn as `math.md` settles it: one place for all experiments."""

from __future__ import annotations

import numpy as np

from ...arrays import Floats
from ...mdp.model import MDP
from ...teaching.task import Task
from ...views.worldview import Worldview


def unit_weights(rng: np.random.Generator, k: int) -> Floats:
    """w* [k]: N(0, I), normalised."""
    weights = rng.standard_normal(k)
    return np.asarray(weights / np.linalg.norm(weights))


def random_view(rng: np.random.Generator, rows: int, k: int) -> Worldview:
    """A learner's worldview with independent N(0, 1) entries."""
    return Worldview(rng.standard_normal((rows, k)))


def random_task(rng: np.random.Generator, mdp: MDP, rows: int, teachable: int) -> Task:
    """A random reward, a learner with random rows, and some true features that could be taught."""
    k = mdp.n_features
    weights = unit_weights(rng, k)
    view = random_view(rng, rows, k)
    chosen = rng.choice(k, teachable, replace=False)
    return Task(mdp, weights, view, np.eye(k)[chosen])
