"""What a learner who matches a demonstration may do: the fibre over it, drawn for two features.

Run it with `python examples/fibre.py [FOLDER]`; it prints the numbers and draws them to
FOLDER/fibre.png (FOLDER is `out` unless given). `docs/certificates.md` explains the picture.
"""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

import teachirl as ti

WEIGHTS = np.array([0.6, 0.8])
SEEN = 0  # the learner sees the first of the two features
SKILL = 0.8  # the demonstrator takes the best action this often, and a random one otherwise


@dataclass(frozen=True, eq=False)
class Fibre:
    """The numbers of the drawing, all in the plane of the two features.

    Attributes
    ----------
    policies : array [n, 2], the feature expectations of all deterministic policies
    corners : array [c, 2], the corners of M, counterclockwise
    best_policy : array [2], of the best policy of all
    shown, worst, best : arrays [2], the demonstration, and the ends of the fibre over it
    """

    policies: NDArray[np.float64]
    corners: NDArray[np.float64]
    best_policy: NDArray[np.float64]
    shown: NDArray[np.float64]
    worst: NDArray[np.float64]
    best: NDArray[np.float64]


def world() -> ti.MDP:
    """Six states, three actions in each, two features."""
    rng = np.random.default_rng(11)
    return ti.worlds.garnet(rng, 6, 3, branching=2, n_features=2)


def demonstrator(mdp: ti.MDP) -> ti.Policy:
    good = ti.optimal_policy(mdp, WEIGHTS).policy.matrix()
    return ti.Policy.from_matrix(mdp, SKILL * good + (1 - SKILL) / good.shape[1])


def fibre(mdp: ti.MDP) -> Fibre:
    choices = itertools.product(range(3), repeat=mdp.n_states)
    everyone = [ti.Policy.deterministic(mdp, actions) for actions in choices]
    policies = np.array([ti.feature_expectations(mdp, policy) for policy in everyone])
    expert, view = demonstrator(mdp), ti.Worldview.select(mdp, [SEEN])
    worst = ti.worst_case(mdp, view, WEIGHTS, expert).witness
    best = ti.best_case(mdp, view, WEIGHTS, expert).witness
    assert worst is not None and best is not None
    return Fibre(
        policies,
        policies[ConvexHull(policies).vertices],
        policies[np.argmax(policies @ WEIGHTS)],
        ti.feature_expectations(mdp, expert),
        ti.feature_expectations(mdp, worst),
        ti.feature_expectations(mdp, best),
    )


def draw(record: Fibre, folder: Path) -> Path:
    try:
        import matplotlib
    except ImportError as error:
        raise ti.MissingExtraError("matplotlib", "plot") from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(8.6, 6.4), layout="constrained")
    left, low = record.corners.min(axis=0)
    right, high = record.corners.max(axis=0)
    floor = low - 1.5
    axis.fill(*record.corners.T, fc="#e4e4e4", ec="black", lw=1.2, zorder=1)
    axis.plot(*record.policies.T, ".", color="#9a9a9a", ms=2.5, zorder=2)
    axis.text(
        left - 0.9, high, "M: what policies\ncan do (dots: the\ndeterministic ones)", va="top"
    )
    _draw_shadow(axis, record, floor)
    _draw_fibre(axis, record, right + 0.8)
    _draw_reward(axis, right + 1.0, low + 2.2)
    axis.set_xlim(left - 1.2, right + 7.2)
    axis.set_ylim(floor - 1.2, high + 1.0)
    axis.set_aspect("equal")
    axis.set_xlabel("expectation of feature 1, which the learner sees", loc="left")
    axis.set_ylabel("expectation of feature 2, which it does not see")
    axis.spines[["top", "right"]].set_visible(False)
    # The margin with the names, and the learner's world below, are not part of the plane.
    axis.spines["bottom"].set_bounds(left - 1.2, right + 0.4)
    axis.spines["left"].set_bounds(low - 0.6, high + 1.0)
    axis.set_xticks(range(-2, 7, 2))
    axis.set_yticks(range(-2, 9, 2))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "fibre.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def _draw_shadow(axis: Any, record: Fibre, floor: float) -> None:
    """AM, on a line of its own below M, and how the fibre falls on one point of it."""
    for corner in (record.corners[:, 0].argmin(), record.corners[:, 0].argmax()):
        x, y = record.corners[corner]
        axis.plot([x, x], [floor, y], color="#777777", lw=0.8, ls=":", zorder=0)
    left, right = record.corners[:, 0].min(), record.corners[:, 0].max()
    axis.plot([left, right], [floor, floor], color="black", lw=7, solid_capstyle="butt")
    x = record.shown[SEEN]
    axis.plot([x, x], [floor, record.worst[1]], color="#0060a8", lw=1.4, ls=":")
    axis.plot(x, floor, "D", color="white", mec="#0060a8", mew=2, ms=9, zorder=4)
    axis.text(x, floor - 0.35, "Aμ$_T$", ha="center", va="top")
    axis.text(right + 0.8, floor, "AM: all that it can tell apart", va="center")


def _draw_fibre(axis: Any, record: Fibre, margin: float) -> None:
    """The fibre with its ends; the names stand in the margin, at the height of their points."""
    axis.plot(*np.array([record.worst, record.best]).T, color="#0060a8", lw=3.5, zorder=3)
    points = [
        (record.best_policy, "*", "black", "best policy of all", 0.3),
        (record.best, "^", "#56b4e9", "best that looks like μ$_T$", 0.0),
        (record.shown, "o", "white", "μ$_T$, the demonstration", -0.4),
        (record.worst, "v", "#d55e00", "worst that looks like μ$_T$", -0.45),
    ]
    for point, marker, colour, name, shift in points:
        size = 15 if marker == "*" else 11
        axis.plot(*point, marker, color=colour, mec="black", mew=1.2, ms=size, zorder=5)
        axis.annotate(
            f"{name}: reward {WEIGHTS @ point:+.2f}".replace("-", "−"),
            point,
            (margin, point[1] + shift),
            va="center",
            arrowprops={"arrowstyle": "-", "color": "#555555", "lw": 0.8, "shrinkB": 7},
        )
    middle = (record.worst + record.best) / 2
    axis.annotate(
        "the fibre over Aμ$_T$:\nall of it looks the same to the learner",
        middle,
        (margin, middle[1]),
        va="center",
        arrowprops={"arrowstyle": "-", "color": "#555555", "lw": 0.8, "shrinkB": 3},
    )


def _draw_reward(axis: Any, x: float, y: float) -> None:
    tip = np.array([x, y]) + 1.5 * WEIGHTS
    arrow = {"arrowstyle": "-|>", "lw": 2.4, "color": "black", "mutation_scale": 16}
    axis.annotate("", tip, (x, y), arrowprops=arrow)
    axis.text(tip[0] + 0.2, y + 0.5, "w: the reward grows this way", va="center")


def main(folder: str = "out") -> None:
    record = fibre(world())
    for name, point in (
        ("best policy", record.best_policy),
        ("demonstration", record.shown),
        ("best that looks the same", record.best),
        ("worst that looks the same", record.worst),
    ):
        where = ", ".join(f"{value:+.4f}" for value in point)
        print(f"{name:<26}({where})   reward {WEIGHTS @ point:+.4f}")
    print(f"Drawn: {draw(record, Path(folder))}")


if __name__ == "__main__":
    main(*sys.argv[1:])
