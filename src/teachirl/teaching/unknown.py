"""A learner whose worldview is unknown, in a lesson: what is proved of it, and what it really has.

The teacher counts with what a diagnosis has proved. Before a feature that is open is paid for, it
is tested by a probe: what the learner turns out to have costs nothing.
"""

from __future__ import annotations

import numpy as np

from ..demonstrations.demonstration import Demonstration
from ..diagnosis.diagnose import updated
from ..diagnosis.diagnosis import Diagnosis
from ..diagnosis.exchange import Exchange
from ..diagnosis.probe import Probe, next_probe
from ..errors import InvalidInputError, require
from ..learners import Learner
from ..learners.asking import learned_by
from ..mdp.policy import Policy
from .matching import Matching
from .task import Task

# Of a feature: one excludes what the learner lacks, the next proves what it has.
PROBES = 2


class Unknown:
    """What is known of a learner, and, in a simulation, what it sees.

    Parameters
    ----------
    task : Task, whose worldview is what the learner really sees
    diagnosis : Diagnosis, all that the teacher knows of it

    Attributes
    ----------
    task : Task, whose worldview is what is proved
    diagnosis : Diagnosis, by now
    own : Worldview, what the learner really sees, with what was taught by now
    """

    def __init__(self, task: Task, diagnosis: Diagnosis) -> None:
        require(
            isinstance(diagnosis, Diagnosis),
            f"worldviews must be a Diagnosis, got {type(diagnosis).__name__}",
        )
        require(
            diagnosis.library.mdp.dynamics is task.mdp.dynamics,
            "worldviews must be a diagnosis in the task's MDP",
        )
        require(task.model is task.mdp, "worldviews need a world that is known, not an estimate")
        self.task, self.own = task.with_worldview(diagnosis.seen), task.worldview
        self.diagnosis = diagnosis
        self._others: list[int] = []  # taught features that are no candidates

    @property
    def mismatch(self) -> float | None:
        """How closely the learner matches, in all that it may come to see; None if exactly."""
        known, task = self.diagnosis, self.task
        return known.within_all(task.teachable, task.names) if known.mismatch else None

    def tested(self, feature: int, learner: Learner, rng: np.random.Generator) -> bool:
        """Whether probes prove that the learner has a feature that was open."""
        name = self._candidate(feature)
        for _ in range(PROBES):
            if name is None or name not in self.diagnosis.open:
                break
            probe = self._probe(name, rng)
            exchange = Exchange(probe, self._answer(probe.demonstration, learner))
            self.diagnosis = updated(self.diagnosis, [exchange])
        return name in self.diagnosis.has

    def _probe(self, name: str, rng: np.random.Generator) -> Probe:
        """Of the feature alone, or of all candidates if it follows from the others."""
        mdp = self.task.mdp
        try:
            return next_probe(mdp, self.diagnosis, rng=rng, feature=name)
        except InvalidInputError:
            return next_probe(mdp, self.diagnosis, rng=rng)

    def give(self, feature: int) -> None:
        """The learner is taught a feature."""
        name, task = self._candidate(feature), self.task
        self.own = self.own.extend(task.teachable[feature], task.names[feature])
        if name is None:
            self._others.append(feature)
        else:
            self.diagnosis = updated(self.diagnosis, taught=[name])

    def guaranteed_at_most(self, shown: Demonstration, matching: Matching) -> float:
        """What would be guaranteed if the learner had all that is not excluded."""
        view = self.diagnosis.possible.extend(self.task.teachable[self._others])
        return self.task.guaranteed(view, shown, matching)

    def _answer(self, shown: Demonstration, learner: Learner) -> Policy:
        """What the learner makes of what it sees, and of nothing else."""
        target = self.own.matrix @ shown.expectations
        seen = self.own.observe(self.task.mdp)
        return learned_by(learner, seen, target, episodes=shown.trajectories).policy

    def _candidate(self, feature: int) -> str | None:
        """The candidate that a teachable feature is; None if it is none."""
        library, name = self.diagnosis.library, self.task.names[feature]
        if name not in library.names:
            return None
        row = library.view.matrix[library.names.index(name)]
        return name if np.array_equal(row, self.task.teachable[feature]) else None


__all__ = ["Unknown"]
