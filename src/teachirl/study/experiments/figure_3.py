"""Figure 3: what the learner earns against the teaching risk of its worldview.

For each number of rows ℓ, discount and draw: a random reward, a random worldview A [ℓ, k], and the
projection learner, who matches an optimal policy in that view.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from ...figures.records import Claim, Curve, Figure, Findings, Panel, Points, Verdict
from ...guarantees.diameter import diameter
from ...learners import Projection
from ...mdp.occupancy import feature_expectations
from ...mdp.planning import optimal_policy, worst_policy
from ...views.teaching_risk import teaching_risk
from ...worlds import gridworld
from .draws import random_view, unit_weights
from .experiment import Experiment, Result, Results, Unit
from .statistics import more_spread, mostly, paired


@dataclass(frozen=True)
class Settings:
    """ℓ runs over 1, 1 + every, …, up to the number of features."""

    size: int = 20
    block: int = 2
    discounts: tuple[float, ...] = (0.5, 0.75, 0.9)
    every: int = 1
    draws: int = 5
    tolerance: float = 1e-4
    max_steps: int = 5000
    seed: int = 3


def units(settings: Settings) -> list[Unit]:
    k = (settings.size // settings.block) ** 2
    rows = range(1, k + 1, settings.every)
    return [{"discount": gamma, "rows": each} for gamma in settings.discounts for each in rows]


def run(settings: Settings, discount: float, rows: int) -> Result:
    mdp = gridworld(settings.size, settings.block, discount=discount)
    learner = Projection(settings.tolerance, max_steps=settings.max_steps)
    size = diameter(mdp, starts=2)
    risks, performances, gaps, least, most = [], [], [], [], []
    for draw in range(settings.draws):
        rng = np.random.default_rng([settings.seed, rows, draw])
        weights = unit_weights(rng, mdp.n_features)
        view = random_view(rng, rows, mdp.n_features)
        best, worst = optimal_policy(mdp, weights), worst_policy(mdp, weights)
        target = view.matrix @ feature_expectations(mdp, best.policy)
        learned = learner.learn(view.observe(mdp), target)
        earned = float(weights @ feature_expectations(mdp, learned.policy))
        risks.append(teaching_risk(view, weights))
        performances.append((earned - worst.value) / (best.value - worst.value))
        gaps.append(best.value - earned)
        missed = learned.mismatch / view.sigma
        least.append(risks[-1] * size.lower + missed)
        most.append(risks[-1] * size.upper + missed)
    # Theorem 1's bound lies between these two, as diam M is known up to an interval.
    bounds = {"theorem 1 from": least, "theorem 1 to": most}
    return Result({"risk": risks, "performance": performances, "gap": gaps, **bounds})


def analyse(settings: Settings, results: Results) -> Findings:
    panels, claims = [], []
    samples = {}
    for gamma in settings.discounts:
        risk = results.array("risk", discount=gamma).ravel()
        performance = results.array("performance", discount=gamma).ravel()
        gap = results.array("gap", discount=gamma).ravel()
        samples[gamma] = risk, performance
        marks = (
            Points("one learner", risk, performance),
            _running_mean(risk, performance),
        )
        panels.append(
            Panel(
                f"γ = {gamma:g}", "teaching risk", "relative performance", marks, (0, 1), (0, 1.02)
            )
        )
        least, most = (
            results.array(f"theorem 1 {end}", discount=gamma).ravel() for end in ("from", "to")
        )
        claims += [
            _spread_claim(gamma, risk, performance),
            _bound_claim(gamma, gap, least, most),
            _high_claim(gamma, risk, performance),
        ]
    claims += _discount_claims(samples)
    figure = Figure(
        "figure_3",
        "What learners with random worldviews earn, against the teaching risk of the worldview. "
        f"Grid {settings.size}×{settings.size} in blocks of {settings.block}×{settings.block}.",
        tuple(panels),
    )
    return Findings((figure,), tuple(claims))


def _bins(risk: np.ndarray) -> list[np.ndarray]:
    """Indices of the learners, in up to ten bins of equally many, by their risk."""
    return np.array_split(np.argsort(risk), max(1, min(10, len(risk) // 5)))


def _running_mean(risk: np.ndarray, performance: np.ndarray) -> Curve:
    """Mean and standard deviation of the performance in each bin."""
    bins = _bins(risk)
    mean = np.array([performance[each].mean() for each in bins])
    spread = np.array([performance[each].std() for each in bins])
    middle = np.array([risk[each].mean() for each in bins])
    return Curve("mean ± standard deviation", middle, mean, mean - spread, mean + spread)


def _spread_claim(gamma: float, risk: np.ndarray, performance: np.ndarray) -> Claim:
    """Around the mean of the bin: that the mean falls with the risk is no spread."""
    around = performance.copy()
    for each in _bins(risk):
        around[each] -= performance[each].mean()
    high = risk > np.median(risk)
    wide, narrow = around[high], around[~high]
    evidence = more_spread(wide, narrow)
    return Claim(
        "Figure 3",
        f"γ = {gamma:g}: the variance of the learner's performance decreases with the risk",
        f"standard deviation around the mean of learners with about the same risk: "
        f"{wide.std():.3f} above the median risk ({np.median(risk):.2f}), "
        f"{narrow.std():.3f} below; "
        f"{_by_band(risk, around)}",
        str(evidence),
        evidence.verdict,
    )


def _by_band(risk: np.ndarray, around: np.ndarray) -> str:
    """The standard deviation in four bands of the risk."""
    edges = (0.0, 0.4, 0.7, 0.9, 1.0)
    bands = []
    for low, high in itertools.pairwise(edges):
        some = around[(risk > low) & (risk <= high)]
        if len(some):
            bands.append(f"{some.std():.3f} for {low:g} < ρ ≤ {high:g}")
    return ", ".join(bands)


def _bound_claim(gamma: float, gap: np.ndarray, least: np.ndarray, most: np.ndarray) -> Claim:
    # Where the learner sees all, gap and bound are 0 up to rounding.
    of_least, of_most = (gap / np.maximum(each, 1e-9) for each in (least, most))
    conservative = np.median(of_least) < 0.5 and of_most.max() <= 1.0
    return Claim(
        "Figure 3",
        f"γ = {gamma:g}: Theorem 1 holds, and is overly conservative in general",
        f"the gap is {np.median(of_most):.3f} to {np.median(of_least):.3f} of the bound in the "
        f"median, {of_most.max():.2f} to {of_least.max():.2f} at most (diam M is an interval)",
        "median below ½ for the smallest diam M, none above 1 for the largest",
        Verdict.HOLDS if conservative else Verdict.FAILS,
    )


def _high_claim(gamma: float, risk: np.ndarray, performance: np.ndarray) -> Claim:
    large = performance[(risk > 0.4) & (risk <= 0.7)]
    often = mostly(int((large >= 0.9).sum()), len(large))
    return Claim(
        "Figure 3",
        f"γ = {gamma:g}: performance is often high, with a small variance, even if the risk is "
        "relatively large",
        f"at .4 < ρ ≤ .7 {(large >= 0.9).sum()} of {len(large)} learners reach .9; mean "
        f"{large.mean():.3f}, standard deviation {large.std():.3f}",
        str(often),
        often.verdict,
    )


def _discount_claims(samples: dict[float, tuple[np.ndarray, np.ndarray]]) -> list[Claim]:
    claims = []
    gammas = sorted(samples)
    for less, more in itertools.pairwise(gammas):
        few, many = (samples[gamma][1][samples[gamma][0] > 0.7] for gamma in (less, more))
        evidence = paired(many, few)  # the rewards and worldviews are the same
        claims.append(
            Claim(
                "Figure 3",
                f"from γ = {less:g} to {more:g} it gets easier to perform well at a large risk",
                f"mean performance at ρ > .7: {few.mean():.3f} at γ = {less:g}, "
                f"{many.mean():.3f} at γ = {more:g}",
                str(evidence),
                evidence.verdict,
            )
        )
    risk, performance = samples[gammas[-1]]
    blind = performance[risk > 0.9]
    well = int((blind >= 0.9).sum())
    claims.append(
        Claim(
            "Figure 3",
            f"with little discounting (γ = {gammas[-1]:g}) even a learner with a very deficient "
            "worldview can do well",
            f"{well} of {len(blind)} learners with ρ > .9 reach .9, mean {blind.mean():.3f}; with "
            f"ρ > .8 {int((performance[risk > 0.8] >= 0.9).sum())} of {int((risk > 0.8).sum())}",
            "whether any with ρ > .9 reaches .9",
            Verdict.HOLDS if well else Verdict.FAILS,
        )
    )
    return claims


FIGURE_3 = Experiment(
    title="Figure 3: performance against teaching risk",
    full=Settings(),
    quick=Settings(size=10, every=2, draws=3),
    units=units,
    run=run,
    analyse=analyse,
    unit_seconds=0.3,
    version=2,
)
