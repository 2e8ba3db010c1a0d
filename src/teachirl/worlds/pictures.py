"""What policies do in a world that can be drawn: where they go, and which way.

Visits are discounted, E Σ γᵗ [s_t = s]: later ones count less, as they do for the reward.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from ..errors import require
from ..figures.picture import Picture
from ..figures.records import Cells, Figure, Panel
from ..mdp.model import MDP, check_is_mdp
from ..mdp.occupancy import occupancy
from ..mdp.policy import Policy, check_policy
from ..precision import INVISIBLE
from .map import Map, map_of
from .world import World

# On larger grids an arrow would be smaller than a letter.
MOST_ARROWS = 400
# On larger ones a number would be.
MOST_COUNTS = 25
# And so many rows or columns can be numbered.
MOST_NUMBERS = 20


def plot_policy(world: World | MDP, policy: Policy) -> Picture:
    """Where a policy goes: cells are the darker the more often it comes there, arrows are what it
    does. It needs the extra `plot`.

    Parameters
    ----------
    world : World with a map; or MDP whose map can be told from its names (states are called ``row
        2, column 5``) or from its moves (actions are called ``left``, ``right``, ``up``, ``down``,
        and lead there in a grid whose cells are numbered row by row)
    policy : Policy

    Returns
    -------
    Picture

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp = ti.worlds.gridworld(4)
    >>> picture = ti.plot_policy(mdp, ti.optimal_policy(mdp, np.eye(16)[15]).policy)
    >>> picture.figure.panels[0].marks[0].values.round(1)[3]
    array([0.1, 0.1, 0.2, 7.4])
    """
    around = world.map if isinstance(world, World) else None
    mdp = world.mdp if isinstance(world, World) else world
    check_is_mdp(mdp)
    check_policy(mdp, policy)
    around = map_of(mdp) if around is None else around
    if around is None:
        require(
            False,
            "where the states lie is not known: call them like 'row 2, column 5', or pass a World "
            "whose map says it",
        )
        raise AssertionError
    drawn = Whereabouts(mdp, around, occupancy(mdp, policy))
    # Rows and columns with names need no more of them, and one row needs none.
    x_label = around.column_label or ("" if around.column_names else "column")
    y_label = around.row_label or ("" if around.row_names or around.shape[0] == 1 else "row")
    panel = Panel("", x_label, y_label, (drawn.cells("policy"),))
    return Picture(Figure("policy", caption_of(mdp, around), (panel,)), (drawn.sentence(),))


def caption_of(mdp: MDP, around: Map) -> str:
    """What colours and arrows mean."""
    arrows = (
        " An arrow is the action taken most often there, a dot one that does not move; without "
        "either, it never comes there."
    )
    return (
        f"Darker where it is more often (visits, discounted by {mdp.discount:g} a step)."
        f"{arrows if _has_arrows(around) else ''}"
    )


def _has_arrows(around: Map) -> bool:
    """Whether arrows can be seen, and actions lead somewhere by their names."""
    return around.shape[0] * around.shape[1] <= MOST_ARROWS and bool(around.steps.any())


class Whereabouts:
    """What a policy does in each cell of a map.

    Parameters
    ----------
    mdp : MDP
    around : Map, where its states lie
    x : array [P], how often each pair is visited

    Attributes
    ----------
    visits : array [cells], how often it comes there
    visited : bool array [cells], whether that is more than rounding
    """

    def __init__(self, mdp: MDP, around: Map, x: Floats) -> None:
        self.mdp, self.around = mdp, around
        size = around.shape[0] * around.shape[1]
        cells = around.cells[mdp.dynamics.pair_states]
        inside = cells >= 0
        key = cells[inside] * mdp.n_actions + mdp.dynamics.actions[inside]
        taken = np.bincount(key, x[inside], minlength=size * mdp.n_actions)
        taken = np.maximum(taken.reshape(size, mdp.n_actions), 0.0)
        self.visits = taken.sum(axis=1)
        # Of actions that are taken as often, the first.
        most = (1.0 - INVISIBLE) * taken.max(axis=1, keepdims=True)
        self.action = (taken >= most).argmax(axis=1)
        self.visited = self.visits > INVISIBLE * max(float(self.visits.max()), 1e-300)

    def cells(self, label: str, limit: float | None = None) -> Cells:
        """The record to draw; `limit` is the number of visits that is darkest."""
        around = self.around
        return Cells(
            label,
            self.visits.reshape(around.shape),
            around.texts or _counts(self.visits),
            moves=self.moves() if _has_arrows(around) else None,
            colour_label="visits",
            shaded=True,
            limit=limit,
            walls=around.walls,
            row_names=around.row_names or _numbers(around.shape[0]),
            column_names=around.column_names or _numbers(around.shape[1]),
        )

    def moves(self) -> Floats:
        """array [n, 4], as `Cells` has it."""
        cells = np.flatnonzero(self.visited)
        row, column = np.divmod(cells, self.around.shape[1])
        return np.column_stack([row, column, self.around.steps[self.action[cells]]])

    def often(self, cell: int) -> float:
        """How often it comes there."""
        return float(self.visits[cell]) if self.visited[cell] else 0.0

    def mostly(self, cell: int) -> str:
        """The action taken most often there; empty if it never comes there."""
        name = self.mdp.dynamics.action_name(int(self.action[cell]))
        return name if self.visited[cell] else ""

    def sentence(self) -> str:
        rows, columns = self.around.shape
        order = np.argsort(-self.visits, kind="stable")[:3]
        often = [
            f"{self.around.name(int(cell))} ({self.visits[cell]:.3g} visits, mostly "
            f"{self.mostly(int(cell))})"
            for cell in order
            if self.visited[cell]
        ]
        return (
            f"a grid of {rows} × {columns} cells, of which it comes to "
            f"{np.count_nonzero(self.visited)}; most often to {'; '.join(often) or 'none'}."
        )


def _numbers(count: int) -> tuple[str, ...]:
    """What rows or columns are called that have no names, where there is room for it."""
    return tuple(map(str, range(count))) if 1 < count <= MOST_NUMBERS else ()


def _counts(visits: Floats) -> tuple[str, ...]:
    """Visits as texts, where there is room for them."""
    return tuple(f"{each:.2f}" for each in visits) if len(visits) <= MOST_COUNTS else ()


__all__ = ["Whereabouts", "caption_of", "plot_policy"]
