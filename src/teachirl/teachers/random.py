"""The teacher who leaves it to chance: what any other has to beat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import frozen
from ..teaching.teacher import Choice, Situation


@dataclass(frozen=True)
class Random:
    """Teaches any of the candidates, each as likely as the others.

    Examples
    --------
    >>> import teachirl as ti
    >>> ti.teachers.Random()
    Random()
    """

    def choose(self, situation: Situation, rng: np.random.Generator) -> Choice:
        """What to teach next.

        Parameters
        ----------
        situation : Situation
        rng : numpy.random.Generator

        Returns
        -------
        Choice
        """
        scores = np.full(len(situation.task.teachable), np.nan)
        scores[situation.candidates] = 0.0
        return Choice(int(rng.choice(situation.candidates)), frozen(scores))
