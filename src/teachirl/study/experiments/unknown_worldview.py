"""Beyond the paper: a learner whose worldview is unknown, found out by probes.

Three kinds of units. *probes*: is what is left after the expert was shown, and after one and two
probes, exactly what the learner has? *cost*: what must be taught until .9 are guaranteed, if the
worldview is known, diagnosed, taken to be nothing, or guessed from the first answer. *null*:
p-values of probes that are answered by learners who lack a feature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import product

import numpy as np
import scipy

from ...arrays import Floats
from ...demonstrations.demonstration import Demonstration
from ...diagnosis.diagnose import diagnose
from ...diagnosis.diagnosis import Diagnosis, DiagnosisStatus
from ...diagnosis.exchange import Exchange
from ...diagnosis.library import Library
from ...diagnosis.probe import next_probe
from ...figures.records import Claim, Curve, Figure, Findings, Panel, Verdict
from ...guarantees.worst_case import best_case, worst_case
from ...learners import MinNormPoint
from ...mdp.model import MDP
from ...mdp.occupancy import feature_expectations
from ...mdp.planning import optimal_policy
from ...precision import SEARCH_TIE
from ...teachers import GapGreedy
from ...teaching.goals import Goals
from ...teaching.matching import Matching
from ...teaching.rounds import Rounds
from ...teaching.task import Task
from ...views.linear_algebra import without_span
from ...views.worldview import Worldview
from ...worlds import chain, driving, from_gymnasium, garnet, gridworld
from .draws import unit_weights
from .experiment import Experiment, Result, Results, Unit
from .statistics import LEVEL, p_text

WORLDS: dict[str, Callable[[], MDP]] = {
    "chain": lambda: chain(5),
    "grid 9": lambda: gridworld(6, block=2),
    "grid 25": lambda: gridworld(10, block=2),
    "garnet": lambda: garnet(np.random.default_rng(3), 40, 3, 3, 6),
    "FrozenLake": lambda: from_gymnasium("FrozenLake-v1", discount=0.95),
    "CliffWalking": lambda: from_gymnasium("CliffWalking-v1", discount=0.95),
    "Taxi": lambda: from_gymnasium("Taxi-v4", discount=0.95),
    "driving": lambda: driving(sight=1).mdp,
}
GYMNASIUM = {"FrozenLake", "CliffWalking", "Taxi"}
LEARNERS = ("nearest", "adversarial", "lucky", "random")
WAYS = ("known", "diagnosed", "nothing assumed", "guessed")
PROBES = 4  # at most, until all is known


@dataclass(frozen=True)
class Settings:
    worlds: tuple[str, ...] = tuple(WORLDS)
    learners: tuple[str, ...] = LEARNERS
    trials: int = 20
    cost_worlds: tuple[str, ...] = ("chain", "grid 9", "FrozenLake")
    cost_trials: int = 20
    wanted: float = 0.9
    null_world: str = "garnet"
    draws: int = 2000
    block: int = 250
    seed: int = 10


def units(settings: Settings) -> list[Unit]:
    here = WORLDS if find_spec("gymnasium") else set(WORLDS) - GYMNASIUM
    found: list[Unit] = [
        {"kind": "probes", "world": world, "learner": learner, "trial": trial}
        for world, learner in product(settings.worlds, settings.learners)
        for trial in range(settings.trials)
        if world in here and (learner == "nearest" or world not in ("Taxi", "driving"))
    ]
    found += [
        {"kind": "cost", "world": world, "learner": learner, "trial": trial}
        for world, learner in product(settings.cost_worlds, ("nearest", "lucky"))
        for trial in range(settings.cost_trials)
        if world in here
    ]
    found += [
        {"kind": "null", "world": settings.null_world, "learner": learner, "trial": trial}
        for learner in settings.learners
        for trial in range(settings.draws // settings.block)
    ]
    return found


def run(settings: Settings, kind: str, world: str, learner: str, trial: int) -> Result:
    library = _library(world)
    place = [settings.seed, list(WORLDS).index(world), LEARNERS.index(learner), trial]
    rng = np.random.default_rng([*place, ("probes", "cost", "null").index(kind)])
    if kind == "null":
        return _null(library, learner, rng, settings.block)
    pupil = _Pupil(library, learner, rng)
    return pupil.probed() if kind == "probes" else pupil.costs(settings.wanted)


@cache
def _library(world: str) -> Library:
    return Library(WORLDS[world](), None)


def _answer(
    mdp: MDP, view: Worldview, weights: Floats, learner: str, mu: Floats, rng: np.random.Generator
) -> Demonstration:
    """What a learner does that sees Aμ, by its feature expectations."""
    if learner == "nearest":
        policy = MinNormPoint().learn(view.observe(mdp), view.matrix @ mu).policy
    else:
        # Told the expectations, not the policy: that would be more than can be seen.
        direction = rng.normal(size=len(weights)) if learner == "random" else weights
        extreme = best_case if learner == "lucky" else worst_case
        found = extreme(mdp, view, direction, Demonstration(mu)).witness
        assert found is not None
        policy = found
    return Demonstration(feature_expectations(mdp, policy))


class _Pupil:
    """A learner with some of the features, and a teacher who does not know which."""

    def __init__(self, library: Library, learner: str, rng: np.random.Generator) -> None:
        self.library, self.mdp, self.learner, self.rng = library, library.mdp, learner, rng
        moving = [i for i in range(len(library)) if i not in library.idle]
        size = int(rng.integers(2, max(len(moving) // 2, 2) + 1))
        chosen = sorted(rng.choice(moving, size=size, replace=False).tolist())
        self.view = Worldview.select(self.mdp, chosen)
        self.weights = unit_weights(rng, self.mdp.n_features)
        basis = library.span(chosen)
        off = np.linalg.norm(without_span(basis, library.rows), axis=1)
        sizes = np.linalg.norm(library.rows, axis=1)
        self.truth = {library.names[i] for i in moving if off[i] <= SEARCH_TIE * sizes[i]}

    def _exchange(self, shown: object, mu: Floats) -> Exchange:
        answer = _answer(self.mdp, self.view, self.weights, self.learner, mu, self.rng)
        return Exchange(shown, answer)  # type: ignore[arg-type]  # a probe or a policy

    def first(self) -> Diagnosis:
        """After the expert was shown."""
        expert = optimal_policy(self.mdp, self.weights).policy
        exchange = self._exchange(expert, feature_expectations(self.mdp, expert))
        return diagnose(self.mdp, self.library, [exchange])

    def diagnosed(self, most: int) -> list[Diagnosis]:
        """After each of so many probes."""
        found: list[Diagnosis] = []
        exchanges: list[Exchange] = []
        while len(found) < most:
            probe = next_probe(self.mdp, found[-1] if found else self.library, rng=self.rng)
            exchanges.append(self._exchange(probe, probe.demonstration.expectations))
            found.append(diagnose(self.mdp, self.library, exchanges))
            if found[-1].status is DiagnosisStatus.IDENTIFIED and not found[-1].possible.names:
                break
        return found + [found[-1]] * (most - len(found))

    def probed(self) -> Result:
        found = [self.first(), *self.diagnosed(2)]
        left = [set(each.possible.names or ()) for each in found]
        last = found[-1]
        return Result(
            {
                "identified": [float(each == self.truth) for each in left],
                "wrongly excluded": [float(not self.truth <= each) for each in left],
                "proved": float(set(last.has) == self.truth),
                "wrongly proved": float(not set(last.has) <= self.truth),
                "p": last.p_value,
            }
        )

    def costs(self, wanted: float) -> Result:
        guess, known = self.first().possible, self.diagnosed(PROBES)[-1].seen
        nothing = Worldview.select(self.mdp, [])
        views = dict(zip(WAYS, (self.view, known, nothing, guess), strict=True))
        task = Task(self.mdp, self.weights, self.view, np.eye(self.mdp.n_features))
        values: dict[str, float] = {}
        for way, view in views.items():
            taught = _planned(task.with_worldview(view), wanted)
            true = self.view.extend(task.teachable[list(taught)])
            real = task.guaranteed(true, task.demonstration, Matching())
            values[way] = float(len(taught))
            values[f"{way}, false"] = float(real < wanted - 1e-6)
        return Result(values)


def _planned(task: Task, wanted: float) -> tuple[int, ...]:
    """What is taught until so much is guaranteed."""
    goals = Goals(wanted).of(task)
    rounds = Rounds(
        task,
        GapGreedy(),
        rng=np.random.default_rng(0),
        budget=len(task.teachable),
        goals=goals,
    )
    for each in rounds:
        if each.promise is not None and not goals.unmet(each.promise):
            break
    return each.taught


def _null(library: Library, learner: str, rng: np.random.Generator, draws: int) -> Result:
    """p-values of a probe of all candidates, answered by who lacks one of them."""
    mdp, found = library.mdp, []
    for _ in range(draws):
        lacking = int(rng.integers(mdp.n_features))
        view = Worldview.select(mdp, [i for i in range(mdp.n_features) if i != lacking])
        probe = next_probe(mdp, library, rng=rng)
        mu = probe.demonstration.expectations
        weights = unit_weights(rng, mdp.n_features)
        answer = _answer(mdp, view, weights, learner, mu, rng)
        off = float(np.linalg.norm(library.off(mu - answer.expectations)))
        found.append(probe.p_value(off))
    return Result({"p": found})


def analyse(settings: Settings, results: Results) -> Findings:
    probes, costs = results.where(kind="probes"), results.where(kind="cost")
    worlds = [w for w in settings.worlds if probes.where(world=w).pairs]
    marks = []
    for world in worlds:
        if world == "grid 9" and "grid 25" in worlds:  # one grid is enough to be drawn
            continue
        shares = probes.array("identified", world=world, learner="nearest").mean(axis=0)
        marks.append(Curve(world, np.arange(3.0), shares))
    levels = np.linspace(0.0, 0.2, 41)
    nulls = {
        learner: results.where(kind="null").array("p", learner=learner).ravel()
        for learner in settings.learners
    }
    calibration = [
        Curve(learner, levels, np.array([(p <= level).mean() for level in levels]))
        for learner, p in nulls.items()
    ]
    calibration.append(Curve("allowed", levels, levels))
    figure = Figure(
        "unknown_worldview",
        "The worldview found. Left: in how many of "
        f"{settings.trials} trials what is left is exactly what the learner has, after the expert "
        "was shown (0), and after one and two probes. Right: how often learners who lack a feature "
        "come so near to a probe that the p-value is small; below the line, it is valid.",
        (
            Panel("", "probes", "share identified", tuple(marks), y_range=(0, 1.02)),
            Panel("", "p-value", "share of draws with less", tuple(calibration)),
        ),
    )
    return Findings(
        (figure,),
        (
            *_probe_claims(settings, probes),
            *_cost_claims(settings, costs),
            _null_claim(nulls),
        ),
        (_table(settings, worlds, probes), _cost_table(settings, costs)),
    )


def _probe_claims(settings: Settings, probes: Results) -> list[Claim]:
    two = probes.array("identified", learner="nearest")[:, 2]
    proved = probes.array("proved", learner="nearest")
    wrong = int(probes.array("wrongly excluded").sum() + probes.array("wrongly proved").sum())
    return [
        Claim(
            "beyond the paper",
            "two probes identify what the learner has",
            f"{int(two.sum())} of {len(two)} learners, {int(proved.sum())} with proof; p at most "
            f"{probes.array('p', learner='nearest')[proved > 0].max(initial=0.0):.0e}",
            "count, MinNormPoint in all worlds",
            Verdict.HOLDS if two.all() and proved.all() else Verdict.FAILS,
        ),
        Claim(
            "beyond the paper",
            "nothing that a learner has is excluded, and nothing that it lacks is proved",
            f"{wrong} times in {len(probes.pairs)} trials",
            "count, all worlds and learners",
            Verdict.HOLDS if wrong == 0 else Verdict.FAILS,
        ),
    ]


def _cost_claims(settings: Settings, costs: Results) -> list[Claim]:
    means = {way: float(costs.array(way).mean()) for way in WAYS}
    equal = bool(np.all(costs.array("known") == costs.array("diagnosed")))
    false = {way: float(costs.array(f"{way}, false").mean()) for way in WAYS}
    lucky = float(costs.array("guessed, false", learner="lucky").mean())
    return [
        Claim(
            "beyond the paper",
            "to teach a learner who was diagnosed costs what it costs if the worldview is known",
            ", ".join(f"{way} {means[way]:.2f}" for way in WAYS) + " features in the mean",
            "comparison, trial by trial",
            Verdict.HOLDS if equal else Verdict.FAILS,
        ),
        Claim(
            "beyond the paper",
            "a diagnosis gives no false guarantee, a guess from the first answer does",
            f"diagnosed {false['diagnosed']:.0%}, guessed {false['guessed']:.0%} "
            f"({lucky:.0%} of the lucky)",
            "exact worst case with what the learner really has",
            Verdict.HOLDS if false["diagnosed"] == 0.0 < false["guessed"] else Verdict.FAILS,
        ),
    ]


def _null_claim(nulls: dict[str, Floats]) -> Claim:
    worst = max(nulls, key=lambda learner: float((nulls[learner] <= 0.05).mean()))
    hits, draws = int((nulls[worst] <= 0.05).sum()), len(nulls[worst])
    p = float(scipy.stats.binomtest(hits, draws, 0.05, alternative="greater").pvalue)
    return Claim(
        "beyond the paper",
        "who lacks a feature has a p-value of at most .05 in at most 5 % of all draws",
        ", ".join(f"{who} {(each <= 0.05).mean():.1%}" for who, each in nulls.items())
        + f" of {draws} draws each",
        f"binomial, so many or more if the chance is .05: p {p_text(p)}",
        Verdict.HOLDS if p > LEVEL else Verdict.FAILS,
    )


def _table(settings: Settings, worlds: list[str], probes: Results) -> str:
    """Shares identified, by world and learner, in Markdown."""
    lines = [
        "| world | learner | expert once | 1 probe | 2 probes | largest p |",
        "|---|---|---|---|---|---|",
    ]
    for world, learner in product(worlds, settings.learners):
        if probes.where(world=world, learner=learner).pairs:
            shares = probes.array("identified", world=world, learner=learner).mean(axis=0)
            p = probes.array("p", world=world, learner=learner).max()
            cells = " | ".join(f"{share:.2f}" for share in shares)
            lines.append(f"| {world} | {learner} | {cells} | {p:.0e} |")
    return "\n".join(lines)


def _cost_table(settings: Settings, costs: Results) -> str:
    """Features taught until enough is guaranteed, and false guarantees, in Markdown."""
    lines = [f"| world | learner | {' | '.join(WAYS)} | false if guessed |", "|---" * 7 + "|"]
    for world, learner in product(settings.cost_worlds, ("nearest", "lucky")):
        if costs.where(world=world, learner=learner).pairs:
            mine = costs.where(world=world, learner=learner)
            cells = " | ".join(f"{mine.array(way).mean():.2f}" for way in WAYS)
            false = mine.array("guessed, false").mean()
            lines.append(f"| {world} | {learner} | {cells} | {false:.0%} |")
    return "\n".join(lines)


UNKNOWN_WORLDVIEW = Experiment(
    title="The worldview found: learners of whom nothing is known, probed",
    full=Settings(),
    quick=Settings(
        worlds=("chain", "grid 9"),
        learners=("nearest", "lucky"),
        trials=4,
        cost_worlds=("chain", "grid 9"),
        cost_trials=3,
        draws=100,
        block=50,
    ),
    units=units,
    run=run,
    analyse=analyse,
    unit_seconds=0.5,
)
