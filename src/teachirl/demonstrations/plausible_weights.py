"""All weights that an expert may have, at a stated confidence, whoever of three experts it is.

The expert wants weights w (a direction: no choice tells their length), and for some rate ε of
slips, 0 ≤ ε ≤ 1, at which an action is taken at random,

- *optimal* or *slipping*: is otherwise optimal for w, and among equally good actions has any habit
  ρ(a | s): chances (1 − ε) ρ(a | s) + ε/n, with ρ > 0 for optimal actions alone; ε = 0 never errs;
- *soft*: has otherwise the soft policy of βw for some β > 0: chances (1 − ε) π_βw(a | s) + ε/n.

Let L(w) be the largest probability that any of these gives to all recorded choices, over ε, ρ and
β, and Q that of a forecaster, who knew only the choices before each (`forecasts`). The expert's own
chances are among those that L(w*) is the largest of, and Q exceeds 1/δ times the probability they
give with probability δ at most. So

    W = {w : L(w) ≥ δQ}  contains w* with confidence 1 − δ, for any number of episodes and steps.

If the expert never errs, W is about the cone of weights under which all that was seen is optimal,
and more episodes do not make it smaller than that. If the expert is soft, W shrinks to a point.

For a set O of optimal actions in a state, of N choices there in O, with counts c, and E others, ρ
has its largest probability Π (c/N)^c at most, and what is left is concave in ε:

    Σ c log(c/N) + max_ε Σ N log(1 − ε(1 − |O|/n)) + E log(ε/n).
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Floats, Ints, frozen
from ..errors import require
from ..mdp.kernels.soft import likeliest_rate
from ..mdp.model import MDP
from ..mdp.planning import optimal_policy
from ..mdp.soft_planning import SoftModel
from ..precision import SEARCH_TIE, SOLVED
from .certain_choices import certainly_meant
from .optimal_cone import OptimalCone
from .weight_region import THINNED, Region, Walk, explore

# Steps of a walk, the more the smaller the world; and of a climb to where a walk can start.
STEPS, WORK, CLIMBS = (45, 120), 200_000, 300

# How often choices are completed by what is optimal for the weights found last.
COMPLETIONS = 5
# How often an interval is halved to find the rate of slips.
HALVINGS = 24
# Steps in log β down to this are taken, after so many in search of the right order of magnitude;
# and of a parabola through three points, by how much of its bend the truth may be higher.
FINE, MOST_SCALES, HOPELESS = 0.02, 6, 1.0
# Orders of magnitude of β, powers of 4 on either side, that are looked at before it is given up.
ORDERS = 5


# What is said where no plausible weights are known.
NONE_FOUND = (
    "a search found no weights under which the choices are those of an expert who is optimal, "
    "slips now and then or is soft"
)


class Evidence:
    """How plausible recorded choices are under given weights.

    Parameters
    ----------
    mdp : MDP
    pairs : int array [n], the pairs that were chosen
    scale : float, the length of weights that a soft expert is thought to have
    enough : float, the least that is asked for, log δQ: below it, no more is found out than that
    """

    def __init__(self, mdp: MDP, pairs: Ints, scale: float, enough: float) -> None:
        self.mdp, self.enough = mdp, enough
        self.origin = self.log_scale = math.log(scale or 1.0)
        self.model = SoftModel(mdp)
        dynamics = mdp.dynamics
        self.actions = np.diff(dynamics.offsets)
        counts = np.bincount(pairs, minlength=mdp.n_pairs)
        self.seen = np.flatnonzero((counts > 0) & (self.actions[dynamics.pair_states] > 1))
        self.counts = counts[self.seen].astype(float)
        self.states = dynamics.pair_states[self.seen].astype(np.int64)
        self.n = self.actions[self.states].astype(float)
        self.choices = self.seen, self.counts, 1.0 / self.n
        # Values of the last soft plan of each order of magnitude of β, where the next may start.
        self.values: dict[int, Floats] = {}

    def optimal(self, w: Floats) -> float:
        """log L(w) of experts who are optimal but for slips."""
        mdp, counts, best = self.mdp, self.counts, self._best(w)
        ties = np.add.reduceat(best.astype(np.int64), mdp.dynamics.offsets[:-1])
        right = best[self.seen]
        kept = np.bincount(self.states[right], counts[right], mdp.n_states)
        of_habits = float(counts[right] @ np.log(counts[right] / kept[self.states[right]]))
        wrong = counts[~right]
        slips = float(wrong.sum())
        if slips == 0.0:
            return of_habits
        used = np.flatnonzero((kept > 0.0) & (ties < self.actions))
        sizes, shares = kept[used], 1.0 - ties[used] / self.actions[used]
        counted, lift = np.append(sizes, slips), np.append(-shares, 1.0)
        rate = likeliest_rate(counted, (lift < 0.0).astype(float), lift, HALVINGS)
        held = float(sizes @ np.log1p(-rate * shares))
        return of_habits + held + slips * math.log(rate) - float(wrong @ np.log(self.n[~right]))

    def slips(self, w: Floats) -> float:
        """The share of choices that are not optimal for w; of none, 0."""
        wrong = float(self.counts[~self._best(w)[self.seen]].sum())
        return wrong / (float(self.counts.sum()) or 1.0)

    def _best(self, w: Floats) -> NDArray[np.bool_]:
        """Which pairs [P] are optimal for w."""
        mdp, states = self.mdp, self.mdp.dynamics.pair_states
        values, rewards = optimal_policy(mdp, w).values, mdp.rewards(w)
        rewards = rewards if mdp.features_per_pair else rewards[states]
        ahead = mdp.discount * np.asarray(mdp.dynamics.transitions @ values)
        loss = values[states] - rewards - ahead
        return np.asarray(loss <= SEARCH_TIE * float(loss.max(initial=0.0)))

    def soft(self, w: Floats) -> float:
        """log L(w) of experts who are soft, or what of it is `enough` already.

        It is sought over log β, where there may be two peaks: of one who is soft, and of one who is
        all but optimal, and slips. From where the last one was found first, then from the best of
        all orders of magnitude.
        """
        tried: dict[float, float] = {}
        likelihood, four = self.model.likelihoods(w, self.choices, HALVINGS), math.log(4.0)

        def at(x: float) -> float:
            x = round(x, 12)
            if x not in tried:
                order = round((x - self.origin) / four)
                if order not in self.values:
                    self.values[order] = np.zeros(self.mdp.n_states)
                tried[x] = likelihood(math.exp(x), self.values[order])
            return tried[x]

        if at(self.log_scale) >= self.enough:
            return at(self.log_scale)
        orders = [self.origin + place * four for place in range(-ORDERS, ORDERS + 1)]
        near = min(orders, key=lambda x: abs(x - self.log_scale))
        if self._climbed(at, near) < self.enough:
            peak, best = max(tried, key=tried.__getitem__), max(orders, key=at)
            if abs(best - peak) > four:  # not on the hill that has been climbed
                self._climbed(at, best)
        return max(tried.values())

    def _climbed(self, at: Callable[[float], float], x: float) -> float:
        """The best that is found from a place on, by steps that shrink where neither side is
        better; what is `enough` ends it."""
        step, best, looks = math.log(4.0), -math.inf, 0
        while step > FINE:
            for side in (x, x - step, x + step):
                best = max(best, at(side))
                if best >= self.enough:
                    self.log_scale = side
                    return best
            low, middle, high = at(x - step), at(x), at(x + step)
            bend = 2.0 * middle - low - high
            looks += 1
            if middle < max(low, high) or bend <= 0.0:
                x += step if high > low else -step
                step *= 1.0 if looks < MOST_SCALES else 0.5
                continue
            # A parabola through the three says where the best is, and how good it may be.
            shift = 0.5 * (high - low) / bend
            if middle + 0.25 * (high - low) * shift < self.enough - HOPELESS * bend:
                break
            x, step = x + shift * step, 0.25 * step
        return best

    def meant(self) -> NDArray[np.bool_]:
        """bool array [P], the choices that are optimal for all plausible weights, if the expert is
        optimal but for slips."""
        found = np.zeros(self.mdp.n_pairs, dtype=bool)
        found[self.seen] = certainly_meant(self.counts, self.states, self.n, self.enough)
        return found

    def most(self, w: Floats) -> float:
        """log L(w), or what of it is `enough` already."""
        return max(self.optimal(w), self.soft(w))

    def holds(self, w: Floats) -> bool:
        """Whether L(w) ≥ δQ, for weights w of length 1."""
        return self.optimal(w) >= self.enough or self.soft(w) >= self.enough


class Experts(enum.StrEnum):
    """Kinds of experts that explain recorded choices."""

    OPTIMAL = "optimal"
    SOFT = "soft"


@dataclass(frozen=True, eq=False)
class PlausibleWeights:
    """The weights that an expert may have, at a stated confidence.

    Attributes
    ----------
    weights : array [k] of length 1, an estimate: plausible itself, if anything is
    lower, upper : array [k], between which each of the weights lies, all of them at once, of
        plausible weights of length 1. If the expert is soft, the ends are searched for
    proved : bool, whether they are proved, by the multipliers of cone programs, if the expert is
        optimal but for slips
    degrees : float, how far from the estimate weights may be that are plausible; 180 at most
    confidence : float, with which the expert's weights are among the plausible ones
    experts : tuple of Experts, those who explain what was seen, of some plausible weights; empty if
        a search found none: then `lower` and `upper` are −1 and 1, and nothing is known
    slips : float, the share of choices that are slips of an expert with the estimated weights who
        is optimal otherwise
    points : array [n, k], plausible weights, spread evenly; the estimate alone if none were found
    evidence : Evidence, which decides what is plausible
    basis : array [r, k], the directions that policies can tell apart

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp, rng = ti.worlds.chain(3), np.random.default_rng(0)
    >>> right = ti.Policy.deterministic(mdp, [1, 1, 0])
    >>> seen = ti.sample_trajectories(mdp, right, episodes=20, horizon=10, rng=rng)
    >>> found = ti.infer_weights(mdp, seen).plausible
    >>> found.contains([0, 0, 1]), found.contains([1, 0, 0]), found.experts
    (True, False, (<Experts.OPTIMAL: 'optimal'>, <Experts.SOFT: 'soft'>))
    """

    weights: Floats
    lower: Floats
    upper: Floats
    proved: bool
    degrees: float
    confidence: float
    experts: tuple[Experts, ...]
    slips: float
    points: Floats
    evidence: Evidence
    basis: Floats

    @property
    def signs(self) -> Ints:
        """int array [k]: 1 and −1 where the sign of a weight is known, 0 where it is not."""
        positive = (self.lower >= 0.0) & (self.upper > 0.0)
        negative = (self.upper <= 0.0) & (self.lower < 0.0)
        return np.asarray(positive.astype(np.int64) - negative)

    def contains(self, weights: ArrayLike) -> bool:
        """Whether weights are plausible; of any length, shaped or not.

        Parameters
        ----------
        weights : array [k]

        Returns
        -------
        bool
        """
        w = np.asarray(self.evidence.mdp.checked_weights(weights))
        w = self.basis.T @ (self.basis @ w)
        length = float(np.linalg.norm(w))
        return length > 0.0 and self.evidence.holds(w / length)

    def sample(self, rng: np.random.Generator, n: int) -> Floats:
        """Plausible weights of length 1, spread evenly over all that are.

        Parameters
        ----------
        rng : numpy.random.Generator
        n : int, how many

        Returns
        -------
        array [n, k]; zeros if the features tell no policies apart
        """
        require(
            isinstance(rng, np.random.Generator),
            f"rng must be a numpy.random.Generator, got {type(rng).__name__}",
        )
        require(
            isinstance(n, (int, np.integer)) and n >= 0,
            f"n must be a whole number, 0 or more, got {n!r}",
        )
        if len(self.basis) == 0:
            return np.zeros((n, self.basis.shape[1]))
        require(bool(self.experts), f"there is nothing to draw from: {NONE_FOUND}")
        walk = Walk(
            self.evidence.holds, self.basis, self.points[rng.integers(len(self.points))], rng
        )
        walk.points = [*self.points, walk.points[0]]
        for _ in range(THINNED * n):
            walk.step()
        return np.array(walk.points[len(self.points) + THINNED :: THINNED]).reshape(n, -1)


def plausible_weights(
    evidence: Evidence, cone: OptimalCone, never: Floats, theta: Floats, confidence: float
) -> PlausibleWeights:
    """All weights that the evidence leaves, walked through from an estimate θ [k].

    `never` [d, k] are the directions that cannot tell policies apart.
    """
    k = evidence.mdp.n_features
    basis = np.linalg.svd(never, full_matrices=True)[2][len(never) :] if len(never) else np.eye(k)
    rng = np.random.default_rng(0)
    suggested = [w for w in (theta, cone.centre()) if w is not None and np.any(basis @ w)]
    suggested = suggested or list(basis[:1])  # nothing tells of a direction: any will do
    walks = [Walk(evidence.holds, basis, w, rng) for w in suggested]
    inside = [walk for walk in walks if evidence.holds(walk.points[0])]
    if not inside:
        further = _completed(evidence, cone, suggested)
        walks += [Walk(evidence.holds, basis, w, rng) for w in further]
        inside = [walk for walk in walks[len(suggested) :] if evidence.holds(walk.points[0])]
    if not inside and walks:
        nearest = max(walks, key=lambda walk: evidence.most(walk.points[0]))
        inside = [nearest] if len(basis) > 1 and nearest.climb(evidence.most, CLIMBS) else []
    if not inside:
        start = walks[0].points[0] if walks else np.zeros(k)
        nothing = Region(start[None], frozen(np.full(k, -1.0)), frozen(np.ones(k)))
        return _told(evidence, basis, start, nothing, 180.0, confidence, ())
    walk = inside[0]
    start = walk.points[0]
    if evidence.holds(-start):  # no great circle leads there straight
        walk.points.append(-start)
    # All for which an expert who is optimal but for slips may be: wider than the habits' cone.
    meant = evidence.meant()
    wider = OptimalCone(evidence.mdp, meant, never)
    corners = wider.extremes(start) if meant.any() else []
    for other in (*(each.points[0] for each in inside[1:]), *cone.extremes(start), *corners):
        walk.pull(other)
    work = max(evidence.mdp.dynamics.transitions.nnz, 1)
    found = explore(walk, int(np.clip(WORK / work, *STEPS)))
    experts = tuple(
        kind
        for kind, tested in ((Experts.OPTIMAL, evidence.optimal), (Experts.SOFT, evidence.soft))
        if any(
            tested(w) >= evidence.enough for w in (start, *found.points[:: len(found.points) // 5])
        )
    )
    ends = None
    if Experts.OPTIMAL in experts and meant.any():
        ends = wider.ends(start)
    if ends is not None:
        lower, upper = np.minimum(found.lower, ends[0]), np.maximum(found.upper, ends[1])
        found = Region(found.points, frozen(lower), frozen(upper))
    farthest = min(float((np.array(walk.points) @ start).min()), 1.0)
    degrees = math.degrees(math.acos(max(farthest, -1.0)))
    return _told(evidence, basis, start, found, degrees, confidence, experts, ends is not None)


def _completed(evidence: Evidence, cone: OptimalCone, suggested: list[Floats]) -> list[Floats]:
    """Weights under which the habits are optimal, values counting as they are in states where none
    was seen; from each that is suggested, until they are plausible."""
    found: list[Floats] = []
    for w in suggested:
        for _ in range(COMPLETIONS):
            further = cone.completed(w)
            if further is None:
                break
            w = further
            found.append(w)
            if evidence.optimal(w) >= evidence.enough:
                return found
    return found


def _told(
    evidence: Evidence,
    basis: Floats,
    start: Floats,
    found: Region,
    degrees: float,
    confidence: float,
    experts: tuple[Experts, ...],
    proved: bool = False,
) -> PlausibleWeights:
    return PlausibleWeights(
        weights=frozen(np.where(np.abs(start) <= SOLVED, 0.0, start)),
        lower=found.lower,
        upper=found.upper,
        proved=proved,
        degrees=degrees,
        confidence=confidence,
        experts=experts,
        slips=evidence.slips(start),
        points=found.points,
        evidence=evidence,
        basis=frozen(basis),
    )


__all__ = ["NONE_FOUND", "Evidence", "Experts", "PlausibleWeights", "plausible_weights"]
