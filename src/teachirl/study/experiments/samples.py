"""Beyond the paper: what finitely many demonstrated trajectories still guarantee.

The expert is recorded for more and more episodes. What is guaranteed holds with the confidence
stated: of everyone who is as close to the estimate as the expert may be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from ...demonstrations.demonstration import Demonstration, as_demonstration
from ...figures.records import Claim, Curve, Figure, Findings, Panel, Verdict
from ...learners import MinNormPoint
from ...mdp.occupancy import feature_expectations
from ...mdp.policy import Policy
from ...teaching.matching import Matching
from ...teaching.task import Task
from ...views.worldview import Worldview
from ...worlds import gridworld
from .draws import unit_weights
from .experiment import Experiment, Result, Results, Unit
from .statistics import LEVEL, p_text


@dataclass(frozen=True)
class Settings:
    size: int = 10
    block: int = 2
    discount: float = 0.9
    seen: int = 20
    episodes: tuple[int, ...] = (100, 1_000, 10_000, 100_000)
    horizon: int = 100
    confidence: float = 0.95
    trials: int = 10
    seed: int = 9


def units(settings: Settings) -> list[Unit]:
    return [{"trial": trial} for trial in range(settings.trials)]


def run(settings: Settings, trial: int) -> Result:
    mdp = gridworld(settings.size, settings.block, discount=settings.discount)
    rng = np.random.default_rng([settings.seed, trial])
    k = mdp.n_features
    weights = unit_weights(rng, k)
    view = Worldview.select(mdp, rng.choice(k, settings.seen, replace=False).tolist())
    task = Task(mdp, weights, view, np.empty((0, k)))
    expert = task.best.policy
    mu = feature_expectations(mdp, expert)
    guaranteed, performance, off, allowed = [], [], [], []
    for episodes in settings.episodes:
        shown = Demonstration.sample(
            mdp,
            expert,
            episodes=episodes,
            horizon=settings.horizon,
            rng=rng,
            confidence=settings.confidence,
        )
        learned = MinNormPoint().learn(view.observe(mdp), view.matrix @ shown.expectations)
        guaranteed.append(_guaranteed(task, shown))
        performance.append(
            task.relative(float(weights @ feature_expectations(mdp, learned.policy)))
        )
        off.append(float(np.linalg.norm(shown.expectations - mu)))
        allowed.append(shown.error)
    return Result(
        {
            "guaranteed": guaranteed,
            "performance": performance,
            "off": off,
            "allowed": allowed,
            "exact": _guaranteed(task, expert),
        }
    )


def _guaranteed(task: Task, shown: Demonstration | Policy) -> float:
    """The relative performance of whoever is as close to what is shown as the expert may be."""
    return task.guaranteed(task.worldview, as_demonstration(task.mdp, shown), Matching())


def analyse(settings: Settings, results: Results) -> Findings:
    x = np.array(settings.episodes)
    guaranteed, earned = results.array("guaranteed"), results.array("performance")
    exact = float(np.median(results.array("exact")))

    def curve(label: str, values: np.ndarray) -> Curve:
        low, middle, high = np.quantile(values, (0.25, 0.5, 0.75), axis=0)
        return Curve(label, x, middle, low, high)

    figure = Figure(
        "samples",
        f"What recorded trajectories guarantee with confidence {settings.confidence:g}: medians "
        f"over {settings.trials} trials, bands are quartiles. The learner sees "
        f"{settings.seen} of {(settings.size // settings.block) ** 2} features.",
        (
            Panel(
                "",
                "episodes recorded",
                "relative performance",
                (
                    curve("guaranteed", guaranteed),
                    curve("of a learner (MinNormPoint)", earned),
                    Curve("guaranteed by the exact demonstration", x, np.full(len(x), exact)),
                ),
                y_range=(0, 1.02),
                log_x=True,
            ),
        ),
    )
    off, allowed = results.array("off"), results.array("allowed")
    misses = int((off > allowed).sum())
    chance = 1.0 - settings.confidence
    p = float(scipy.stats.binomtest(misses, off.size, chance, alternative="greater").pvalue)
    below = int((earned < guaranteed - 1e-9).sum())
    claims = (
        Claim(
            "beyond the paper",
            f"an estimate is within its radius with probability {settings.confidence:g} at least",
            f"{misses} of {off.size} estimates were farther off",
            f"binomial, so many or more if the chance is {chance:.2g}: p {p_text(p)}",
            Verdict.HOLDS if p > LEVEL else Verdict.FAILS,
        ),
        Claim(
            "beyond the paper",
            "no learner earned less than what was guaranteed",
            f"{below} of {earned.size} did",
            "count",
            Verdict.HOLDS if below == 0 else Verdict.FAILS,
        ),
    )
    return Findings((figure,), claims)


SAMPLES = Experiment(
    title="What finitely many trajectories guarantee",
    full=Settings(),
    quick=Settings(episodes=(100, 1_000, 10_000), trials=4),
    units=units,
    run=run,
    analyse=analyse,
    unit_seconds=3.0,
    version=2,
)
