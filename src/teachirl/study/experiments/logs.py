"""Beyond the paper: what is guaranteed where the world is known from a log, by the log's length.

In a world that only the experiment knows, every pair of a state and an action is tried n times. An
optimal policy is demonstrated, to a learner with a few random rows. Four numbers are compared: what
is guaranteed in the true world; in every world that the log allows, if the demonstration was
recorded there, and if it is a policy; and what the estimate would promise were it the truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Floats
from ...demonstrations.demonstration import Demonstration
from ...demonstrations.estimation import estimate_mdp
from ...demonstrations.transition_log import TransitionLog
from ...figures.records import Claim, Curve, Figure, Findings, Panel, Verdict
from ...guarantees.certificate import certify
from ...mdp.estimated import EstimatedMDP
from ...mdp.model import MDP
from ...mdp.occupancy import feature_expectations
from ...mdp.planning import optimal_policy
from ...mdp.policy import Policy
from ...precision import ROUNDED
from ...views.worldview import Worldview
from ...worlds import garnet, gridworld
from .experiment import Experiment, Result, Results, Unit

LABELS = {
    "truth": "the true world",
    "recorded": "recorded, every world of the log",
    "policy": "a policy, every world of the log",
    "plug_in": "the estimate taken for the truth",
}
WORLDS = {"grid": "grid 5×5, slip 0.2", "garnet": "garnet, 30 states"}


@dataclass(frozen=True)
class Settings:
    tries: tuple[int, ...] = (30, 100, 1000, 10_000)
    logs: int = 30
    rows: int = 6
    confidence: float = 0.95
    seed: int = 17


def units(settings: Settings) -> list[Unit]:
    return [
        {"world": world, "tries": tries, "log": log}
        for world in WORLDS
        for tries in settings.tries
        for log in range(settings.logs)
    ]


def _made(name: str, settings: Settings) -> tuple[MDP, Floats, Worldview]:
    """A world, its reward, and what the learner sees."""
    rng = np.random.default_rng([settings.seed, len(name)])
    mdp = gridworld(5, slip=0.2) if name == "grid" else garnet(rng, 30, 3, 4, 12)
    weights = rng.normal(size=mdp.n_features)
    return mdp, weights, Worldview(rng.normal(size=(settings.rows, mdp.n_features)))


def _logged(mdp: MDP, tries: int, rng: np.random.Generator) -> TransitionLog:
    """Each pair tried so often."""
    dynamics, rows = mdp.dynamics, mdp.dynamics.transitions
    counts = np.concatenate(
        [
            rng.multinomial(tries, rows.data[a:b] / rows.data[a:b].sum())
            for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        ]
    )
    owners = np.repeat(np.arange(mdp.n_pairs), np.diff(rows.indptr))
    steps = np.column_stack(
        [dynamics.pair_states[owners], dynamics.actions[owners], rows.indices]
    ).astype(np.int64)
    return TransitionLog(steps, counts.astype(np.int64), mdp.n_states, mdp.n_actions)


def _hold(model: EstimatedMDP, mdp: MDP) -> bool:
    """Whether the true rows lie in their sets; those of the log are in the same order."""
    p, sets = mdp.dynamics.transitions.data, model.sets
    far = np.add.reduceat(np.abs(p - sets.nominal), sets.indptr[:-1])
    inside = (p >= model.lower - ROUNDED) & (p <= model.upper + ROUNDED)
    return bool(inside.all() and (far <= model.radius + ROUNDED).all())


def run(settings: Settings, world: str, tries: int, log: int) -> Result:
    mdp, weights, view = _made(world, settings)
    rng = np.random.default_rng([settings.seed, len(world), tries, log])
    phi: Any = mdp.features
    model = estimate_mdp(
        _logged(mdp, tries, rng),
        phi if isinstance(phi, np.ndarray) else phi.toarray(),
        discount=mdp.discount,
        successors=mdp,
        confidence=settings.confidence,
        start=mdp.start,
        fixed_tries=True,
    )
    shown = optimal_policy(mdp, weights).policy
    there = Policy(model.nominal.dynamics, pairs=shown.pairs)
    recorded = Demonstration(feature_expectations(mdp, shown))

    def guaranteed(where: MDP | EstimatedMDP, what: Demonstration | Policy) -> float:
        return certify(where, view, weights, what, theorems=False).guaranteed

    return Result(
        {
            "truth": guaranteed(mdp, shown),
            "recorded": guaranteed(model, recorded),
            "policy": guaranteed(model, there),
            "plug_in": guaranteed(model.nominal, there),
            "hold": int(_hold(model, mdp)),
        }
    )


def analyse(settings: Settings, results: Results) -> Findings:
    tries = np.array(settings.tries, dtype=float)
    panels, lines = [], ["| world | tries | " + " | ".join(LABELS.values()) + " |"]
    lines.append("|---|---|" + "---|" * len(LABELS))
    for world, title in WORLDS.items():
        found = {
            key: np.array([results.array(key, world=world, tries=n) for n in settings.tries])
            for key in LABELS
        }
        curves = [
            Curve(
                label,
                np.log10(tries),
                found[key].mean(axis=1),
                np.quantile(found[key], 0.1, axis=1),
                np.quantile(found[key], 0.9, axis=1),
            )
            for key, label in LABELS.items()
        ]
        axis = "log₁₀ of how often each pair was tried"
        panels.append(Panel(title, axis, "guaranteed performance", tuple(curves), y_range=(0, 1)))
        for place, n in enumerate(settings.tries):
            cells = [f"{found[key][place].mean():.2f}" for key in LABELS]
            lines.append(f"| {title} | {n} | " + " | ".join(cells) + " |")
    figure = Figure(
        "logs",
        f"What is guaranteed, by how often each pair was tried: means of {settings.logs} logs, "
        "bands from the tenth percentile to the ninetieth.",
        tuple(panels),
    )
    return Findings((figure,), tuple(_claims(settings, results)), ("\n".join(lines),))


def _claims(settings: Settings, results: Results) -> list[Claim]:
    truth = results.array("truth")

    def share(key: str) -> tuple[float, float]:
        """Of logs in which no more was promised than is true; and by how much more at most."""
        over = results.array(key) - truth
        return float((over <= ROUNDED).mean()), float(over.max())

    held = float(results.array("hold").mean())
    ours = min(share("recorded")[0], share("policy")[0])
    plug_in, over = share("plug_in")
    how = f"{len(truth)} simulated logs"
    return [
        Claim(
            "beyond the paper",
            f"the sets hold and the guarantees are valid in {settings.confidence:.0%} of all logs",
            f"sets {held:.1%}, guarantees {ours:.1%}",
            how,
            Verdict.HOLDS if min(held, ours) >= settings.confidence else Verdict.FAILS,
        ),
        Claim(
            "beyond the paper",
            "to take the estimate for the truth promises too much in a third of all logs or more",
            f"valid in {plug_in:.1%} of them, too much by up to {over:.2f}",
            how,
            Verdict.HOLDS if plug_in <= 2 / 3 else Verdict.FAILS,
        ),
    ]


LOGS = Experiment(
    title="Guarantees where the world is known from a log",
    full=Settings(),
    quick=Settings(tries=(100, 1000), logs=3),
    units=units,
    run=run,
    analyse=analyse,
    unit_seconds=0.5,
)
