"""Who sees a feature follows it wherever the dice fall, and who does not cannot: drawn for one.

Run it with `python examples/tasting_tea.py [FOLDER]`; it prints the numbers and draws them to
FOLDER/tasting_tea.png (FOLDER is `out` unless given). `docs/unknown_learner.md` explains them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import teachirl as ti

TESTED, HELD = "cell 5", "cell 3"
DRAWS = 30


@dataclass(frozen=True, eq=False)
class Tasting:
    """The numbers of the drawing.

    Attributes
    ----------
    least, most : floats, between which the tested feature is drawn
    shown : array [n], what was shown of it
    sees, lacks : arrays [n], what learners then do of it who see it, and who do not
    """

    least: float
    most: float
    shown: NDArray[np.float64]
    sees: NDArray[np.float64]
    lacks: NDArray[np.float64]


def tasting(mdp: ti.MDP, draws: int = DRAWS) -> Tasting:
    """Tea tests of one feature that hold the other, answered by two learners."""
    rng, place = np.random.default_rng(0), mdp.feature_index(TESTED)
    views = [ti.Worldview.select(mdp, names) for names in ([HELD, TESTED], [HELD])]
    shown, answers = [], []
    for _ in range(draws):
        probe = ti.next_probe(mdp, views[0], rng=rng, feature=TESTED)
        mu = probe.demonstration.expectations
        shown.append(mu[place])
        answers.append([_answer(mdp, view, mu)[place] for view in views])
    ends = [ti.feature_expectations(mdp, each)[place] for each in probe.vertices]
    sees, lacks = np.array(answers).T
    return Tasting(ends[0], ends[1], np.array(shown), sees, lacks)


def _answer(mdp: ti.MDP, view: ti.Worldview, mu: NDArray[np.float64]) -> NDArray[np.float64]:
    learned = ti.learners.MinNormPoint().learn(view.observe(mdp), view.matrix @ mu)
    return ti.feature_expectations(mdp, learned.policy)


def draw(record: Tasting, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    ends = np.array([record.least, record.most])
    near = 0.03 * (record.most - record.least)
    axes.fill_between(ends, ends - near, ends + near, color="#56b4e9", alpha=0.35, linewidth=0)
    axes.plot(ends, ends, color="#0072b2", linewidth=1)
    axes.plot(record.shown, record.sees, "o", color="#0072b2", label=f"sees {TESTED}")
    axes.plot(record.shown, record.lacks, "x", color="#d55e00", label=f"does not see {TESTED}")
    axes.annotate(
        "as near as this by chance:\nas likely as the band is wide",
        (record.lacks[0], record.lacks[0]),
        (record.least + 0.5 * (record.most - record.least), record.least),
        arrowprops={"arrowstyle": "->"},
    )
    axes.set(
        xlabel=f"visits of {TESTED} that are shown, drawn at random",
        ylabel=f"visits of {TESTED} by the learner",
        title=f"What is shown of {HELD} is the same in all draws",
    )
    axes.legend(frameon=False, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(folder: str = "out") -> None:
    record = tasting(ti.worlds.chain(5))
    print(f"{TESTED} is drawn between {record.least:.3f} and {record.most:.3f}")
    for label, answers in (("sees it", record.sees), ("does not", record.lacks)):
        off = np.abs(answers - record.shown)
        spread = answers.max() - answers.min()
        least = 0.0 if off.max() < 1e-6 else off.min()
        print(f"who {label}: off by {least:.3f} to {off.max():.3f}, answers differ by {spread:.3f}")
    draw(record, Path(folder) / "tasting_tea.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
