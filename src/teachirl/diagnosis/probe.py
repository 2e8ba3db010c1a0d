"""What to show a learner to find out what it sees: a demonstration that is drawn at random.

Let U be the candidates that the learner may still have, and F [n, k] their rows in units of their
ranges. Policies π_0 … π_q are chosen whose points y_i = Fμ(π_i) are affinely independent, q being
the dimension that U spans, and a mixture of them is shown with chances λ ~ Dirichlet(1, …, 1): a
uniform point y_T of a simplex. Suppose that the learner has less than all of U. Then there is a
direction c of which it sees nothing, so that what it does along c does not depend on where the
point lies along c. On its chord through the simplex that is uniform, chord lengths are concave,
and the longest is at least twice the inradius r, so that

    P(‖F(μ_T − μ_L)‖ ≤ ε) ≤ qε/r,   r = 1/Σ ‖∇λ_i‖.

What a learner misses of the point, times q/r, is hence a p-value against "it lacks some of U". The
chance is the teacher's own; nothing is assumed of how the learner learns, but that it cannot see
the rest. With q = 1 this is Fisher's lady tasting tea, on a scale from 0 to 1.

A *tea test* of one candidate f holds H, what the other candidates show, and moves along f alone: a
simplex of two policies, with H's amounts the same. Its p-value 2|⟨f, d⟩|/W, W their distance along
f, is against "all that the learner has is in the span of H".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Floats, Names, frozen
from ..demonstrations.demonstration import Demonstration
from ..errors import require
from ..guarantees.worst_case import best_case, worst_case
from ..mdp.model import MDP, check_is_mdp
from ..mdp.occupancy import feature_expectations, mixture
from ..mdp.planning import optimal_policies
from ..mdp.policy import Policy, check_policy
from ..precision import SQUARED
from ..views.linear_algebra import unit_rows, without_span
from ..views.worldview import Worldview
from .diagnosis import Diagnosis
from .library import Library

# A policy replaces a corner of the simplex if that makes it so much higher.
HIGHER = 1.01
DIRECTIONS = 4  # tried for each new corner
SWEEPS = 2  # over all corners, once there are enough


@dataclass(frozen=True, eq=False)
class Probe:
    """A demonstration that was drawn at random, and what is known of the draw.

    Attributes
    ----------
    policy : Policy that is shown, stationary
    demonstration : Demonstration of it
    vertices : tuple of q + 1 Policy, of which it is a mixture
    levels : array [q + 1], the chances λ that were drawn
    survivors : tuple of str, the candidates U that it was made for
    tested : str, the one candidate that a tea test is about; empty if it is about all of them
    inradius : float, r, in units of the candidates' ranges; less by `share`, if that is less than 1
    near : Policy that is mixed in, or None
    share : float, how much of what is shown is the probe

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> probe = ti.next_probe(ti.worlds.chain(5), None, rng=np.random.default_rng(0))
    >>> probe
    Probe(3 dimensions, 5 candidates)
    """

    policy: Policy
    demonstration: Demonstration
    vertices: tuple[Policy, ...]
    levels: Floats
    survivors: Names
    tested: str
    inradius: float
    near: Policy | None = None
    share: float = 1.0

    def __repr__(self) -> str:
        if self.tested:
            return f"Probe(of {self.tested!r}, holding {len(self.survivors) - 1} others)"
        q = self.dimension
        return (
            f"Probe({q} dimension{'' if q == 1 else 's'}, {len(self.survivors)} "
            f"candidate{'' if len(self.survivors) == 1 else 's'})"
        )

    @property
    def dimension(self) -> int:
        """int q, how many dimensions it is drawn in."""
        return len(self.vertices) - 1

    def p_value(self, off: float) -> float:
        """How likely who lacks some of the candidates comes so near.

        Parameters
        ----------
        off : float, ‖F(μ_T − μ_L)‖ over the survivors, or |⟨f, μ_T − μ_L⟩| of the one that a tea
            test is about, in units of ranges

        Returns
        -------
        float in [0, 1]
        """
        return min(1.0, self.dimension * off / self.inradius)


def next_probe(
    mdp: MDP,
    candidates: Diagnosis | Library | Worldview | None,
    *,
    rng: np.random.Generator,
    feature: str | None = None,
    near: Policy | None = None,
    share: float = 1.0,
) -> Probe:
    """A demonstration, drawn at random, from whose imitation one can tell what the learner sees.

    Parameters
    ----------
    mdp : MDP
    candidates : Diagnosis, whose open and proved candidates are tested; or Worldview, a candidate a
        row; None for all of the MDP's features
    rng : numpy.random.Generator, of which the learner must know nothing
    feature : str, test this candidate alone, holding what the others show; None tests all at once
    near : Policy, such as the expert's, that is mixed in, so that what is shown stays near to it
    share : float in (0, 1], how much of what is shown is the probe; less than 1 needs `near`

    Returns
    -------
    Probe

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp, rng = ti.worlds.chain(5), np.random.default_rng(0)
    >>> seen = ti.Worldview.select(mdp, ["cell 3", "cell 5"])
    >>> probe = ti.next_probe(mdp, seen, rng=rng, feature="cell 5")
    >>> low, high = (ti.feature_expectations(mdp, each)[4] for each in probe.vertices)
    >>> print(f"cell 5 is shown between {low:.2f} and {high:.2f}")
    cell 5 is shown between 0.20 and 2.43
    """
    check_is_mdp(mdp)
    require(
        isinstance(rng, np.random.Generator),
        f"rng must be a numpy.random.Generator, got {type(rng).__name__}",
    )
    require(
        isinstance(share, (int, float)) and 0.0 < share <= 1.0,
        f"share must lie in (0, 1], got {share!r}",
    )
    require(share == 1.0 or near is not None, "share needs near, the policy that is mixed in")
    if near is not None:
        check_policy(mdp, near)
    library, survivors = _still_possible(mdp, candidates)
    if feature is None:
        rows = library.rows[list(survivors)]
        vertices, inradius = _simplex(mdp, rows, rng)
    else:
        tested = library.indices([feature], "feature")[0]
        vertices, inradius = _segment(library, survivors, tested)
    # Drawn last: all else is settled, whatever comes.
    levels = rng.dirichlet(np.ones(len(vertices)))
    policy = mixture(mdp, vertices, levels)
    if share < 1.0 and near is not None:
        policy = mixture(mdp, [policy, near], [share, 1.0 - share])
    return Probe(
        policy=policy,
        demonstration=Demonstration.of_policy(mdp, policy),
        vertices=tuple(vertices),
        levels=frozen(levels),
        survivors=tuple(library.names[i] for i in survivors),
        tested=feature or "",
        inradius=share * inradius,
        near=near if share < 1.0 else None,
        share=float(share),
    )


def _still_possible(
    mdp: MDP, candidates: Diagnosis | Library | Worldview | None
) -> tuple[Library, tuple[int, ...]]:
    """The candidates that are not excluded, of those that policies can change."""
    if isinstance(candidates, Diagnosis):
        library = candidates.library
        require(library.mdp.dynamics is mdp.dynamics, "the diagnosis must be of this MDP")
        survivors = library.indices(candidates.possible.names or (), "candidates")
    else:
        library = candidates if isinstance(candidates, Library) else Library(mdp, candidates)
        survivors = tuple(range(len(library)))
    survivors = tuple(i for i in survivors if i not in library.idle)
    require(
        len(survivors) > 0,
        "there is nothing to test: the learner can have none of the candidates that policies "
        "can change",
    )
    return library, survivors


def _simplex(mdp: MDP, rows: Floats, rng: np.random.Generator) -> tuple[list[Policy], float]:
    """Policies whose points Fμ are the corners of a simplex, and its inradius.

    Corners are the farthest policies from the hull of those before; then whatever was met on the
    way, or lies beyond a facet, takes the place of a corner as long as that makes it larger.
    """
    across = _image(rows)  # coordinates y = E F μ, in which lengths are those of Fμ
    to_weights = across @ rows  # [q, k]
    q = len(across)
    pool = _Pool(mdp, to_weights)
    pool.add(rng.normal(size=(1, q)))
    corners = [0]
    for _ in range(q):
        edges = pool.points[corners[1:]] - pool.points[corners[0]]
        flat = np.linalg.qr(edges.T)[0].T if len(edges) else edges
        tried = unit_rows(without_span(flat, rng.normal(size=(DIRECTIONS, q))))
        tried = tried[:1] if q == len(corners) else tried
        pool.add(np.vstack([tried, -tried]))
        away = without_span(flat, pool.points - pool.points[corners[0]])
        corners.append(int(np.argmax(np.linalg.norm(away, axis=1))))
    for _ in range(SWEEPS):
        normals = unit_rows(_gradients(pool.points[corners]))
        pool.add(np.vstack([normals, -normals]))
        corners = _enlarged(pool.points, corners)
    gradients = _gradients(pool.points[corners])
    inradius = 1.0 / float(np.linalg.norm(gradients, axis=1).sum())
    return [pool.policies[i] for i in corners], inradius


class _Pool:
    """Policies that are extreme in some directions, and their points [m, q]."""

    def __init__(self, mdp: MDP, to_weights: Floats) -> None:
        self.mdp, self.to_weights = mdp, to_weights
        self.policies: list[Policy] = []
        self.points: Floats = np.empty((0, len(to_weights)))

    def add(self, directions: Floats) -> None:
        """The best policies in some directions [m, q]."""
        for plan in optimal_policies(self.mdp, directions @ self.to_weights, tolerance=1e-6):
            point = self.to_weights @ feature_expectations(self.mdp, plan.policy)
            self.policies.append(plan.policy)
            self.points = np.vstack([self.points, point])


def _image(rows: Floats) -> Floats:
    """Orthonormal rows [q, n] that span the image of F [n, k]."""
    left, sizes, _ = np.linalg.svd(rows, full_matrices=False)
    return np.ascontiguousarray(left.T[sizes > SQUARED * sizes[0]])


def _gradients(corners: Floats) -> Floats:
    """∇λ_i of the barycentric coordinates of a simplex, corners [q + 1, q]: array [q + 1, q]."""
    system = np.vstack([corners.T, np.ones(len(corners))])
    return np.asarray(np.linalg.inv(system)[:, :-1])


def _enlarged(points: Floats, corners: list[int]) -> list[int]:
    """Corners of a simplex that is larger: the point with the largest coordinate takes its place,
    until none is above HIGHER. The volume grows by that factor each time, so that it ends."""
    corners = list(corners)
    while True:
        system = np.vstack([points[corners].T, np.ones(len(corners))])
        everyone = np.vstack([points.T, np.ones(len(points))])
        heights = np.abs(np.linalg.solve(system, everyone))  # [q + 1, m]
        corner, point = np.unravel_index(int(np.argmax(heights)), heights.shape)
        if heights[corner, point] <= HIGHER:
            return corners
        corners[int(corner)] = int(point)


def _segment(library: Library, survivors: Sequence[int], tested: int) -> tuple[list[Policy], float]:
    """The two policies that differ most in the tested candidate, and show the others as the uniform
    policy does: one inside of all that there is, which leaves room."""
    mdp, name = library.mdp, library.names[tested]
    require(
        tested in survivors, f"feature: {name!r} is excluded, or nothing that policies can change"
    )
    group = library.group_of(tested)
    held = library.select(i for i in survivors if i not in group)
    base = Policy.uniform(mdp)
    weights = library.view.matrix[tested]
    ends = [extreme(mdp, held, weights, base) for extreme in (worst_case, best_case)]
    policies = [base if end.witness is None else end.witness for end in ends]
    low, high = (library.off(feature_expectations(mdp, each))[tested] for each in policies)
    width = float(high - low)
    require(
        width > math.sqrt(SQUARED),
        f"feature: {name!r} cannot be tested alone, as it follows from what the other candidates "
        "show; test all at once",
    )
    return policies, 0.5 * width


__all__ = ["Probe", "next_probe"]
