"""A user's problem: what its file says, checked, as the objects that the library works with."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ...arrays import AnyRows, Floats
from ...demonstrations.demonstration import Demonstration, as_demonstration
from ...demonstrations.inferred_weights import InferredWeights, infer_weights
from ...diagnosis.diagnosis import Diagnosis
from ...guarantees.sensitivity import in_units_of_ranges, unit_of
from ...learners import Informed, MinNormPoint
from ...learners import Learner as LearnerProtocol
from ...mdp import clock
from ...mdp.estimated import AnyMDP
from ...mdp.model import MDP
from ...mdp.occupancy import feature_expectations
from ...mdp.planning import optimal_policy
from ...mdp.policy import Policy
from ...mdp.rewards.rewards import Rewards
from ...teachers import JointGreedy, Teacher
from ...teaching.goals import Goal, Goals, TaskGoals
from ...teaching.matching import Matching
from ...teaching.task import BaselineError, Task
from ...views.linear_algebra import as_rows
from ...views.potential_shaping import Indistinct
from ...views.teaching_risk import relative_risk, teaching_risk
from ...views.worldview import Worldview
from ...what_to_show.search import Shown, best_demonstration
from ...worlds import World
from .answers import UnknownLearner
from .features import Teachables
from .goals import Baseline, doing_nothing
from .places import Place
from .rewards import RewardSource

# Of more features than this, which directions no policy can change is not found within a minute.
MANY = 2000


class Show(enum.StrEnum):
    """What is demonstrated: a policy of ours, or what a file has."""

    OPTIMAL = "optimal"
    CHOSEN = "choose"
    POLICY = "policy"
    RECORDED = "trajectories"


@dataclass(frozen=True, eq=False)
class Problem:
    """What a problem file says.

    All of it is checked when it is read; what takes planning waits until it is asked for.

    Attributes
    ----------
    place : Place, the file, and which of its fields an option changed
    source : str, the exact text of the file
    title : str, what the problem is called
    seed : int, of all that is left to chance
    world : World, its MDP with the true features, and where its states lie; the learner's own
        columns, if there are some, come last
    own : int, how many of its features are columns of the learner's alone
    files : tuple of pairs of str, the name and the SHA-256 of each file that was read beside it
    reward : RewardSource, where the weights come from, and how much of the rewards they leave out
    view : Worldview, what the learner sees as the file says; nothing of one who is unknown
    unknown : UnknownLearner, what the file says of one of whom nobody knows; None if it is known
    teachables : Teachables, what could be taught and at what cost
    show : Show, what is demonstrated
    shown : Policy or Demonstration, if a file gives it
    teacher, learner : Teacher and Learner, who teaches, and who is simulated
    budget, max_cost, mismatch : int and floats, as in `teach`; None where the file says nothing
    mismatch_share : float, the mismatch as a share of what policies can change of each feature;
        None where the file says none
    match : str, ``recordings`` or ``expert``, what learners match where episodes were recorded
    asked : Goals, what must be guaranteed
    baseline : Baseline, whose relative performance is 0

    Examples
    --------
    >>> import pathlib, tempfile, teachirl as ti
    >>> text = '[world]\\nname = "chain"\\n[reward.weights]\\n"cell 5" = 1.0\\n'
    >>> text += '[learner]\\nsees = []\\n[teach]\\nfeatures = "all"'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "problem.toml"
    ...     _ = path.write_text(text)
    ...     problem = ti.read_problem(path)
    >>> problem.weights
    array([0., 0., 0., 0., 1.])
    """

    place: Place
    source: str
    title: str
    seed: int
    world: World
    own: int
    files: tuple[tuple[str, str], ...]
    reward: RewardSource
    view: Worldview
    unknown: UnknownLearner | None
    teachables: Teachables
    show: Show
    shown: Policy | Demonstration | None
    teacher: Teacher
    learner: LearnerProtocol | Informed
    budget: int | None
    max_cost: float | None
    asked: Goals
    baseline: Baseline
    mismatch: float | None
    mismatch_share: float | None
    match: str

    def __repr__(self) -> str:
        return (
            f"Problem({self.title!r}: {self.mdp!r}, {self.view.n_rows} seen, "
            f"{len(self.teachables.names)} teachable)"
        )

    @property
    def path(self) -> Path:
        """The file."""
        return self.place.path

    @property
    def options(self) -> tuple[str, ...]:
        """The options that changed something in it, such as ``--set plan.max_cost=5``."""
        return tuple(dict.fromkeys(option for _, option in self.place.options))

    @property
    def mdp(self) -> MDP:
        """The world's MDP; of one that is known from a log, the nominal one."""
        return self.world.mdp

    @property
    def model(self) -> AnyMDP:
        """What guarantees are about: the MDP, or all worlds that a log allows."""
        return self.world.mdp if self.world.model is None else self.world.model

    @cached_property
    def diagnosis(self) -> Diagnosis | None:
        """What is proved, excluded and open of a learner who is unknown; else None."""
        if self.unknown is None:
            return None
        with (self.place / "learner").locating():
            return self.unknown.diagnosed(self.mdp)

    @cached_property
    def worldview(self) -> Worldview:
        """What the learner sees, or what is proved that it sees: what guarantees count with.

        Where the mismatch is a share, features are in units of what policies can change of them.
        """
        seen = self.view if self.diagnosis is None else self.diagnosis.seen
        return seen if self.mismatch_share is None else in_units_of_ranges(self.mdp, seen)

    @cached_property
    def teachable(self) -> AnyRows:
        """array [n, k], or SparseRows: what could be taught, in the units of the worldview."""
        rows = self.teachables.features
        if self.mismatch_share is None:
            return rows
        every = np.asarray(rows)
        return as_rows("teachable", every * unit_of(self.mdp, every)[:, None])

    @cached_property
    def inferred(self) -> InferredWeights | None:
        """The weights inferred from an expert's episodes, with their spread; None if given."""
        if self.reward.expert is None:
            return None
        found = infer_weights(self.mdp, self.reward.expert)
        if not found.weights.any():
            (self.place / "reward" / "trajectories").refuse(found.summary)
        return found

    @property
    def guessed(self) -> bool:
        """Whether an optimal policy for inferred weights stands for the expert, whom nobody saw but
        in the recordings that the weights were inferred from."""
        return self.reward.expert is not None and self.shown is None

    @property
    def weights(self) -> Floats:
        """array [k], the true reward's."""
        if self.inferred is not None:
            return self.inferred.plausible.weights
        assert self.reward.weights is not None
        return self.reward.weights

    @cached_property
    def rewards(self) -> Rewards | None:
        """Rewards, those that are plausible beside the weights; None if one is given."""
        if self.reward.posterior is None or self.inferred is None:
            return self.reward.several
        rng = np.random.default_rng([self.seed, 1])
        with (self.place / "reward" / "posterior").locating():
            return Rewards.posterior(self.inferred, self.reward.posterior, rng=rng)

    @cached_property
    def chosen(self) -> Shown | None:
        """The demonstration that guarantees most, if the file leaves it to us; else None."""
        if self.show is not Show.CHOSEN:
            return None
        rng = np.random.default_rng(self.seed)
        return best_demonstration(
            self.model, self.worldview, self.weights, rng=rng, indistinct=self._indistinct
        )

    @property
    def until(self) -> float | None:
        """The relative performance to be guaranteed; None if none was asked for."""
        return self.asked.guarantee

    @cached_property
    def expert(self) -> Demonstration:
        """Whose reward is the measure of a loss: what the file gives, or an optimal policy."""
        if self.chosen is None:
            return self.task.demonstration
        return as_demonstration(self.model, self.task.best.policy)

    @cached_property
    def goals(self) -> TaskGoals:
        """What must be guaranteed, in amounts."""
        return self.asked.of(self.task, self.expert)

    @cached_property
    def out_of_reach(self) -> tuple[Goal, ...]:
        """Goals that what is shown misses itself: whatever is taught, who does just that looks
        right. None where another policy may be shown in the end, or what the policy has is
        not known exactly."""
        shown = self.task.demonstration
        known = self.world.model is None and shown.error == 0.0
        if not known or isinstance(self.teacher, JointGreedy):
            return ()
        return self.goals.unmet(self.goals.own(shown))

    @cached_property
    def impossible(self) -> tuple[Goal, ...]:
        """Goals that no policy meets, whatever is shown; none where the world is not known."""
        known, goals = self.world.model is None, self.goals
        return tuple(goal for goal in goals if known and goal.missing_at(goals.possible(goal)))

    @cached_property
    def aims(self) -> TaskGoals:
        """What something that is taught can help with: the goals, and of one that is out of reach
        as much as what is shown has itself."""
        if not self.out_of_reach:
            return self.goals
        return self.goals.eased(self.goals.own(self.task.demonstration))

    @property
    def matching(self) -> Matching:
        """How closely learners are taken to match, as the file says."""
        found = self.diagnosis
        if self.mismatch is None and found is not None and found.mismatch > 0.0:
            return Matching(found.within_all(self.teachables.features, self.teachables.names))
        if self.mismatch_share is not None:
            return Matching(self.mismatch_share)
        return Matching(self.mismatch, self.nearest if self.match == "recordings" else None)

    @cached_property
    def nearest(self) -> Floats | None:
        """array [k], what the policy does that comes nearest to recorded episodes in all features;
        None if what is shown was not recorded, or where the world is not known: what
        policies can do is not known then."""
        if self.show is not Show.RECORDED or self.world.model is not None:
            return None
        target = as_demonstration(self.mdp, self.expert).expectations
        return MinNormPoint().learn(self.mdp, target).expectations

    @cached_property
    def idle(self) -> Baseline:
        """Who does nothing, if there is an action for that, by its name, or always takes the one
        that the file counts from; else who acts at random."""
        found = doing_nothing(self.mdp)
        if found is None and self.baseline.kind == "action":
            found = self.baseline
        return found or Baseline("uniform", policy=Policy.uniform(self.mdp))

    @cached_property
    def idle_earns(self) -> Floats:
        """array [k], what that earns by each feature."""
        assert self.idle.policy is not None
        return self.weights * feature_expectations(self.mdp, self.idle.policy)

    @cached_property
    def plan_seconds(self) -> float:
        """How long another plan takes."""
        began = clock.seconds()
        optimal_policy(self.mdp, self.weights)
        return clock.seconds() - began

    def guaranteed(self, view: Worldview, demonstration: Demonstration) -> float:
        """The relative performance that all learners who match have at least.

        Parameters
        ----------
        view : Worldview, what they see
        demonstration : Demonstration that they are shown

        Returns
        -------
        float in [0, 1]
        """
        return self.task.guaranteed(view, demonstration, self.matching)

    def risk(self, view: Worldview) -> float:
        """The teaching risk; of who sees columns that no reward is made of, the relative one.

        Parameters
        ----------
        view : Worldview

        Returns
        -------
        float in [0, 1]
        """
        if not self.own:
            return teaching_risk(view, self.weights)
        return relative_risk(self.mdp, view, self.weights, indistinct=self.task.indistinct)

    @property
    def many_features(self) -> bool:
        """Whether what no policy can change is left unknown, as finding it would take too long."""
        return self.mdp.n_features > MANY

    @property
    def _indistinct(self) -> Indistinct | None:
        nothing = Indistinct(np.empty((0, self.mdp.n_features)), 0.0)
        return nothing if self.many_features or self.world.model is not None else None

    @cached_property
    def task(self) -> Task:
        """The teaching problem."""
        taught, shown, weights = self.teachables, self.shown, self.weights
        there = () if self.diagnosis is None else self.diagnosis.has
        # What the learner is proved to have is not for sale.
        forbidden = {
            *taught.forbidden,
            *(taught.names.index(name) for name in there if name in taught.names),
        }
        several = self.rewards
        # Of samples the mean is not what is planned for.
        if several is not None and not np.array_equal(several.mean, weights):
            several = None
        with self.place.locating((BaselineError, self.place / "plan" / "baseline")):
            return Task(
                self.model,
                weights if several is None else several,
                self.worldview,
                self.teachable,
                taught.costs,
                taught.names,
                self.chosen.demonstration if self.chosen is not None else shown,
                required=[i for i in taught.required if taught.names[i] not in there],
                forbidden=sorted(forbidden),
                indistinct=self._indistinct,
                baseline=self.baseline.policy,
            )


__all__ = ["Problem", "Show"]
