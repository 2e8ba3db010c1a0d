"""PerfGreedy, the paper's other teacher: the feature after which the learner does best.

For each candidate f, the learner is let learn as in the lesson: with the worldview A' = A ⊕ ⟨f, ·⟩,
the target A'μ_T and the policy of the round before. Taught is the feature after which the learner's
policy π earns most, ⟨w, μ(π)⟩.

What the candidates share is done once: the present policy, where each simulation begins, and what
it does; equal rows are simulated once. How long learning takes differs by orders of magnitude from
candidate to candidate, so that simulations in step with each other would wait for the slowest. No
bound tells early that one is not the best: the expert matches in every worldview, so that no bound
on what matching policies earn is below what the expert earns. So each is simulated to its end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats, frozen
from ..errors import require
from ..learners import Informed, Learner, Projection
from ..learners.asking import learned_by
from ..learners.learner import divided, even_scale, units_of
from ..learners.projection import Pursuit
from ..mdp import kernels
from ..mdp.occupancy import feature_expectations, occupancy, state_occupancy
from ..mdp.policy import Policy
from ..precision import SEARCH_TIE, first_largest
from ..teaching.task import Task
from ..teaching.teacher import Choice, Situation
from ..views.linear_algebra import combined


@dataclass(frozen=True)
class PerfGreedy:
    """Teaches what a learner, simulated for each candidate, does best after; it always chooses.

    The scores are what the learner's policy would earn.

    Parameters
    ----------
    learner : Learner that is simulated, best the one that is taught; or an `Informed`, told the
        reward

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> view = ti.Worldview.select(mdp, ["cell 3"])
    >>> task = ti.Task(mdp, [-2, -1, 0, 1, 2], view, np.eye(5))
    >>> learner, rng = ti.learners.Projection(), np.random.default_rng(0)
    >>> lesson = ti.teach(task, ti.teachers.PerfGreedy(learner), learner, rng=rng)
    >>> [each.name for each in lesson.rounds], lesson.rounds[-1].performance > 0.999
    (['', 'cell 1'], True)
    """

    learner: Learner | Informed

    def __post_init__(self) -> None:
        learner = self.learner
        able = hasattr(learner, "learn") or hasattr(learner, "informed")
        require(
            able and not isinstance(learner, type),
            f"learner must be a learner, such as Projection(), got {learner!r}",
        )

    def choose(self, situation: Situation, rng: np.random.Generator) -> Choice:
        """What to teach next.

        Parameters
        ----------
        situation : Situation
        rng : numpy.random.Generator, not used

        Returns
        -------
        Choice
        """
        task, candidates = situation.task, situation.candidates
        earned = self.simulate(situation)
        scores = np.full(len(task.teachable), np.nan)
        scores[candidates] = earned
        largest = float(np.abs(task.mdp.rewards(task.weights)).max()) / (1.0 - task.mdp.discount)
        return Choice(int(candidates[first_largest(earned, SEARCH_TIE * largest)]), frozen(scores))

    def simulate(self, situation: Situation) -> Floats:
        """What the learner would earn after each candidate.

        Parameters
        ----------
        situation : Situation

        Returns
        -------
        array [len(candidates)]
        """
        task, start = situation.task, situation.policy
        learner, shown = self.learner, situation.demonstration.expectations
        if isinstance(learner, Informed):
            learner = learner.informed(task.mdp, task.weights)
        rehearsal = None
        compiled = task.mdp.dynamics.deterministic and not task.mdp.features_per_pair
        if type(learner) is Projection and compiled:
            rehearsal = _Rehearsal(learner, task, start)
        earned = _known(situation)
        rewards = list[float]()
        for row in task.teachable[situation.candidates]:  # one at a time, as they may be sparse
            row = row + 0.0  # there is one zero then, not −0
            name = _name(row)
            if name in earned:
                rewards.append(earned[name])
                continue
            matrix = np.vstack([situation.view.matrix, row])
            reward = rehearsal.earned(matrix, matrix @ shown) if rehearsal else None
            if reward is None:
                seen, target = situation.view.extend(row).observe(task.mdp), matrix @ shown
                episodes = situation.demonstration.trajectories
                policy = learned_by(learner, seen, target, start, episodes).policy
                reward = float(task.weights @ feature_expectations(task.mdp, policy))
            earned[name] = reward
            rewards.append(reward)
        return np.array(rewards)


def _name(row: Floats) -> bytes:
    """Of a row [k], as short as it has numbers other than 0: two are simulated once if equal."""
    [some] = row.nonzero()
    return some.tobytes() + row[some].tobytes()


def _known(situation: Situation) -> dict[bytes, float]:
    """What the learner would earn after each row that was simulated before in this very
    situation."""
    here = (situation.view, situation.demonstration, situation.policy)
    known: dict[bytes, float]
    there, known = situation.notes.get("simulated", ((None,) * 3, {}))
    if any(one is not other for one, other in zip(here, there, strict=True)):
        known = {}
        situation.notes["simulated"] = here, known
    return known


class _Rehearsal:
    """`Projection` from one policy for one worldview after another, without what is not needed.

    What the start does is computed once, all steps are taken in a compiled loop, and what is earned
    in the end is read off the mixture's occupancy. Proofs of nearness are left out.
    """

    def __init__(self, learner: Projection, task: Task, start: Policy) -> None:
        self.learner, self.mdp = learner, task.mdp
        self.rewards = task.mdp.rewards(task.weights)
        self.x, self.visits = occupancy(task.mdp, start), state_occupancy(task.mdp, start)

    def earned(self, matrix: Floats, target: Floats) -> float | None:
        """What the learner earns in the end who sees these combinations [ℓ, k] of the features;
        None if only the learner itself can tell."""
        learner, phi = self.learner, combined(self.mdp.features, matrix)
        units = units_of(phi, self.mdp.dynamics, target)
        mu, target = np.asarray(phi.T @ self.visits) / units, target / units
        seen = self.mdp.with_features(divided(phi, units))
        goal = learner.tolerance * even_scale(seen)
        begun = float(kernels.length(mu - target))
        if begun <= goal:
            return float(self.rewards @ self.visits)
        pursuit = Pursuit(seen, target, units, goal, mu, self.x)
        if pursuit.compiled is None:
            return None
        pursuit.run(learner.max_steps)
        # The learner compares that to its start, up to rounding.
        if not pursuit.standing.miss < (1.0 - 1e-9) * begun:
            return None
        return float(self.rewards @ np.add.reduceat(pursuit.mixture.x, seen.dynamics.offsets[:-1]))
