"""What a report shows of a world, as records: its reward, and what policies do in it.

Visits are discounted, E Σ γᵗ [s_t = s]: later ones count less, as they do for the reward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import Floats
from ...demonstrations.demonstration import Demonstration
from ...figures.records import Cells, Panel, Row
from ...mdp.model import MDP
from ...mdp.occupancy import occupancy
from ...mdp.policy import Policy
from ...precision import INVISIBLE
from ..digits import percent
from ..problem import Problem
from .maps import Map, Road, map_of, road_of

# On larger grids an arrow would be smaller than a letter.
MOST_ARROWS = 400
MOST_COUNTS = 25
MOST_ROWS = 100
YOU = "you"


@dataclass(frozen=True, eq=False)
class Picture:
    """Panels that are shown side by side where there is room.

    Attributes
    ----------
    title : what its numbers are called
    caption : what one sees in all of them
    panels : Panel, each drawn by itself below its title
    alts : for each panel, what it shows to those who do not see it
    header, rows : the table of its numbers
    left_out : how many more rows there would be
    """

    title: str
    caption: str
    panels: tuple[Panel, ...]
    alts: tuple[str, ...]
    header: tuple[str, ...]
    rows: tuple[Row, ...]
    left_out: int = 0


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


def reward_picture(problem: Problem) -> Picture | None:
    """The reward of each macrocell, with a frame around what the learner sees; None elsewhere."""
    around = map_of(problem)
    if around is None or around.rewards is None:
        return None
    rewards = around.rewards
    rows, columns = rewards.shape
    names = [problem.mdp.feature_name(feature) for feature in range(rewards.size)]
    alone = np.count_nonzero(problem.worldview.matrix, axis=1) == 1
    seen = {int(row.nonzero()[0][0]) for row in problem.worldview.matrix[alone]}
    small = columns <= 10
    cells = Cells(
        "reward",
        rewards,
        tuple(f"{name.removeprefix('cell ')}" for name in names) if small else (),
        outlined=tuple(divmod(cell, columns) for cell in sorted(seen)),
    )
    order = np.argsort(-rewards.ravel(), kind="stable")
    best, worst = (f"{names[i]} ({rewards.flat[i]:.3g})" for i in (order[0], order[-1]))
    rows_of = [
        (name, float(rewards.flat[i]), "yes" if i in seen else "no") for i, name in enumerate(names)
    ]
    return Picture(
        "the reward",
        "Blue cells are good and red ones bad; a dashed frame marks what she sees as it is.",
        (Panel("The reward", "", "", (cells,)),),
        (
            f"A grid of {rows} × {columns} cells, coloured by reward. The best is {best}, the "
            f"worst {worst}. The learner sees {len(seen)} of {len(names)} as they are.",
        ),
        ("cell", "reward", "seen"),
        tuple(rows_of[:MOST_ROWS]),
        max(0, len(rows_of) - MOST_ROWS),
    )


def policy_pictures(
    problem: Problem, visits: Mapping[str, Floats], title: str
) -> tuple[Picture, ...]:
    """What policies do, side by side; nothing where the world cannot be drawn.

    Parameters
    ----------
    visits : for each policy, by what it is called, array [P] as `visits_of` gives it
    title : what the numbers are called
    """
    around, road = map_of(problem), road_of(problem)
    pictures = []
    if around is not None and visits:
        pictures.append(_policies_picture(problem.mdp, around, visits, f"visits, {title}"))
    if road is not None and visits:
        pictures.append(_road_picture(problem.mdp, road, visits, f"traffic, {title}"))
    return tuple(pictures)


def _policies_picture(mdp: MDP, around: Map, visits: Mapping[str, Floats], title: str) -> Picture:
    drawn = {name: _Drawn(mdp, around, x) for name, x in visits.items()}
    limit = max(float(each.visits.max()) for each in drawn.values())
    with_arrows = around.shape[0] * around.shape[1] <= MOST_ARROWS
    panels, alts = [], []
    for name, each in drawn.items():
        cells = Cells(
            name,
            each.visits.reshape(around.shape),
            around.texts or _counts(each.visits),
            moves=each.moves() if with_arrows else None,
            colour_label="visits",
            shaded=True,
            limit=limit,
            walls=around.walls,
            row_names=around.row_names,
            column_names=around.column_names,
        )
        panels.append(Panel(name, "", "", (cells,)))
        alts.append(f"{name}: {each.sentence()}")
    arrows = (
        " An arrow is the action taken most often there, a dot one that does not move; without "
        "either, it never comes there."
        if with_arrows
        else ""
    )
    header = ["place"]
    for name in drawn:
        header += [f"{name}: visits", f"{name}: mostly"]
    order = _most_different([each.visits for each in drawn.values()])
    rows = [
        (around.name(cell), *(entry for each in drawn.values() for entry in each.entry(cell)))
        for cell in order
    ]
    return Picture(
        title,
        f"Darker where it is more often (visits, discounted by {mdp.discount:g} a step).{arrows}",
        tuple(panels),
        tuple(alts),
        tuple(header),
        tuple(rows),
        len(panels[0].marks[0].rows()) - len(rows),
    )


class _Drawn:
    """What a policy does in each cell."""

    def __init__(self, mdp: MDP, around: Map, x: Floats) -> None:
        self.mdp, self.around = mdp, around
        size = around.shape[0] * around.shape[1]
        cells = around.cells[mdp.dynamics.pair_states]
        inside = cells >= 0
        key = cells[inside] * mdp.n_actions + mdp.dynamics.actions[inside]
        taken = np.bincount(key, x[inside], minlength=size * mdp.n_actions)
        taken = np.maximum(taken.reshape(size, mdp.n_actions), 0.0)
        self.visits = taken.sum(axis=1)
        self.action = taken.argmax(axis=1)
        self.visited = self.visits > INVISIBLE * max(float(self.visits.max()), 1e-300)

    def moves(self) -> Floats:
        """array [n, 4], as `Cells` has it."""
        cells = np.flatnonzero(self.visited)
        row, column = np.divmod(cells, self.around.shape[1])
        return np.column_stack([row, column, self.around.steps[self.action[cells]]])

    def entry(self, cell: int) -> tuple[float, str]:
        if not self.visited[cell]:
            return 0.0, ""
        name = self.mdp.dynamics.action_name(int(self.action[cell]))
        return float(self.visits[cell]), name

    def sentence(self) -> str:
        rows, columns = self.around.shape
        order = np.argsort(-self.visits, kind="stable")[:3]
        often = [
            f"{self.around.name(int(cell))} ({self.visits[cell]:.3g} visits, mostly "
            f"{self.entry(int(cell))[1]})"
            for cell in order
            if self.visited[cell]
        ]
        return (
            f"a grid of {rows} × {columns} cells, of which it comes to "
            f"{np.count_nonzero(self.visited)}; most often to {'; '.join(often) or 'none'}."
        )


def _counts(visits: Floats) -> tuple[str, ...]:
    """Visits as texts, where there is room for them."""
    return tuple(f"{each:.2f}" for each in visits) if len(visits) <= MOST_COUNTS else ()


def _road_picture(mdp: MDP, road: Road, visits: Mapping[str, Floats], title: str) -> Picture:
    """How often there is a car in each place around you."""
    pairs = mdp.dynamics.pair_states
    shares = {
        name: np.tensordot(x / x.sum(), road.places[pairs].astype(float), axes=1)
        for name, x in visits.items()
    }
    limit = max(float(share.max()) for share in shares.values())
    yours = 3 * road.row_names.index("beside") + 1
    columns = ("on the left", "in your lane", "on the right")
    rows: list[Row] = []
    panels, alts = [], []
    for name, share in shares.items():
        texts = [percent(each) for each in share.flat]
        texts[yours] = f"{YOU}: {texts[yours]}"
        cells = Cells(
            name,
            share,
            tuple(texts),
            colour_label="share of time",
            shaded=True,
            limit=limit,
            row_names=road.row_names,
            column_names=columns,
        )
        panels.append(Panel(f"{name}: traffic", "", "", (cells,)))
        alts.append(
            f"{name}: where other cars are. One is right ahead {percent(share[-3, 1])} of the "
            f"time, and in the same place, which is a collision, {percent(share.flat[yours])}."
        )
    for i, place in enumerate(road.row_names):
        for j, column in enumerate(columns):
            entries = (percent(share[i, j]) for share in shares.values())
            rows.append((f"{place}, {column}", *entries))
    return Picture(
        title,
        "The share of the time (discounted) in which a car is there, seen from the one that she "
        "drives. A car where you are is a collision.",
        tuple(panels),
        tuple(alts),
        ("place", *(f"{name}: share of the time" for name in shares)),
        tuple(rows),
    )


def policy_rows(mdp: MDP, policy: Policy) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    """Header and rows of what a policy does in the states that it visits most."""
    visits = np.bincount(mdp.dynamics.pair_states, occupancy(mdp, policy), minlength=mdp.n_states)
    offsets, actions = mdp.dynamics.offsets, mdp.dynamics.actions
    rows: list[Row] = []
    for state in np.argsort(-visits, kind="stable")[:MOST_ROWS]:
        pairs = slice(offsets[state], offsets[state + 1])
        done = [
            f"{mdp.dynamics.action_name(int(action))} ({percent(float(chance))})"
            for action, chance in zip(actions[pairs], policy.probabilities[pairs], strict=True)
            if chance >= 5e-4  # less would read as 0 %
        ]
        rows.append((mdp.dynamics.state_name(int(state)), float(visits[state]), ", ".join(done)))
    return ("state", "visits", "what is done"), tuple(rows)


def _most_different(series: Sequence[Floats]) -> list[int]:
    """The cells that a table can hold: all, or those in which the policies differ most."""
    cells = len(series[0])
    if cells <= MOST_ROWS:
        return list(range(cells))
    apart = np.abs(series[0] - series[-1]) if len(series) > 1 else series[0]
    return [int(cell) for cell in np.argsort(-apart, kind="stable")[:MOST_ROWS]]


__all__ = ["Picture", "policy_pictures", "policy_rows", "reward_picture", "visits_of"]
