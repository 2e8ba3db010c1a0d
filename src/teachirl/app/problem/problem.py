"""A user's problem: what its file says, checked, as the objects that the library works with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np

from ...arrays import Floats
from ...demonstrations.demonstration import Demonstration
from ...demonstrations.inferred_weights import InferredWeights, infer_weights
from ...learners import Informed
from ...learners import Learner as LearnerProtocol
from ...mdp.model import MDP
from ...mdp.policy import Policy
from ...teachers import Teacher
from ...teaching.matching import Matching
from ...teaching.task import Task
from ...views.potential_shaping import Indistinct
from ...views.worldview import Worldview
from ...what_to_show.search import Shown, best_demonstration
from .episodes import read_episodes, read_policy
from .features import Features, Lessons, build_lessons, build_view
from .files import Folder
from .named import Called, find
from .places import Place
from .reading import parse, read_text
from .rewards import Given, build_reward
from .schema import Demonstration as DemonstrationTable
from .worlds import build_world

# Of more features than this, which directions no policy can change is not found within a minute.
MANY = 2000


@dataclass(frozen=True, eq=False)
class Problem:
    """What a problem file says.

    All of it is checked when it is read; what takes planning waits until it is asked for.

    Attributes
    ----------
    path, source : the file, and its exact text
    title : what the problem is called
    seed : of all that is left to chance
    mdp : MDP with the true features
    reward : Given, where the weights come from, and how much of the rewards they leave out
    worldview : what the learner sees
    lessons : Lessons, what could be taught and at what cost
    show : ``optimal``, ``choose``, ``policy`` or ``trajectories``: what she is shown
    shown : the policy or the recorded demonstration, if a file gives it
    teacher, learner : who teaches, and who is simulated
    budget, max_cost, until, mismatch : as in `teach`; None where the file says nothing
    """

    path: Path
    source: str
    title: str
    seed: int
    mdp: MDP
    reward: Given
    worldview: Worldview
    lessons: Lessons
    show: str
    shown: Policy | Demonstration | None
    teacher: Teacher
    learner: LearnerProtocol | Informed
    budget: int | None
    max_cost: float | None
    until: float | None
    mismatch: float | None

    def __repr__(self) -> str:
        return (
            f"Problem({self.title!r}: {self.mdp!r}, {self.worldview.n_rows} seen, "
            f"{len(self.lessons.names)} teachable)"
        )

    @cached_property
    def inferred(self) -> InferredWeights | None:
        """The weights inferred from an expert's episodes, with their spread; None if given."""
        if self.reward.expert is None:
            return None
        found = infer_weights(self.mdp, self.reward.expert)
        if not found.weights.any():
            (Place(self.path) / "reward" / "trajectories").refuse(found.summary)
        return found

    @property
    def weights(self) -> Floats:
        """array [k], the true reward's."""
        if self.inferred is not None:
            return self.inferred.weights
        assert self.reward.weights is not None
        return self.reward.weights

    @cached_property
    def chosen(self) -> Shown | None:
        """The demonstration that guarantees most, if the file leaves it to us; else None."""
        if self.show != "choose":
            return None
        rng = np.random.default_rng(self.seed)
        return best_demonstration(
            self.mdp, self.worldview, self.weights, rng=rng, indistinct=self._indistinct
        )

    @property
    def matching(self) -> Matching:
        """How closely learners are taken to match, as the file says."""
        return Matching(self.mismatch)

    def guaranteed(self, view: Worldview, demonstration: Demonstration) -> float:
        """The relative performance that learners who see this and match that have at least."""
        return self.task.guaranteed(view, demonstration, self.matching)

    @property
    def many_features(self) -> bool:
        """Whether what no policy can change is left unknown, as finding it would take too long."""
        return self.mdp.n_features > MANY

    @property
    def _indistinct(self) -> Indistinct | None:
        nothing = Indistinct(np.empty((0, self.mdp.n_features)), 0.0)
        return nothing if self.many_features else None

    @cached_property
    def task(self) -> Task:
        """The teaching problem."""
        lessons, shown = self.lessons, self.shown
        with Place(self.path).blamed():
            return Task(
                self.mdp,
                self.weights,
                self.worldview,
                lessons.features,
                lessons.costs,
                lessons.names,
                self.chosen.demonstration if self.chosen is not None else shown,
                required=lessons.required,
                forbidden=lessons.forbidden,
                indistinct=self._indistinct,
            )


def read_problem(path: str | Path, *, allow_outside: bool = False) -> Problem:
    """Read a problem file; `docs/problem_file.md` says what can be in it.

    Every mistake in it, or in a file that it names, is a `FileFormatError` whose message names the
    file, the field, what was expected and what came.

    Parameters
    ----------
    path : the TOML file
    allow_outside : whether files that it names may lie outside of its folder; a file can allow that
        itself

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from teachirl.app.problem import read_problem
    >>> text = '''
    ... [world]
    ... name = "chain"
    ... [reward.weights]
    ... "cell 1" = -1.0
    ... "cell 5" = 1.0
    ... [learner]
    ... sees = ["cell 3"]
    ... [teach]
    ... features = "all"
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "figure_1.toml"
    ...     _ = path.write_text(text)
    ...     problem = read_problem(path)
    >>> problem.task
    Task(5 features, 1 row seen, 4 teachable)
    """
    path = Path(path)
    source = read_text(path)
    file, place = parse(path, source), Place(path)
    folder = Folder(path.parent, allow_outside or file.allow_outside)
    world = build_world(file.world, place / "world", folder, file.seed)
    mdp, features = world.mdp, Features(world.mdp)
    reward = build_reward(file.reward, place / "reward", folder, world, features)
    view = build_view(file.learner, place / "learner", folder, features)
    seen = file.learner.sees or []
    lessons = build_lessons(file.teach, place / "teach", features, seen, world.prices)
    show, shown = _shown(file.demonstration, place / "demonstration", folder, mdp)
    plan = file.plan
    learner = _made("learner", plan.learner, place / "plan" / "learner")
    simulated = {"learner": learner} if plan.teacher.name == "PerfGreedy" else {}
    return Problem(
        path=path,
        source=source,
        title=file.title or path.stem,
        seed=file.seed,
        mdp=mdp,
        reward=reward,
        worldview=view,
        lessons=lessons,
        show=show,
        shown=shown,
        teacher=cast(
            Teacher, _made("teacher", plan.teacher, place / "plan" / "teacher", simulated)
        ),
        learner=learner,
        budget=plan.budget,
        max_cost=plan.max_cost,
        until=plan.guarantee,
        mismatch=plan.mismatch,
    )


def _shown(
    table: DemonstrationTable, place: Place, folder: Folder, mdp: MDP
) -> tuple[str, Policy | Demonstration | None]:
    """How the demonstration is given, and what was read of it."""
    if table.policy is not None:
        with (place / "policy").blamed():
            return "policy", read_policy(folder, table.policy, mdp)
    if table.trajectories is not None:
        with (place / "trajectories").blamed():
            episodes = read_episodes(folder, table.trajectories, mdp)
            return "trajectories", Demonstration.from_trajectories(mdp, episodes, table.confidence)
    return table.show or "optimal", None


def _made(kind: str, call: Called, place: Place, also: dict[str, Any] | None = None) -> Any:
    with place.blamed():
        return find(kind, call.name)(**call.parameters, **(also or {}))


__all__ = ["Problem", "read_problem"]
