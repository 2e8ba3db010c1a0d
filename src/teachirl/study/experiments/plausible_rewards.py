"""Beyond the paper: what to show, and what to certify, when several rewards are plausible.

Six rewards lie around one, at a distance that is its length times a spread. What is guaranteed
under the worst of them, if the learner is shown an optimal policy for their mean, the policy that
earns most under the worst of them, what is best to show for their mean, or what is for all of them?
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...figures.records import Claim, Curve, Figure, Findings, Panel, Verdict
from ...guarantees.certificate import certify
from ...mdp.rewards.rewards import Rewards
from ...views.worldview import Worldview
from ...what_to_show.search import best_demonstration
from ...worlds import gridworld
from .experiment import Experiment, Result, Results, Unit
from .statistics import paired

LABELS = {
    "optimal": "optimal for the mean reward",
    "fair": "earns most under the worst reward",
    "for_mean": "best to show for the mean reward",
    "for_all": "best to show for all rewards",
}


# Worst cases that are solved of all samples, at most.
FEW = 60


@dataclass(frozen=True)
class Settings:
    size: int = 10
    block: int = 2
    discount: float = 0.9
    rows: int = 5
    rewards: int = 6
    spreads: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0)
    samples: int = 200
    trials: int = 8
    seed: int = 12


def units(settings: Settings) -> list[Unit]:
    return [
        {"trial": trial, "spread": spread}
        for trial in range(settings.trials)
        for spread in settings.spreads
    ]


def run(settings: Settings, trial: int, spread: float) -> Result:
    mdp = gridworld(settings.size, settings.block, discount=settings.discount)
    rng = np.random.default_rng([settings.seed, trial])
    k = mdp.n_features
    view = Worldview(rng.standard_normal((settings.rows, k)))
    middle = rng.standard_normal(k)
    middle /= np.linalg.norm(middle)
    steps = spread / np.sqrt(k) * rng.standard_normal((settings.rewards + settings.samples, k))
    rewards = Rewards.listed(middle + steps[: settings.rewards])
    shown = best_demonstration(mdp, view, rewards, rng=rng)
    mean = best_demonstration(mdp, view, rewards.mean, rng=rng, proof_solves=0)
    many = Rewards.sampled(middle + steps[settings.rewards :])
    sampled = certify(mdp, view, many, shown.policy)
    return Result(
        {
            "optimal": shown.plain,
            "fair": certify(mdp, view, rewards, shown.fair).guaranteed,
            "for_mean": certify(mdp, view, rewards, mean.policy).guaranteed,
            "for_all": shown.guaranteed,
            "at_most": shown.upper,
            "policies": len(shown.policies),
            "sampled": sampled.guaranteed,
            "solved": sampled.solved,
        }
    )


def analyse(settings: Settings, results: Results) -> Findings:
    x = np.array(settings.spreads)
    curves = []
    for name, label in LABELS.items():
        values = np.array([results.array(name, spread=spread) for spread in settings.spreads])
        mean, spread = values.mean(axis=1), values.std(axis=1)
        curves.append(Curve(label, x, mean, mean - spread, mean + spread))
    most = [float(results.array("at_most", spread=spread).mean()) for spread in settings.spreads]
    curves.append(Curve("no demonstration guarantees more", x, np.array(most)))
    figure = Figure(
        "plausible_rewards",
        f"What is guaranteed under the worst of {settings.rewards} rewards that lie around one, by "
        f"what is shown: means over {settings.trials} trials, bands are one standard deviation.",
        (
            Panel(
                "",
                "how far the rewards are apart",
                "guaranteed performance",
                tuple(curves),
                y_range=(0, 1.02),
            ),
        ),
    )
    evidence = paired(results.array("for_all"), results.array("for_mean"))
    told = "; ".join(
        f"spread {spread:g}: "
        + " / ".join(f"{results.array(name, spread=spread).mean():.3f}" for name in LABELS)
        for spread in settings.spreads
    )
    mixed = float((results.array("policies") > 1).mean())
    solved = results.array("solved")
    claims = (
        Claim(
            "beyond the paper",
            "what is best to show for all rewards guarantees more than what is best for their mean",
            f"{' / '.join(LABELS.values())}: {told}; "
            f"a mixture in {100 * mixed:.0f} % of the trials",
            str(evidence),
            evidence.verdict,
        ),
        Claim(
            "beyond the paper",
            f"of {settings.samples} sampled rewards at most {FEW} must be solved for the "
            "least guarantee",
            f"{int(solved.min())} to {int(solved.max())}, {solved.mean():.0f} in the mean",
            "counted; the bounds of all others, which are proved, decide",
            Verdict.HOLDS if solved.max() <= FEW else Verdict.FAILS,
        ),
    )
    return Findings((figure,), claims)


PLAUSIBLE_REWARDS = Experiment(
    title="What to show when several rewards are plausible",
    full=Settings(),
    quick=Settings(size=6, spreads=(0.5, 1.0), samples=40, trials=2),
    units=units,
    run=run,
    analyse=analyse,
    unit_seconds=4.0,
    version=2,
)
