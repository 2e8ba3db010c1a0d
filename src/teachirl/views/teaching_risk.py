"""Teaching risk: how much of the reward lies where the learner is blind.

    ρ(A; w) = max {⟨w, v⟩ : v ∈ ker A, ‖v‖ ≤ 1}/‖w‖ = ‖w − QᵀQw‖/‖w‖

with Q an orthonormal basis of A's rows [r, k]. It is a cosine: in [0, 1], whatever the scale of w,
of A and of each row of A; 1 for a learner who sees nothing of the reward, 0 for one who could
express it. A maximiser is v = r/‖r‖ with r = w − QᵀQw: the blind spot.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats, frozen
from ..mdp.model import MDP
from ..mdp.rewards.rewards import Rewards
from ..precision import DEPENDENT, INVISIBLE, NO_RISK, ranks
from .linear_algebra import unit_rows, without_span
from .plausible_risk import largest_risk
from .potential_shaping import Indistinct, indistinct_directions
from .scorer import RiskScorer, length_of, unit_weights
from .worldview import Worldview, check_worldview


def teaching_risk(view: Worldview, weights: ArrayLike | Rewards) -> float:
    """ρ(A; w): the share of the reward that is hidden from the learner.

    Parameters
    ----------
    view : Worldview, A
    weights : array [k], not all zero; their scale does not matter. If several are plausible,
        Rewards, and no plausible reward has more: see `largest_risk`

    Returns
    -------
    float in [0, 1]

    Examples
    --------
    >>> import teachirl as ti
    >>> view = ti.Worldview([[0, 0, 1, 0, 0]])
    >>> ti.teaching_risk(view, [-1, -0.5, 0, 0.5, 1])
    1.0
    >>> ti.teaching_risk(view.extend([-1, -0.5, 0, 0.5, 1]), [-1, -0.5, 0, 0.5, 1]) < 1e-15
    True
    """
    if isinstance(weights, Rewards):
        return largest_risk(view, weights).upper
    w = unit_weights(view, weights)  # refuses what is no view
    return length_of(without_span(view.basis, w))


def risk_after(view: Worldview, weights: ArrayLike, candidates: ArrayLike) -> Floats:
    """The teaching risk once the learner is taught a candidate, for each of them.

    Parameters
    ----------
    view : Worldview, what the learner sees before
    weights : array [k], not all zero
    candidates : array [n, k], in single or double precision

    Returns
    -------
    array [n]

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> view = ti.Worldview([[0, 0, 1, 0, 0]])
    >>> ti.risk_after(view, [-1, -0.5, 0, 0.5, 1], np.eye(5)).round(3)
    array([0.775, 0.949, 1.   , 0.949, 0.775])
    """
    return RiskScorer(view, weights, candidates, screen=False).risks()


@dataclass(frozen=True, eq=False)
class BlindSpot:
    """What a learner confuses that matters most for the reward.

    Attributes
    ----------
    direction : array [k], a unit vector v with Av = 0 and the largest ⟨w, v⟩; zero if the risk is 0
    risk : float, ⟨w, v⟩/‖w‖, the teaching risk
    confused : str, what that is, in the names of the features

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(3)
    >>> spot = ti.blind_spot(mdp, ti.Worldview.select(mdp, [0, 1]), [1, 0, 1])
    >>> spot.direction, round(spot.risk, 4)
    (array([0., 0., 1.]), 0.7071)
    >>> print(spot)
    The learner cannot see how much there is of 'cell 3': it looks the same, and more is better \
(teaching risk 0.71).
    """

    direction: Floats
    risk: float
    confused: str

    @property
    def sentence(self) -> str:
        """str, what is confused, and the risk if there is one."""
        if not self.direction.any():
            return self.confused
        shown = "0.01 or less" if self.risk < 0.005 else f"{self.risk:.2f}"
        return f"{self.confused.removesuffix('.')} (teaching risk {shown})."

    def __repr__(self) -> str:
        return f"BlindSpot({self.sentence!r})"

    def __str__(self) -> str:
        return self.sentence


def blind_spot(
    mdp: MDP, view: Worldview, weights: ArrayLike, *, indistinct: Indistinct | None = None
) -> BlindSpot:
    """The direction along which the reward changes most while the learner sees no change.

    Of a view of a table, which the reward is not made of, it is a direction that policies can
    change, and its risk the relative one.

    Parameters
    ----------
    mdp : MDP, whose feature names the sentence uses
    view : Worldview
    weights : array [k], not all zero
    indistinct : Indistinct, that of the MDP, if it is known already

    Returns
    -------
    BlindSpot

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> print(ti.blind_spot(mdp, ti.Worldview.select(mdp, ["cell 3"]), [-1, -0.5, 0, 0.5, 1]))
    The learner cannot tell more of 'cell 5' and 'cell 4' from more of 'cell 1' and 'cell 2': it \
looks the same, and the first is better (teaching risk 1.00).
    """
    check_worldview(view, mdp)
    w = unit_weights(view, weights)
    if view.mdp is not None:
        view, w = distinct_terms(mdp, view, w, indistinct)
    r = without_span(view.basis, w)
    risk = length_of(r)
    if risk <= NO_RISK:
        seen = "The learner can express the reward in what it sees: none of it is hidden."
        return BlindSpot(frozen(np.zeros(view.n_features)), risk, seen)
    direction = unit_rows(r[None, :])[0]
    return BlindSpot(frozen(direction), risk, _in_words(mdp, view, direction))


def _in_words(mdp: MDP, view: Worldview, direction: Floats) -> str:
    # A component below a quarter of the largest hardly changes what the sentence is about, but
    # without it, what the sentence says would not look the same to the learner.
    sizes = np.abs(direction)  # of a unit vector
    notable = 0.25 * sizes.max() - INVISIBLE
    order = np.argsort(ranks(sizes, INVISIBLE), kind="stable")
    notables = [int(i) for i in order if sizes[i] >= notable]
    more, less = ([i for i in notables if sign * direction[i] > 0.0] for sign in (1.0, -1.0))
    slight = [int(i) for i in order if INVISIBLE < sizes[i] < notable]
    seen = [i for i in slight if bool(view.matrix[:, i].any())]
    balanced = f", with a little of {_listed(mdp, seen)} to make up for it" if seen else ""
    if more and less:
        confused = f"tell more of {_listed(mdp, more)} from more of {_listed(mdp, less)}{balanced}"
        which = "the first"
    else:
        confused = f"see how much there is of {_listed(mdp, more or less)}{balanced}"
        which = "more" if more else "less"
    return f"The learner cannot {confused}: it looks the same, and {which} is better."


def _listed(mdp: MDP, features: list[int], limit: int = 3) -> str:
    names = [repr(mdp.feature_name(feature)) for feature in features[:limit]]
    if len(features) > limit:
        more = len(features) - limit
        names.append(f"{more} other{'' if more == 1 else 's'}")
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def relative_risk(
    mdp: MDP, view: Worldview, weights: ArrayLike, *, indistinct: Indistinct | None = None
) -> float:
    """The teaching risk among the directions that can tell policies apart, in [0, 1].

    With P the projection that removes the directions along which all policies look the same, it is
    ρ(AP; Pw). It is 0 if Pw = 0: all policies are then equally good. Not to be put in the place of
    the risk in a bound, unless A and w are replaced by AP and Pw in all of it.

    Parameters
    ----------
    mdp : MDP
    view : Worldview
    weights : array [k], not all zero
    indistinct : Indistinct, that of the MDP, if it is known already

    Returns
    -------
    float in [0, 1]

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> view = ti.Worldview.select(mdp, ["cell 3"])
    >>> ones = np.ones(5)  # a step is worth 1 wherever it leads
    >>> round(ti.teaching_risk(view, ones), 3), ti.relative_risk(mdp, view, ones)
    (0.894, 0.0)
    """
    check_worldview(view, mdp)
    w = unit_weights(view, weights)
    seen, distinct = distinct_terms(mdp, view, w, indistinct)
    return min(length_of(without_span(seen.basis, distinct)), 1.0)


def distinct_terms(
    mdp: MDP, view: Worldview, weights: Floats, indistinct: Indistinct | None = None
) -> tuple[Worldview, Floats]:
    """AP, and Pw of length 1; zeros where all policies are equally good."""
    never = (indistinct_directions(mdp) if indistinct is None else indistinct).basis
    distinct = without_span(never, unit_weights(view, weights))
    length = length_of(distinct)
    return view.without(never), distinct / length if length > DEPENDENT else 0.0 * distinct


__all__ = [
    "BlindSpot",
    "Indistinct",
    "RiskScorer",
    "blind_spot",
    "distinct_terms",
    "indistinct_directions",
    "relative_risk",
    "risk_after",
    "teaching_risk",
]
