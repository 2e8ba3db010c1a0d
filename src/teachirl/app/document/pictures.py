"""What is drawn of a world, as records: its reward, and what policies do in it.

Visits are discounted, E Σ γᵗ [s_t = s]: later ones count less, as they do for the reward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...arrays import Floats
from ...demonstrations.demonstration import Demonstration
from ...figures.digits import number, percent
from ...figures.records import Cells, Panel
from ...mdp.model import MDP
from ...mdp.occupancy import occupancy
from ...mdp.policy import Policy
from ...worlds.map import Map, Surroundings
from ...worlds.pictures import Whereabouts, caption_of
from ..problem import Problem
from .elements import Column, Figure, Table
from .tables import MOST_ROWS


def visits_of(mdp: MDP, shown: Demonstration | Policy) -> Floats | None:
    """array [P], how often each pair is visited; None if only expectations are known.

    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> float(visits_of(mdp, ti.Policy.uniform(mdp)).sum().round(9))
    10.0
    """
    policy = shown if isinstance(shown, Policy) else shown.policy
    if policy is not None:
        return occupancy(mdp, policy)
    episodes = shown.trajectories if isinstance(shown, Demonstration) else None
    if episodes is None:
        return None
    steps = np.arange(len(episodes.pairs)) - np.repeat(episodes.offsets[:-1], episodes.lengths)
    counts = np.bincount(episodes.pairs, mdp.discount**steps, minlength=mdp.n_pairs)
    return np.asarray(counts / len(episodes))


def _numbers(title: str, columns: Sequence[Column], rows: Sequence[Any]) -> Table:
    """The first rows of a figure's numbers, and how many there are besides."""
    left_out = len(rows) - MOST_ROWS
    more = f" ({left_out} more rows are left out)" if left_out > 0 else ""
    return Table(f"The numbers: {title}{more}", tuple(columns), tuple(rows[:MOST_ROWS]))


def reward_figure(problem: Problem) -> Figure | None:
    """The reward of each macrocell, with a frame around what the learner sees; None elsewhere."""
    around = problem.world.map
    if around is None or around.feature_shape is None:
        return None
    rows, columns = around.feature_shape
    rewards = np.asarray(problem.weights)
    names = [problem.mdp.feature_name(feature) for feature in range(len(rewards))]
    alone = np.count_nonzero(problem.worldview.matrix, axis=1) == 1
    seen = {int(row.nonzero()[0][0]) for row in problem.worldview.matrix[alone]}
    cells = Cells(
        "reward",
        rewards.reshape(rows, columns),
        tuple(name.removeprefix("cell ") for name in names) if columns <= 10 else (),
        outlined=tuple(divmod(cell, columns) for cell in sorted(seen)),
    )
    order = np.argsort(-rewards, kind="stable")
    best, worst = (f"{names[i]} ({rewards[i]:.3g})" for i in (order[0], order[-1]))
    numbers = (
        Column("", "cell", value=lambda i: names[i]),
        Column("", "reward", number, lambda i: float(rewards[i])),
        Column("", "seen", value=lambda i: "yes" if i in seen else "no"),
    )
    return Figure(
        "the reward",
        "Blue cells are good and red ones bad; a dashed frame marks what is seen as it is.",
        (Panel("The reward", "", "", (cells,)),),
        (
            f"A grid of {rows} × {columns} cells, coloured by reward. The best is {best}, the "
            f"worst {worst}. The learner sees {len(seen)} of {len(names)} as they are.",
        ),
        _numbers("the reward", numbers, range(len(names))),
    )


def policy_figures(
    problem: Problem, visits: Mapping[str, Floats], title: str
) -> tuple[Figure, ...]:
    """What policies do, side by side; nothing where the world cannot be drawn.

    Parameters
    ----------
    problem : Problem, whose world has a map or not
    visits : for each policy, by what it is called, array [P] as `visits_of` gives it
    title : what the numbers are called

    Returns
    -------
    tuple of Figure: visits of cells and, if it is known, what is around
    """
    around = problem.world.map
    if around is None or not visits:
        return ()
    where = _visits_figure(problem.mdp, around, visits, f"visits, {title}")
    if around.surroundings is None:
        return (where,)
    return where, _traffic_figure(problem.mdp, around.surroundings, visits, f"traffic, {title}")


def _visits_figure(mdp: MDP, around: Map, visits: Mapping[str, Floats], title: str) -> Figure:
    drawn = {name: Whereabouts(mdp, around, x) for name, x in visits.items()}
    limit = max(float(each.visits.max()) for each in drawn.values())
    panels, columns = [], [Column("", "place", value=around.name)]
    for name, each in drawn.items():
        labels = around.column_label, around.row_label
        panels.append(Panel(name, *labels, (each.cells(name, limit),)))
        columns.append(Column("", f"{name}: visits", number, each.often))
        columns.append(Column("", f"{name}: mostly", value=each.mostly))
    order = _most_different([each.visits for each in drawn.values()])
    return Figure(
        title,
        caption_of(mdp, around),
        tuple(panels),
        tuple(f"{name}: {each.sentence()}" for name, each in drawn.items()),
        _numbers(title, columns, order),
    )


def _traffic_figure(
    mdp: MDP, around: Surroundings, visits: Mapping[str, Floats], title: str
) -> Figure:
    """How often there is a car in each place around you."""
    pairs = mdp.dynamics.pair_states
    shares = {
        name: np.tensordot(x / x.sum(), around.places[pairs].astype(float), axes=1)
        for name, x in visits.items()
    }
    limit = max(float(share.max()) for share in shares.values())
    row, column = around.own
    yours = row * len(around.column_names) + column
    panels, alts = [], []
    columns = [Column("", "place", value=lambda at: _place(around, at))]
    for name, share in shares.items():
        texts = [percent(each) for each in share.flat]
        texts[yours] = f"you: {texts[yours]}"
        cells = Cells(
            name,
            share,
            tuple(texts),
            colour_label="share of time",
            shaded=True,
            limit=limit,
            row_names=around.row_names,
            column_names=around.column_names,
        )
        panels.append(Panel(f"{name}: traffic", "", "", (cells,)))
        alts.append(
            f"{name}: where other cars are. One is right ahead {percent(share[row - 1, column])} "
            f"of the time, and in the same place, which is a collision, "
            f"{percent(share[row, column])}."
        )
        columns.append(Column("", f"{name}: share of the time", percent, share.__getitem__))
    return Figure(
        title,
        "The share of the time (discounted) in which a car is there, seen from the one that "
        "learns. A car where you are is a collision.",
        tuple(panels),
        tuple(alts),
        _numbers(title, columns, list(np.ndindex(*around.places.shape[1:]))),
    )


def _place(around: Surroundings, at: tuple[int, int]) -> str:
    return f"{around.row_names[at[0]]}, {around.column_names[at[1]]}"


def _most_different(series: Sequence[Floats]) -> list[int]:
    """All cells; if a table cannot hold them, those first in which the policies differ most."""
    cells = len(series[0])
    if cells <= MOST_ROWS:
        return list(range(cells))
    apart = np.abs(series[0] - series[-1]) if len(series) > 1 else series[0]
    return [int(cell) for cell in np.argsort(-apart, kind="stable")]


__all__ = ["policy_figures", "reward_figure", "visits_of"]
