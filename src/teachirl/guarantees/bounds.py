"""What is proved of a worst case: bounds, a witness, and how multipliers become a bound.

For any θ, with the demonstrated μ_T and q = w − Aᵀθ, every μ ∈ M with ‖A(μ − μ_T)‖ ≤ ε has

    ⟨w, μ⟩ ≥ ⟨θ, Aμ_T⟩ − ε‖θ‖ + min_{μ ∈ M} ⟨q, μ⟩.                                            (★)

The minimum is planned with certified bounds, and all rounding is subtracted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats, frozen
from ..errors import Status, require
from ..figures.cards import card
from ..figures.digits import NOTHING, at_least, at_most, small
from ..mdp.estimated import AnyMDP, EstimatedMDP
from ..mdp.kernels.robust import Chosen
from ..mdp.model import MDP
from ..mdp.occupancy import expectation_error
from ..mdp.planning import optimal_policy
from ..mdp.policy import Policy
from ..mdp.robust_planning import respond
from ..precision import EPS, MATCHED, down, length_at_most, sum_error, up
from ..views.worldview import Worldview, check_worldview

# A product of three sizes, and its square, must neither vanish nor overflow.
SMALLEST, LARGEST = 1e-45, 1e45


class WorstCaseStatus(Status):
    """How the search for the worst case ended; the text says what to do about it.

    Examples
    --------
    >>> import teachirl as ti
    >>> [status.name for status in ti.WorstCaseStatus]
    ['OPTIMAL', 'INFEASIBLE', 'INACCURATE', 'OUT_OF_BUDGET']
    """

    OPTIMAL = "the bounds are as close as asked"
    INFEASIBLE = "no policy matches the demonstration this closely; raise mismatch"
    INACCURATE = "the bounds hold but are further apart than asked; try another method"
    OUT_OF_BUDGET = "stopped early with valid bounds; allow more solves, or more seconds"


class Terms(Mapping[str, float]):
    """What a bound is put together from, by name; nothing in it can be changed.

    >>> Terms(risk=0.5, diameter=3.0)
    Terms({'risk': 0.5, 'diameter': 3.0})
    """

    def __init__(self, **values: float) -> None:
        self._values = values

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Terms({self._values})"


@dataclass(frozen=True, eq=False)
class WorstCaseBounds:
    """What is known about the worst case (or the best) of all policies that match.

    Attributes
    ----------
    lower, upper : floats around the extreme reward. Of a worst case `lower` is proved, and `upper`
        is what the witness earns, rounding added; of a best case it is the other way round. If no
        policy matches, both are ∞ (of a best case −∞), as the extreme of nothing is
    theta : array [ℓ], what proves the bound by (★), or that no policy matches
    witness : Policy that matches and earns that; if none matches, one that misses by least; None if
        none was found in time
    occupancy : array [P], of the witness
    matched : float, ‖A(μ(witness) − μ_T)‖, recomputed; ∞ without a witness
    world : MDP in which the witness matches and earns that, where the world is known from a log;
        None if it is known, or if there is no witness
    solves : int, how many MDPs were solved
    status : WorstCaseStatus

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp, weights = ti.worlds.chain(3), [0, 0, 1]
    >>> best = ti.optimal_policy(mdp, weights).policy
    >>> found = ti.worst_case(mdp, ti.Worldview.select(mdp, []), weights, best)
    >>> print(f"{found.lower:.2f} {found.upper:.2f}", found.witness.actions, found.status.name)
    0.33 0.33 [1 0 0] OPTIMAL
    """

    lower: float
    upper: float
    theta: Floats
    witness: Policy | None
    occupancy: Floats | None
    matched: float
    solves: int
    status: WorstCaseStatus
    world: MDP | None = None

    def __repr__(self) -> str:
        bounds = f"{at_least(self.lower)} to {at_most(self.upper)}"
        return f"WorstCaseBounds({bounds}, {self.solves} solves, {self.status!r})"

    def _repr_html_(self) -> str:
        facts = (
            ("reward at least", at_least(self.lower)),
            ("at most", at_most(self.upper)),
            ("witness", NOTHING if self.witness is None else repr(self.witness)),
            ("which misses what is shown by", small(self.matched)),
            ("MDPs solved", f"{self.solves}"),
            ("status", str(self.status)),
        )
        return card("The extreme of all policies that match", facts)


def mirrored(found: WorstCaseBounds) -> WorstCaseBounds:
    """The best case for w, given the worst case for −w."""
    theta = frozen(-found.theta)
    return replace(found, lower=-found.upper, upper=-found.lower, theta=theta)


def unsearched(mdp: AnyMDP, view: Worldview, weights: Floats) -> WorstCaseBounds:
    """What is known where there was no time to search: what every policy earns at least."""
    return WorstCaseBounds(
        lower=least_of_all(mdp, weights),
        upper=math.inf,
        theta=frozen(np.zeros(view.n_rows)),
        witness=None,
        occupancy=None,
        matched=math.inf,
        solves=0,
        status=WorstCaseStatus.OUT_OF_BUDGET,
    )


def least_of_all(mdp: AnyMDP, weights: Floats) -> float:
    """What every policy earns at least, without a plan: no feature is larger than the largest."""
    most = mdp.largest_entries / (1.0 - mdp.discount)
    size = float(np.abs(weights) @ most)
    return down(-size - sum_error(len(most) + 2, size))


def checked_case(
    mdp: AnyMDP, view: Worldview, weights: ArrayLike, expectations: ArrayLike, mismatch: float
) -> tuple[Floats, Floats]:
    """The weights [k] and expectations [k] of a worst case, all of which makes sense."""
    check_worldview(view, mdp)
    w, mu = mdp.checked_weights(weights), mdp.checked_weights(expectations)
    shape = (mdp.n_features,)
    require(w.shape == shape, f"weights must have shape {shape}, got {w.shape}")
    require(mu.shape == shape, f"expectations must have shape {shape}, got {mu.shape}")
    require(
        isinstance(mismatch, (int, float, np.number)) and 0.0 <= mismatch < math.inf,
        f"mismatch must be non-negative, got {mismatch!r}",
    )
    check_sizes("weights", w[None])
    check_units(mdp, view)
    return w, mu


def check_units(mdp: AnyMDP, view: Worldview | None = None) -> None:
    """Refuse features, and rows of a worldview, in units that are too small or too large."""
    check_sizes("the features", np.array([[mdp.largest_feature]]))
    if view is not None:
        check_sizes("the worldview's rows", view.matrix)


def check_sizes(what: str, rows: Floats) -> None:
    """Refuse rows whose products may under- or overflow; what is proved would not hold then."""
    sizes = np.maximum(rows.max(axis=1, initial=0.0), -rows.min(axis=1, initial=0.0))
    sizes = sizes[sizes > 0.0]
    least, most = float(sizes.min(initial=1.0)), float(sizes.max(initial=1.0))
    require(
        least >= SMALLEST and most <= LARGEST,
        f"{what} must be 0 or between {SMALLEST:g} and {LARGEST:g} in size, got "
        f"{least if least < SMALLEST else most:.3g}; choose other units",
    )


def check_limits(tolerance: float, max_seconds: float) -> None:
    require(tolerance > 0.0, f"tolerance must be positive, got {tolerance!r}")
    require(max_seconds > 0.0, f"max_seconds must be positive, got {max_seconds!r}")


def lower_bound(
    mdp: AnyMDP,
    view: Worldview,
    weights: Floats,
    expectations: Floats,
    mismatch: float,
    theta: Floats,
    policy: Policy | None = None,
    known: tuple[Floats, float] | None = None,
    chosen: tuple[Chosen, Chosen] | None = None,
) -> float:
    """The right hand side of (★), certified: one MDP is solved, unless what all policies have of
    something very near w − Aᵀθ [k] at least is `known`.

    It holds for the demonstrated policy itself, whose feature expectations may differ from
    `expectations` by rounding, see `mdp.occupancy.expectation_error`. In a world that is known from
    a log it holds whichever the true one is; and if `policy` is what is shown there, its
    expectations are those of the worst world for it. `chosen` are rows that nature chose for q, and
    for what is shown, of a similar θ: it is faster then.

    >>> import numpy as np, teachirl as ti
    >>> from teachirl.guarantees.bounds import lower_bound
    >>> from teachirl.views.worldview import Worldview
    >>> mdp, w = ti.worlds.chain(5), np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    >>> view = Worldview.select(mdp, ["cell 3"])
    >>> mu = ti.feature_expectations(mdp, ti.Policy.uniform(mdp))
    >>> round(lower_bound(mdp, view, w, mu, 0.0, np.zeros(1)), 4)  # unconstrained
    -12.4086
    """
    k, seen = mdp.n_features, view.matrix.T @ theta
    q = weights - seen
    if isinstance(mdp, EstimatedMDP):
        near = optimal_policy(mdp.nominal, -q, tolerance=1e-6).values
        mine, theirs = chosen or (None, None)
        least = -respond(mdp, -q, nature=1, guess=near, chosen=mine).upper
        if policy is not None:
            shown = respond(mdp, seen, nature=-1, policy=policy, chosen=theirs).lower
            most = mdp.largest_entries / (1.0 - mdp.discount)
            slack = combination_error(mdp, view, theta, q, most)
            return _put_together(least, shown, mismatch, theta, slack, k)
    elif known is not None:
        near, least = known
        apart = float(np.abs(q - near) @ (mdp.largest_entries / (1.0 - mdp.discount)))
        least = down(least - up(apart + sum_error(k + 2, apart)))
    else:
        least = -optimal_policy(mdp, -q).upper
    # ⟨w, μ⟩ = ⟨q, μ⟩ + ⟨Aᵀθ, μ⟩: what q and Aᵀθ miss by rounding counts once with μ, once with μ_T.
    slack = combination_error(mdp, view, theta, q, expectations)
    slack += sum_error(k, float(np.abs(seen) @ np.abs(expectations)))
    slack += expectation_error(mdp, seen)
    return _put_together(least, float(seen @ expectations), mismatch, theta, slack, k)


def _put_together(
    least: float, shown: float, mismatch: float, theta: Floats, slack: float, k: int
) -> float:
    allowed = up(mismatch * length_at_most(theta)) if mismatch else 0.0
    slack += (k + 8) * EPS * slack + 4 * EPS * (abs(least) + abs(shown) + allowed)
    return down(least + shown - allowed - slack)


def combination_error(
    mdp: AnyMDP, view: Worldview, theta: Floats, rest: Floats, expectations: Floats
) -> float:
    """By how much ⟨d, μ − μ_T⟩ may be off for any μ, as Aᵀθ, and `rest` [k], which is w − Aᵀθ or
    0, are rounded; d is either of them."""
    terms = np.abs(view.matrix).T @ np.abs(theta)
    missed = EPS * ((len(theta) + 2) * terms + np.abs(rest))
    reach = mdp.largest_entries / (1.0 - mdp.discount) + np.abs(expectations)
    return float(missed @ reach)


def matching_room(mdp: AnyMDP) -> float:
    """What a witness may miss, as a share of what the learner can see of a policy: rounding
    only."""
    return max(MATCHED, 64.0 * EPS / (1.0 - mdp.discount))
