"""What a grid's resolution changes in a guarantee: the same question on two grids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..errors import require
from ..figures.cards import Grid, card
from ..figures.digits import number, percent, percent_at_least
from ..mdp.planning import optimal_policy
from ..views.worldview import Worldview
from ..worlds.world import World
from .certificate import Certificate, certify


@dataclass(frozen=True, eq=False)
class Resolutions:
    """The same question, asked on two grids.

    Attributes
    ----------
    resolutions : tuple of ints, the coarser and the finer one
    states : tuple of ints, how many each grid has
    values : tuple of floats, what the expert, an optimal policy, earns on each
    certificates : tuple of Certificate, what is proved on each of who matches that expert

    Examples
    --------
    >>> import teachirl as ti
    >>> found = ti.compare_resolutions(ti.worlds.mountain_car, (11, 21), ["velocity"])
    >>> found.states
    (122, 442)
    """

    resolutions: tuple[int, int]
    states: tuple[int, int]
    values: tuple[float, float]
    certificates: tuple[Certificate, Certificate]

    @property
    def guaranteed(self) -> tuple[float, float]:
        """tuple of floats, the relative performance that is proved on each grid."""
        coarse, fine = self.certificates
        return coarse.guaranteed, fine.guaranteed

    @property
    def difference(self) -> float:
        """float, by how much what is guaranteed differs: of the finer grid less the coarser's."""
        coarse, fine = self.guaranteed
        return fine - coarse

    def __repr__(self) -> str:
        coarse, fine = map(percent_at_least, self.guaranteed)
        return f"Resolutions({self.resolutions[0]}: {coarse}, {self.resolutions[1]}: {fine})"

    def __str__(self) -> str:
        lines = [f"{'points':<12}{'states':>10}{'expert earns':>16}{'guaranteed':>14}"]
        for points, states, value, share in self._rows():
            lines.append(f"{points:<12}{states:>10}{value:>16}{share:>14}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        heads = ("points", "states", "expert earns", "guaranteed")
        note = "Guarantees are about the MDP of a grid; nothing certifies the grid itself."
        return card("Two resolutions", grid=Grid(heads, self._rows()), notes=[note])

    def _rows(self) -> list[tuple[str, str, str, str]]:
        rows = [
            (str(points), f"{states}", number(value), percent_at_least(share))
            for points, states, value, share in zip(
                self.resolutions, self.states, self.values, self.guaranteed, strict=True
            )
        ]
        change = self.values[1] - self.values[0]
        return [*rows, ("difference", "", number(change), percent(self.difference))]


def compare_resolutions(
    make: Callable[[int], World],
    resolutions: Sequence[int],
    sees: Sequence[str],
    mismatch: float = 0.0,
) -> Resolutions:
    """What is guaranteed of a continuous world, by two grids of different resolution.

    There is no certificate of a grid: if two that differ say the same, that is a reason to believe
    it, and if they do not, neither should be believed.

    Parameters
    ----------
    make : Callable, from a resolution to a World with weights, such as `worlds.mountain_car`
    resolutions : sequence of two ints, the coarser first
    sees : sequence of str, the features that the learner sees
    mismatch : float, how closely it matches the expert, as in `certify`

    Returns
    -------
    Resolutions

    Examples
    --------
    >>> import teachirl as ti
    >>> found = ti.compare_resolutions(ti.worlds.pendulum, (11, 15), ["height", "spin"])
    >>> found.certificates[1].guaranteed - found.certificates[0].guaranteed == found.difference
    True
    """
    require(
        len(resolutions) == 2 and resolutions[0] < resolutions[1],
        f"resolutions must be two numbers, the smaller first, got {list(resolutions)}",
    )
    found = []
    for points in resolutions:
        world = make(points)
        require(
            isinstance(world, World) and world.weights is not None,
            f"make({points}) must return a World with weights, got {world!r}",
        )
        assert world.weights is not None
        best = optimal_policy(world.mdp, world.weights)
        view = Worldview.select(world.mdp, sees)
        proof = certify(world.mdp, view, world.weights, best.policy, mismatch)
        found.append((world.mdp.n_states, best.value, proof))
    (s, v, c), (states, value, proof) = found
    return Resolutions((resolutions[0], resolutions[1]), (s, states), (v, value), (c, proof))


__all__ = ["Resolutions", "compare_resolutions"]
