"""From the tables of a problem file, and the files that it names, to a `Problem`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from ...demonstrations.demonstration import Demonstration
from ...demonstrations.trajectories import Trajectories
from ...errors import require
from ...guarantees.bounds import check_units
from ...mdp.estimated import EstimatedMDP
from ...mdp.model import MDP
from ...mdp.policy import Policy
from ...teachers import Teacher
from ...worlds import World
from .answers import build_unknown
from .changes import Change, changed
from .episodes import read_episodes, read_policy
from .features import Features, build_teachables, build_view
from .files import MAX_FEATURES, Folder
from .goals import build_baseline, build_goals
from .mistakes import Mistakes
from .named import NAMED, NamedCall
from .own_columns import with_own_columns
from .places import Place, listed
from .problem import Problem, Show
from .reading import checked, parse, read_text
from .rewards import build_reward
from .schema import Demonstration as DemonstrationTable
from .schema import ProblemFile
from .worlds import build_world, features_alone

NOT_WITH_TABLES = (
    "where the learner has columns of its own, which are worth nothing, give reward.weights alone"
)
NOT_OF_UNKNOWN = "a share is for a learner who is known; learner.mismatch says it of an unknown one"


def read_problem(
    path: str | Path, *, allow_outside: bool = False, changes: Iterable[Change] = ()
) -> Problem:
    """Read a problem file; `docs/problem_file.md` says what can be in it.

    Mistakes in it, or in files that it names, are one `FileFormatError`, whose message names, for
    each of the first few, the file, the field, what was expected and what came.

    Parameters
    ----------
    path : str or Path, the TOML file
    allow_outside : bool, whether files that it names may lie outside of its folder; a file can
        allow that itself
    changes : Change, what stands in for some of what the file says

    Returns
    -------
    Problem, whose `task` is what `teach` takes

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
    path, mistakes = Path(path), Mistakes()
    source = read_text(path)
    place, file = parse(path, source, mistakes, changes)
    folder = Folder(path.parent, allow_outside or file.allow_outside)
    world = mistakes.of(lambda: _world(file, place / "world", folder, mistakes))
    if world is None:
        known = _check_names(file, place, folder, mistakes)
        mistakes.waiting = _waiting(file, place, known)
        mistakes.refuse()
    return _problem(source, place, file, folder, world, mistakes)


def read_world(path: str | Path, *, changes: Iterable[Change] = ()) -> World:
    """The world of a problem file; what is in its other tables does not matter.

    Parameters
    ----------
    path : str or Path, the TOML file
    changes : Change, what stands in for some of what the file says

    Returns
    -------
    World
    """
    path, mistakes = Path(path), Mistakes()
    place, file = parse(path, read_text(path), mistakes, changes)
    found = Mistakes()
    folder = Folder(path.parent, file.allow_outside)
    world = found.of(lambda: _world(file, place / "world", folder, found))
    found.refuse_any()
    assert world is not None
    return world


def named_world(name: str, changes: Iterable[Change] = ()) -> World:
    """A world that a problem file can name, or one of Gymnasium's, such as Taxi-v4.

    Parameters
    ----------
    name : str
    changes : Change, its parameters

    Returns
    -------
    World

    Examples
    --------
    >>> from teachirl.app.problem import Change, named_world
    >>> named_world("chain", [Change.set("cells=3")])
    World(MDP(3 states, 4 state-action pairs, 3 features per state, discount 0.9))
    """
    from_gymnasium = {"gymnasium": name, "discount": 0.9}
    table = from_gymnasium if re.search(r"-v[0-9]+$", name) else {"name": name}
    within = [replace(each, parts=("world", *each.parts)) for each in changes]
    tables: dict[str, Any] = {"world": table, "learner": {"sees": []}}
    mistakes = Mistakes()
    place, file = checked(*changed(Place(Path(name)), tables, within), mistakes)
    mistakes.refuse_any()
    return _world(file, place / "world", Folder(Path(), False), mistakes)


def _world(file: ProblemFile, place: Place, folder: Folder, mistakes: Mistakes) -> World:
    world = build_world(file.world, place, folder, file.seed, mistakes)
    with place.locating():
        count = world.mdp.n_features
        require(count <= MAX_FEATURES, f"expected at most {MAX_FEATURES} features, got {count}")
        check_units(world.mdp)
    return world


def _problem(
    source: str, place: Place, file: ProblemFile, folder: Folder, world: World, mistakes: Mistakes
) -> Problem:
    """All that the world was needed for."""
    true = world.mdp.n_features
    grown = mistakes.of(lambda: with_own_columns(world, file.learner, place / "learner", folder))
    world = world if grown is None else grown
    own = world.mdp.n_features - true
    mdp, plan, features = world.mdp, file.plan, Features(world.mdp, own, _combined(file))
    # What was recorded may have gone where the log never went.
    possible = mdp if world.model is None else world.model.possible
    seen = file.learner.sees or []
    learner = mistakes.of(lambda: _made("learner", plan.learner, place / "plan" / "learner"))
    simulated = {"learner": learner} if plan.teacher.name == "PerfGreedy" else {}
    at = place / "plan"
    parts: dict[str, Any] = {
        "reward": lambda: build_reward(file.reward, place / "reward", folder, world, features),
        "view": lambda: build_view(file.learner, place / "learner", folder, features),
        "unknown": lambda: build_unknown(file.learner, place / "learner", folder, world, features),
        "teachables": lambda: build_teachables(file.teach, place / "teach", features, seen, world),
        "teacher": lambda: cast(Teacher, _made("teacher", plan.teacher, at / "teacher", simulated)),
        "asked": lambda: build_goals(plan, at, features),
        "baseline": lambda: build_baseline(plan.baseline, at / "baseline", folder, mdp),
        "shown": lambda: _shown(file.demonstration, place / "demonstration", folder, possible),
    }
    if "reward" in mistakes.left_out:  # there is one, and what is wrong with it has been told
        del parts["reward"]
    model = world.model
    if model is not None:
        mistakes.of(lambda: _refuse_in_doubt(file, place, model))
    built: dict[str, Any] = {name: mistakes.of(make) for name, make in parts.items()}
    if plan.mismatch is not None and plan.mismatch.share is not None and file.learner.unknown:
        mistakes.of(lambda: (at / "mismatch").refuse(NOT_OF_UNKNOWN))
    for name in ("trajectories", "within"):
        if own and getattr(file.reward, name, None) is not None:
            mistakes.of(partial((place / "reward" / name).refuse, NOT_WITH_TABLES))
    mistakes.refuse_any()
    show, shown = built.pop("shown")
    if isinstance(shown, Trajectories):
        shown = _estimated(file.demonstration, shown, possible, built)
    return Problem(
        place=place,
        source=source,
        title=file.title or place.path.stem,
        seed=file.seed,
        world=world,
        own=own,
        files=tuple(folder.digests.items()),
        show=show,
        shown=shown,
        learner=cast(Any, learner),
        budget=plan.budget,
        max_cost=plan.max_cost,
        mismatch=None if plan.mismatch is None else plan.mismatch.amount,
        mismatch_share=None if plan.mismatch is None else plan.mismatch.share,
        match=file.demonstration.match,
        **built,
    )


def _combined(file: ProblemFile) -> set[str]:
    """What combinations that could be taught are called."""
    return {each.name for each in file.teach.feature if each.weights is not None}


def _check_names(file: ProblemFile, place: Place, folder: Folder, mistakes: Mistakes) -> bool:
    """Tell which features that are named are not there, where the rest of the world is wrong, and
    what else is wrong that takes no more than their names; False if these are not known."""
    world = features_alone(file.world, folder)
    if world is None:
        return False
    features = Features(world.mdp, combined=_combined(file))
    reward, learner = file.reward, file.learner
    if reward is not None and (reward.weights or reward.plausible):
        mistakes.of(lambda: build_reward(reward, place / "reward", folder, world, features))
    mistakes.of(lambda: build_view(learner, place / "learner", folder, features))
    buckets = {place / "learner" / "buckets" / name: name for name in learner.buckets or {}}
    mistakes.of(lambda: features.check(buckets))
    names = learner.sees or []
    mistakes.of(lambda: build_teachables(file.teach, place / "teach", features, names, world))
    mistakes.of(lambda: build_goals(file.plan, place / "plan", features))
    return True


def _waiting(file: ProblemFile, place: Place, known: bool) -> str:
    """What cannot be looked at before the world is right; features may be known by then."""
    keys = [
        ("world", "map", getattr(file.world, "map", None)),
        ("reward", "rewards", getattr(file.reward, "rewards", None)),
        ("reward", "trajectories", getattr(file.reward, "trajectories", None)),
        ("learner", "table", file.learner.table),
        ("learner", "answer", file.learner.answer),
        ("demonstration", "policy", file.demonstration.policy),
        ("demonstration", "trajectories", file.demonstration.trajectories),
        ("plan", "baseline", file.plan.baseline),
    ]
    late = [f"{table}.{key}" for table, key, value in keys if value]
    late += [] if known else ["names of features"]
    if not late:
        return ""
    return f"{place.path}: not looked at, as the world must be right first: {listed(late)}"


def _refuse_in_doubt(file: ProblemFile, place: Place, model: EstimatedMDP) -> None:
    """Refuse what needs a world that is known."""
    known = "needs a world that is known, not one estimated from a log"
    if file.demonstration.trajectories is not None and model.outcomes is not None:
        (place / "demonstration" / "trajectories").refuse(
            "recorded episodes need features of states or of pairs, not of what follows"
        )
    if file.reward is not None and file.reward.trajectories is not None:
        (place / "reward" / "trajectories").refuse(
            f"to infer weights {known}: what an expert does for a reward depends on the "
            "transitions, and the log leaves these open; give `weights`, or `plausible` ones"
        )
    if file.plan.baseline is not None:
        (place / "plan" / "baseline").refuse(f"a baseline {known}; leave it out")
    if file.plan.teacher.name == "JointGreedy":
        (place / "plan" / "teacher").refuse(f"JointGreedy {known}; take GapGreedy")
    if file.learner.unknown:
        (place / "learner" / "unknown").refuse(f"an unknown learner {known}; say what it sees")


def _shown(
    table: DemonstrationTable, place: Place, folder: Folder, mdp: MDP
) -> tuple[Show, Policy | Trajectories | None]:
    """How the demonstration is given, and what was read of it."""
    if table.policy is not None:
        with (place / "policy").locating():
            return Show.POLICY, read_policy(folder, table.policy, mdp)
    if table.trajectories is not None:
        with (place / "trajectories").locating():
            episodes = read_episodes(folder, table.trajectories, mdp, table.skip)
            return Show.RECORDED, episodes
    return Show(table.show or Show.OPTIMAL), None


def _estimated(
    table: DemonstrationTable, episodes: Trajectories, mdp: MDP, built: dict[str, Any]
) -> Demonstration:
    """What episodes say of the expert, also in the features that matter, one by one."""
    weights = built["reward"].weights
    view = built["view"]
    rows = [] if view is None else [view.matrix]
    rows += [built["teachables"].features, *([] if weights is None else [weights[None]])]
    return Demonstration.from_trajectories(mdp, episodes, table.confidence, rows=np.vstack(rows))


def _made(kind: str, call: NamedCall, place: Place, also: dict[str, Any] | None = None) -> Any:
    with place.locating():
        return NAMED[kind][call.name](**call.parameters, **(also or {}))


__all__ = ["named_world", "read_problem", "read_world"]
