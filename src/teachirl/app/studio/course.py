"""What is taught and shown in a lesson, block by block: computed before anybody begins.

A learner's page is made from an `Appearance` alone: of each step the place and the learner's own
features. Weights, hidden features, names of states and texts on the map never get there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Floats
from ...demonstrations.demonstration import Demonstration
from ...demonstrations.trajectories import Trajectories
from ...errors import InvalidInputError, one_line
from ...learners import Informed
from ...mdp.occupancy import feature_expectations
from ...mdp.policy import Policy
from ...mdp.terminal import terminal_states
from ...study.progress import Part
from ...teachers import GapGreedy, Random, TRGreedy
from ...teaching.rounds import Rounds
from ...views.worldview import Worldview
from ...what_to_show.few import expectations_within, few_demonstrations
from ...what_to_show.search import best_demonstration
from ..problem import Problem
from .describe import drawable, geometry
from .labels import keys_of, neutral_names, telling
from .study import Condition, Study

TEACHERS: dict[str, type[Any]] = {"TRGreedy": TRGreedy, "GapGreedy": GapGreedy, "Random": Random}
STARTS = 4


@dataclass(frozen=True, eq=False)
class Block:
    """A view, and what is shown in it.

    Attributes
    ----------
    view : Worldview of the participant
    demonstration : Demonstration, what is to be shown
    episodes : Trajectories that are shown, `times` each
    target : array [ℓ], what all episodes of it show within as many steps
    off : how far the mean of those shown is from it, at most
    guaranteed : relative performance of all who match
    simulated : relative performance of the learner whom the file names
    """

    view: Worldview
    demonstration: Demonstration
    episodes: Trajectories
    times: tuple[int, ...]
    target: Floats
    off: float
    guaranteed: float
    simulated: float


class Course:
    """All that a study teaches, and how the world looks to a participant.

    Parameters
    ----------
    problem : Problem
    study : Study
    """

    def __init__(self, problem: Problem, study: Study) -> None:
        self.problem, self.study, self.mdp = problem, study, problem.mdp
        self.map = drawable(problem.world.map) if study.place else None
        self.over = terminal_states(self.mdp)
        if study.action_names:
            self._check_names()
        self._blocks: dict[tuple[str, tuple[int, ...]], Block] = {}
        task, steps = problem.task, study.steps
        ends = (
            expectations_within(self.mdp, each, steps)
            for each in (task.best.policy, task.worst.policy)
        )
        self.best, self.worst = (float(task.weights @ each) for each in ends)
        rewards = np.asarray(self.mdp.features @ task.weights)
        # An episode may end early, and nothing comes after.
        terms = float((self.mdp.discount ** np.arange(steps)).sum())
        self.earnable = terms * min(rewards.min(), 0.0), terms * max(rewards.max(), 0.0)

    def _check_names(self) -> None:
        """Refuse actions whose names tell of what a participant does not see from the beginning."""
        mdp, task = self.mdp, self.problem.task
        features = {*task.names, *(mdp.feature_name(i) for i in range(mdp.n_features))}
        hidden = sorted(features - set(self.problem.view.names or ()))
        names = [mdp.dynamics.action_name(each) for each in range(mdp.n_actions)]
        found = telling(names, hidden)
        if found is not None:
            raise InvalidInputError(
                f"action_names = true: the action {one_line(found[0])!r} tells of "
                f"{one_line(found[1])!r}, which participants do not see: call it otherwise"
            )

    def order(self, condition: Condition, number: int) -> tuple[int, ...]:
        """The features that a participant is taught, in this order."""
        task = self.problem.task
        budget = min(self.study.features, len(task.names) - len(task.forbidden))
        if condition.teacher == "none" or budget == 0:
            return ()
        # Chance is each participant's own; other teachers choose the same for all.
        own = number if condition.teacher == "Random" or condition.order == "shuffled" else 0
        rng = np.random.default_rng([self.study.seed, 2, own])
        rounds = Rounds(
            task,
            TEACHERS[condition.teacher](),
            rng=rng,
            budget=budget,
            matching=self.problem.matching,
            certified=False,
        )
        taught: tuple[int, ...] = ()
        for moment in rounds:
            taught = tuple(moment.taught)
            if len(taught) >= budget:
                break
        if condition.order == "reversed":
            return taught[::-1]
        return tuple(rng.permutation(taught).tolist()) if condition.order == "shuffled" else taught

    def blocks(
        self, condition: Condition, order: tuple[int, ...], part: Part | None = None
    ) -> list[Block]:
        """One more than features are taught in this study; without a teacher all are alike."""
        count = self.study.features + 1
        members = [order[: min(i, len(order))] for i in range(count)]
        found = [self._block(condition.show, each) for each in members]
        if part is not None:
            part.advance()
        return found

    def _block(self, show: str, members: tuple[int, ...]) -> Block:
        key = show, tuple(sorted(members))
        problem, task, study = self.problem, self.problem.task, self.study
        names = [task.names[i] for i in members]
        view = problem.worldview.extend(task.teachable[list(members)], names)
        if key not in self._blocks:
            shown = task.demonstration
            rng = np.random.default_rng([study.seed, 3])
            if show == "choose":
                shown = best_demonstration(
                    self.mdp,
                    view,
                    task.weights,
                    starts=STARTS,
                    rng=rng,
                    proof_solves=0,
                    indistinct=task.indistinct,
                ).demonstration
            few = few_demonstrations(
                self.mdp, view, shown, horizon=study.steps, rng=rng, showings=study.watch
            )
            assert few.times is not None
            self._blocks[key] = Block(
                view,
                shown,
                few.trajectories,
                tuple(few.times.tolist()),
                few.target,
                few.distance,
                float(problem.guaranteed(view, shown)),
                self._simulated(view, shown),
            )
        found = self._blocks[key]
        # The same set in another order has its features in another order.
        if found.view.names == view.names:
            return found
        places = [(found.view.names or ()).index(name) for name in view.names or ()]
        return Block(
            view,
            found.demonstration,
            found.episodes,
            found.times,
            found.target[places],
            found.off,
            found.guaranteed,
            found.simulated,
        )

    def _simulated(self, view: Worldview, shown: Demonstration) -> float:
        problem, learner = self.problem, self.problem.learner
        if isinstance(learner, Informed):
            learner = learner.informed(self.mdp, problem.weights)
        target = view.matrix @ shown.expectations
        learned = learner.learn(view.observe(self.mdp), target, Policy.uniform(self.mdp))
        earned = float(problem.weights @ feature_expectations(self.mdp, learned.policy))
        return float(problem.task.relative(earned))

    def performance(self, earned: float) -> float:
        """What was earned in an episode, with the expert at 1 and the worst policy at 0, both
        within as many steps; chance may lead beyond either."""
        width = self.best - self.worst
        return (earned - self.worst) / width if width > 0.0 else 1.0

    def collected(self, pairs: list[int]) -> Floats:
        """array [k], the discounted features of an episode."""
        rows = pairs if self.mdp.features_per_pair else self.mdp.dynamics.pair_states[pairs]
        phi: Any = self.mdp.features
        weights = self.mdp.discount ** np.arange(len(pairs))
        return np.asarray(phi[rows].T @ weights, dtype=float)

    # What follows is all that a participant's page is made of.

    def look(self, view: Worldview, state: int, pair: int | None) -> dict[str, Any]:
        """How a moment looks: the place, what can be done, and the participant's features of the
        state or, where they are of what one does, of the last step."""
        dynamics = self.mdp.dynamics
        own = slice(dynamics.offsets[state], dynamics.offsets[state + 1])
        found: dict[str, Any] = {
            "actions": dynamics.actions[own].tolist(),
            "values": self._values(view, state, pair),
        }
        if self.map is not None:
            found["cell"] = int(self.map.cells[state])
        return found

    def _values(self, view: Worldview, state: int, pair: int | None) -> list[float] | None:
        row: int | None = pair if self.mdp.features_per_pair else state
        if row is None:
            return None
        phi: Any = self.mdp.features
        dense = phi[row] if isinstance(phi, np.ndarray) else phi[[row]].toarray().ravel()
        return [float(f"{each:.6g}") for each in view.matrix @ dense]

    def shown(self, block: Block) -> list[dict[str, Any]]:
        """The episodes of a block, as they are watched."""
        found, episodes, per_pair = [], block.episodes, self.mdp.features_per_pair
        for i, times in enumerate(block.times):
            steps = []
            for at in range(episodes.offsets[i], episodes.offsets[i + 1]):
                state, pair = int(episodes.states[at]), int(episodes.pairs[at])
                looks = self.look(block.view, state, pair if per_pair else None)
                del looks["actions"]
                steps.append({**looks, "action": int(self.mdp.dynamics.actions[pair])})
            found.append({"times": times, "steps": steps})
        return found

    def holds(self, view: Worldview, row: int) -> list[int]:
        """The cells in which a feature of the participant's can be other than 0."""
        if self.map is None:
            return []
        phi: Any = self.mdp.features
        value = np.asarray(phi @ view.matrix[row]).ravel()
        states = (
            np.flatnonzero(value)
            if not self.mdp.features_per_pair
            else (self.mdp.dynamics.pair_states[np.flatnonzero(value)])
        )
        cells = np.unique(self.map.cells[states])
        return [int(each) for each in cells if each >= 0]

    def surroundings(self) -> dict[str, Any]:
        """What is the same throughout: the map without anything on it, and the actions."""
        around, dynamics = self.map, self.mdp.dynamics
        drawn = None
        if around is not None:
            drawn = {**geometry(around, texts=False), "row_names": [], "column_names": []}
        keys = keys_of(None if around is None else around.steps, self.mdp.n_actions)
        names = [dynamics.action_name(each) for each in range(self.mdp.n_actions)]
        return {
            "map": drawn,
            "actions": names if self.study.action_names else neutral_names(keys),
            "keys": keys,
            "per_step": self.mdp.features_per_pair,
        }


__all__ = ["Block", "Course"]
