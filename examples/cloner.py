"""Learners who clone: they do what the expert did where things looked the same.

A behavioural cloner looks at the episodes that were shown, as it sees them, and not at feature
expectations. What is guaranteed to whoever matches is not guaranteed to it, unless it happens to
match; the lesson says in each round how far it is from that.

Run it with `python examples/cloner.py`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

import teachirl as ti
from teachirl.errors import require
from teachirl.learners import Assignment, Learned, LearnStatus


@dataclass(frozen=True)
class Cloner:
    """Takes each action as often as the expert did where it looked the same.

    Where things look as they never did in an episode, it does what it did before.

    Parameters
    ----------
    digits : what is equal in so many digits looks the same
    """

    digits: int = 9
    matches: ClassVar[bool] = False  # it is after something else, and says so

    def learn(
        self,
        seen: ti.MDP,
        target: ArrayLike,
        start: ti.Policy | None = None,
        observations: ti.Observations | None = None,
    ) -> Learned:
        task = Assignment(seen, target, start, observations)  # refuses what makes no sense
        require(
            observations is not None,
            "a cloner needs episodes: show Demonstration.sample(…), or recorded trajectories",
        )
        dynamics = seen.dynamics
        rows = self.looks(seen.features)
        looks = rows if seen.features_per_pair else [rows[s] for s in dynamics.pair_states]
        shown = zip(self.looks(observations.features), observations.actions.tolist(), strict=True)
        counts = Counter(shown)
        taken = [float(counts[pair]) for pair in zip(looks, dynamics.actions.tolist(), strict=True)]
        chances = np.array(taken)
        sums = np.add.reduceat(chances, dynamics.offsets[:-1])[dynamics.pair_states]
        chances = np.where(sums > 0, chances / np.maximum(sums, 1.0), task.start.probabilities)
        policy = ti.Policy(dynamics, chances=chances)
        return task.report(policy, np.zeros(seen.n_features), 0, [], LearnStatus.SETTLED)

    def looks(self, features: Any) -> list[bytes]:
        """What tells rows of features apart."""
        dense = features if isinstance(features, np.ndarray) else features.toarray()
        return [row.tobytes() for row in np.round(dense, self.digits) + 0.0]


def watched(rng: np.random.Generator) -> ti.Task:
    """A learner sees two blocks of nine, is shown 300 walks, and could be taught all blocks."""
    mdp = ti.worlds.gridworld(6, block=2, discount=0.9)
    weights = rng.standard_normal(9)
    expert = ti.optimal_policy(mdp, weights).policy
    walks = ti.sample_trajectories(mdp, expert, episodes=300, horizon=60, rng=rng)
    # Whoever matches is told what the expert does on average; whoever clones looks at the walks.
    shown = replace(ti.Demonstration.of_policy(mdp, expert), trajectories=walks)
    view = ti.Worldview.select(mdp, ["cell 0", "cell 4"])
    return ti.Task(mdp, weights, view, np.eye(9), demonstration=shown)


def lesson(learner: Any) -> ti.Lesson:
    """What the learner does as it is, and once four more blocks are taught."""
    rng = np.random.default_rng(0)
    task = watched(rng)
    return ti.teach(task, ti.teachers.TRGreedy(), learner, rng=rng, budget=4, tolerance=-1)


def main() -> None:
    for learner in (ti.learners.MinNormPoint(), Cloner()):
        taught = lesson(learner)
        print(f"{type(learner).__name__}\n{taught}\n")
    task, last = taught.task, taught.rounds[-1]
    near = ti.certify(
        task.mdp, taught.worldview, task.weights, taught.demonstration, mismatch=last.mismatch
    )
    print(
        f"The cloner misses what it was shown by {last.mismatch:.2f}: all that is guaranteed to "
        f"whoever comes as near is {near.guaranteed:.2f}."
    )


if __name__ == "__main__":
    main()
