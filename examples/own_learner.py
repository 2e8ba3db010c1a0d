"""A learner of your own: a class with a method `learn`, checked, and taught about driving.

Run it with `python examples/own_learner.py`. It needs the extra `testing`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

import teachirl as ti
from teachirl.app.problem import read_problem
from teachirl.learners import Assignment, Learned, LearnStatus
from teachirl.testing import check_learner

PROBLEM = Path(__file__).parent / "driving.toml"


@dataclass(frozen=True)
class Diarist:
    """A learner who keeps a diary of its days, and lives by all of it.

    Each evening it compares the days so far with what it was shown, and lives the next day for
    what it had too little of. The later a day, the more it counts. What it learns is the best of
    these lives.

    Parameters
    ----------
    tolerance : it stops at this mismatch, as a fraction of the largest expectations there can be
    days : or after so many days
    """

    tolerance: float = 1e-3
    days: int = 200

    def learn(self, seen: ti.MDP, target: ArrayLike, start: ti.Policy | None = None) -> Learned:
        task = Assignment(seen, target, start).even()  # refuses what makes no sense
        life, lived = ti.occupancy(seen, task.start), task.first
        best, wish = (task.miss(lived), life), np.zeros_like(lived)
        history: list[float] = []
        while best[0] > self.tolerance * task.scale and len(history) < self.days:
            wish = task.target - lived
            day = ti.optimal_policy(task.seen, wish).policy
            share = 2.0 / (len(history) + 3.0)
            life = (1.0 - share) * life + share * ti.occupancy(seen, day)
            lived = (1.0 - share) * lived + share * ti.feature_expectations(task.seen, day)
            history.append(task.mismatch(task.target - lived))
            best = min(best, (task.miss(lived), life), key=lambda entry: entry[0])
        matched = best[0] <= self.tolerance * task.scale
        status = LearnStatus.MATCHED if matched else LearnStatus.OUT_OF_STEPS
        policy = ti.policy_from_occupancy(seen, best[1])
        return task.report(policy, task.as_given(wish), len(history), history, status)


def lesson(learner: Diarist) -> ti.Lesson:
    """What it makes of the plan of driving.toml."""
    problem = read_problem(PROBLEM)
    rng = np.random.default_rng(problem.seed)
    return ti.teach(
        problem.task,
        problem.teacher,
        learner,
        rng=rng,
        max_cost=29.0,  # all that there is for sale; so gains count per cost
        until=problem.until,
    )


def main() -> None:
    learner = Diarist()
    check_learner(learner)  # silent if it keeps what learners promise
    print(f"{learner} does what a learner must do.\n")
    taught = lesson(learner)
    print(taught)
    last = taught.rounds[-1]
    print(
        f"\nIn the end it earns {last.performance:.3f}. Whoever matches what was shown exactly "
        f"earns at least {last.guaranteed:.3f}; this learner misses that by {last.mismatch:.2g}."
    )


if __name__ == "__main__":
    main()
