"""The paper's Figure 1: why showing the best behaviour can be the wrong lesson.

Run it with `make demo`, or `python examples/figure_1.py [FOLDER]`; it prints the story and draws it
to FOLDER/figure_1.png and .svg (FOLDER is `out` unless given).
"""

from __future__ import annotations

import itertools
import sys
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import teachirl as ti

WEIGHTS = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
WEIGHTS /= np.linalg.norm(WEIGHTS)
SEEN = 2  # the learner sees one feature: "I am in the central cell"
ARROWS = {"left": "←", "right": "→"}
SHOWN = {  # the action of each cell: 0 is left, 1 is right
    "π*, the best policy": [1, 1, 1, 1, 0],
    "π₀, through the middle": [1, 1, 1, 0, 0],
    "π̃₀, looks like π₀": [1, 1, 0, 0, 0],
    "π̃*, looks like π*": [1, 0, 0, 0, 0],
}


@dataclass(frozen=True)
class Behaviour:
    """A policy, what it earns, and how it looks to the learner."""

    name: str
    actions: tuple[int, ...]
    reward: float
    looks: float


def behaviour(mdp: ti.MDP, name: str, actions: tuple[int, ...]) -> Behaviour:
    mu = ti.feature_expectations(mdp, ti.Policy.deterministic(mdp, actions))
    return Behaviour(name, actions, float(WEIGHTS @ mu), float(mu[SEEN]))


def every_deterministic(mdp: ti.MDP) -> list[Behaviour]:
    """All policies that take one action in each cell: 1 · 2 · 2 · 2 · 1 of them."""
    dynamics = mdp.dynamics
    choices = [
        dynamics.actions[dynamics.offsets[s] : dynamics.offsets[s + 1]] for s in range(mdp.n_states)
    ]
    return [
        behaviour(mdp, "", tuple(int(a) for a in actions))
        for actions in itertools.product(*choices)
    ]


def lookalikes(everyone: list[Behaviour], shown: Behaviour) -> list[Behaviour]:
    """Who visits the central cell as often as the demonstrated policy, up to rounding."""
    return [other for other in everyone if abs(other.looks - shown.looks) <= 1e-9 * shown.looks]


def arrows(mdp: ti.MDP, actions: tuple[int, ...]) -> str:
    return " ".join(ARROWS[mdp.dynamics.action_name(a)] for a in actions)


def padded(text: str, width: int) -> str:
    """text, filled up to a width in columns: a combining tilde takes none."""
    return text + " " * (width - sum(not unicodedata.combining(letter) for letter in text))


def tell(mdp: ti.MDP, shown: list[Behaviour], everyone: list[Behaviour]) -> None:
    print("Five cells in a row; one moves left or right, for ever, discounted by 0.9 a step.")
    print("The cells pay " + "  ".join(f"{w:+.2f}" for w in WEIGHTS) + " from left to right.")
    print("The learner imitates by matching what she sees: how often one is in the central cell.\n")
    print(f"{'policy':<24}{'moves':<13}{'reward':>8}{'central cell, as she counts it':>33}")
    for b in shown:
        print(f"{padded(b.name, 24)}{arrows(mdp, b.actions):<13}{b.reward:>+8.4f}{b.looks:>33.4f}")
    print(f"\nOf all {len(everyone)} deterministic policies,")
    worst = {}
    for teacher in shown[:2]:
        alike = lookalikes(everyone, teacher)
        worst[teacher.name] = min(b.reward for b in alike)
        others = [arrows(mdp, b.actions) for b in alike if b.actions != teacher.actions]
        print(
            f"  {len(others)} looks like {arrows(mdp, teacher.actions)} to her: "
            f"{' and '.join(others)}, which earns {worst[teacher.name]:+.4f}."
        )
    best, middle = (worst[b.name] for b in shown[:2])
    print(
        f"\nDemonstrate the best policy ({shown[0].reward:+.4f}) and she may learn one that earns "
        f"{best:+.4f}.\nDemonstrate π₀, which earns less ({shown[1].reward:+.4f}), and the worst "
        f"she can learn earns {middle:+.4f}:\nfor this learner the better lesson is not the better "
        "policy. Or tell her of another cell."
    )


def draw(mdp: ti.MDP, shown: list[Behaviour], folder: Path) -> Path:
    try:
        import matplotlib
    except ImportError as error:
        raise ti.MissingExtraError("matplotlib", "plot") from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(9, 3.6), layout="constrained")
    limit = np.abs(WEIGHTS).max()
    for axis, b in zip(axes.T.ravel(), [shown[0], shown[3], shown[1], shown[2]], strict=True):
        image = axis.imshow(WEIGHTS[None, :], cmap="PuOr", vmin=-2 * limit, vmax=2 * limit)
        for cell, action in enumerate(b.actions):
            axis.text(cell, 0.3, f"{WEIGHTS[cell]:+.2f}", ha="center", va="center", fontsize=9)
            step = 0.28 if action else -0.28
            axis.annotate(
                "",
                xy=(cell + step, -0.12),
                xytext=(cell - step, -0.12),
                arrowprops={"arrowstyle": "-|>", "lw": 1.8, "color": "black"},
            )
        axis.add_patch(plt.Rectangle((SEEN - 0.5, -0.5), 1, 1, fill=False, lw=2.5, ls="--"))
        axis.set_xticks(range(5), [f"{i + 1}" for i in range(5)])
        axis.set_yticks([])
        axis.set_xlabel("cell")
        title = f"{b.name}: reward {b.reward:+.2f}\nshe counts {b.looks:.2f} visits"
        axis.set_title(title, fontsize=10)
    figure.colorbar(image, ax=axes, label="reward of a cell", shrink=0.9)
    figure.suptitle("Each column looks the same to a learner who sees only the dashed cell")
    folder.mkdir(parents=True, exist_ok=True)
    for suffix in ("svg", "png"):
        path = folder / f"figure_1.{suffix}"
        figure.savefig(path, dpi=150)
    plt.close(figure)
    return path


def main(folder: str = "out") -> None:
    mdp = ti.worlds.chain(5, discount=0.9)
    shown = [behaviour(mdp, name, tuple(actions)) for name, actions in SHOWN.items()]
    tell(mdp, shown, every_deterministic(mdp))
    print(f"\nDrawn: {draw(mdp, shown, Path(folder))}")


if __name__ == "__main__":
    main(*sys.argv[1:])
