"""The least over a convex set of rewards: polytopes, boxes and ellipsoids.

Gap and regret are suprema of linear functions of w, and so convex, and the least reward is concave:
each is worst at an extreme point. Performance is not; but with what one policy μ′ earns in the
place of min R, which is no more, it is quasi-concave (`grounds`): its least is at an extreme point
as well, and no performance is below it.

- *Polytope*: a race of the vertices.
- *Box* w₀ + Σ z_i c_i: where x_i = ⟨c_i, d⟩ lies in [a, b] for all d that count, |x_i| is at most
  the chord α + βx_i, so that all rewards of the box are bounded by one, at w₀ + Σ β_i c_i, and
  Σ α_i. Where no x_i changes its sign the chord is exact; else the corners race, if they are few.
  If they are not, a and b are those of who matches, by two worst cases each.
- *Ellipsoid*: a polytope around the ball, whose worst vertex v is cut off at v/‖v‖ until the worst
  vertex is no worse than a point of the ball by more than a hundredth.

Only the part of a doubt that policies can change, and that the learner does not see, changes a gap:
directions of doubt without such a part are left out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...arrays import Floats
from ...mdp import clock
from ...mdp.model import MDP
from ...mdp.occupancy import feature_expectations
from ...mdp.planning import optimal_policies
from ...mdp.rewards.checks import RewardsKind
from ...mdp.rewards.rewards import Rewards
from ...precision import DEPENDENT, EPS, INVISIBLE, ROUNDED_UP, down, first_largest, up
from ...views.linear_algebra import without_span
from ...views.potential_shaping import Indistinct, indistinct_directions
from .judgement import Criterion, Measure
from .race import ROUGHLY, Posed, Race
from .tails import Tail

# Doubtful weights of a box up to which all corners race.
CORNERS = 9
# Axes of an ellipsoid up to which the bounds are brought together, and how close, relatively.
AXES, CLOSE = 4, 0.01
# Worst cases that are solved for an ellipsoid, at most; and steps from corner to corner.
MOST, STEPS = 160, 20
# Of a box with many corners: for so many weights it is found what those who match have of them, at
# most, and so many shares of the way are tried to be proved, some even if the time is over.
LEARNERS, SHARES, AFTERWARDS = 32, 8, 2
# Until one is proved, shares are lowered by this much more than what is missing asks for.
BEYOND = 1.5
LEAST = Tail(Measure.LEAST, 0.0, 1.0)


@dataclass(frozen=True)
class Found:
    """The least over a set is between `low` and `high`; `worst` is the number of a reward in the
    race that has `high`; `settled` says whether no more is to be known."""

    low: float
    high: float
    worst: int
    settled: bool
    timely: bool


def least_over(race: Race, rewards: Rewards, indistinct: Indistinct | None) -> Found:
    """The least of the criterion, signed so that more is better, over a convex set of rewards."""
    found = _bounded(race, rewards, indistinct)
    if found.worst in race.cases or not found.timely:
        return found
    # What others say of the worst reward was enough; who is that bad, its own worst case says.
    race.solve(found.worst)
    high = max(min(found.high, float(race.high[found.worst])), found.low)
    return replace(found, high=high, settled=found.settled or high - found.low <= race.asked)


def _bounded(race: Race, rewards: Rewards, indistinct: Indistinct | None) -> Found:
    race.add(rewards.mean[None])
    race.solve(0)
    if not race.matchable:
        return Found(-math.inf, math.inf, 0, True, True)
    if rewards.kind is RewardsKind.POLYTOPE:
        return _over_vertices(race, _distinct(rewards.points), 0.0)
    root, neglected = _that_matters(race.posed, race.criterion, rewards, indistinct)
    if root.shape[1] == 0:
        return _told(race, _less(race, float(race.low[0]), neglected), True)
    if rewards.kind is RewardsKind.ELLIPSOID:
        return _over_ellipsoid(race, rewards.mean, root, neglected)
    return _over_box(race, rewards.mean, root, neglected)


def _distinct(points: Floats) -> Floats:
    return np.unique(points[points.any(axis=1)], axis=0)


def _over_vertices(race: Race, points: Floats, neglected: float) -> Found:
    if len(points) == 0:
        return Found(float(race.low[0]), float(race.high[0]), 0, True, True)
    numbers = race.add(points)
    timely = race.run(numbers, np.full(len(points), 1.0 / len(points)), LEAST)
    low = float(race.low[numbers.start : numbers.stop].min())
    return _told(race, _less(race, low, neglected), timely)


def _told(race: Race, low: float, timely: bool, among: list[int] | None = None) -> Found:
    """With the least that was found of rewards of the set."""
    inside = list(range(len(race.points))) if among is None else among
    worst = inside[first_largest(-race.high[inside], race.asked * INVISIBLE)]
    high = float(race.high[worst])
    low = min(low, high)
    return Found(low, high, worst, high - low <= race.asked, timely)


def _less(race: Race, low: float, neglected: float) -> float:
    """A lower bound, once rewards may be off by what was neglected of them."""
    if neglected == 0.0:
        return low
    if race.criterion is not Criterion.PERFORMANCE:
        return down(low - 2.0 * neglected)
    range_ = race.least_range()
    return max(down(low - up(4.0 * neglected / range_)), 0.0) if range_ > 0.0 else 0.0


def _that_matters(
    posed: Posed, criterion: Criterion, rewards: Rewards, indistinct: Indistinct | None
) -> tuple[Floats, float]:
    """The directions of doubt [k, r] that change what is asked for, and by how much, in reward, the
    others may."""
    mdp, root, lost = posed.mdp, rewards.root, 0.0
    reach = 2.0 * mdp.largest_feature / (1.0 - mdp.discount) * ROUNDED_UP
    seen = root
    # What a policy shows, and what no policy can change, depends on the world.
    if criterion is Criterion.GAP and posed.exact and isinstance(mdp, MDP):
        never = indistinct_directions(mdp) if indistinct is None else indistinct
        seen = never.project(root.T).T
        lost = float(np.linalg.norm(never.basis @ root)) * never.slack * ROUNDED_UP
        if posed.mismatch == 0.0:
            both = posed.view.without(never.basis).basis
            seen = without_span(both, seen.T).T
    elif criterion is Criterion.GAP and posed.recorded and posed.mismatch == 0.0:
        seen = without_span(posed.view.basis, root.T).T
    size = float(np.linalg.norm(root))
    rounding = root.shape[0] * 8.0 * EPS * size * reach
    if rewards.kind is RewardsKind.BOX:
        lengths = np.linalg.norm(seen, axis=0)
        kept = lengths > DEPENDENT * np.linalg.norm(root, axis=0)
        lost += float(lengths[~kept].sum()) * reach * ROUNDED_UP
        return root[:, kept], (lost + rounding) if not kept.all() else 0.0
    if size == 0.0:
        return root[:, :0], 0.0
    _, sizes, axes = np.linalg.svd(seen, full_matrices=True)
    rank = int(np.count_nonzero(sizes > DEPENDENT * size))
    beyond = float(sizes[rank:].max(initial=0.0)) if rank < len(sizes) else 0.0
    if rank == root.shape[1]:
        return root, 0.0
    return root @ axes[:rank].T, lost + beyond * reach * ROUNDED_UP + rounding


def _over_box(race: Race, middle: Floats, root: Floats, neglected: float) -> Found:
    low, r, few = -math.inf, root.shape[1], root.shape[1] <= CORNERS
    if race.criterion is not Criterion.PERFORMANCE:
        reach = _reach(race, root, () if few else range(r))
        alpha, beta = _chords(*_apart(race, root, reach))
        [number] = race.add((middle + root @ beta)[None])
        race.solve(number)
        low = down(float(race.low[number]) - _raised(race, middle, root, alpha))
        if alpha == 0.0:
            return _told(race, _less(race, low, neglected), True)
    if few:
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=r)))
        found = _over_vertices(race, middle + signs @ root.T, neglected)
        return _told(race, max(found.low, _less(race, low, neglected)), found.timely)
    if race.criterion is Criterion.PERFORMANCE:
        low = _share_of_all(race, middle, root)
    _climb(race, middle, root, lambda x: np.where(x >= 0.0, 1.0, -1.0))
    return _told(race, _less(race, low, neglected), not race.late)


class _Reach(NamedTuple):
    """Between which ⟨c_i, μ⟩ is of all policies, and of those who match, [r] each."""

    low: Floats
    high: Floats
    least: Floats
    most: Floats


def _reach(race: Race, root: Floats, those: Iterable[int]) -> _Reach:
    """How far policies get along the columns of the root; of those who match it is found for
    some columns, and takes two worst cases each."""
    posed, r = race.posed, root.shape[1]
    race.solves += 2 * r
    ends = posed.ground.most_of_all(np.vstack([root.T, -root.T]))
    found = _Reach(-ends[r:], ends[:r], -ends[r:], ends[:r].copy())
    widest = sorted(those, key=lambda i: float(found.low[i] - found.high[i]))
    # Half of the time is for what follows from it.
    now = clock.seconds()
    until = now + 0.5 * (race.deadline - now)
    for i in widest[:LEARNERS]:
        for sign in (1.0, -1.0):
            if clock.seconds() > until:
                return found
            case = posed.solve(sign * root[:, i], None, ROUGHLY, math.inf)
            race.solves += case.solves
            if math.isfinite(case.lower):
                found.least[i] = max(found.least[i], case.lower) if sign > 0.0 else found.least[i]
                found.most[i] = min(found.most[i], -case.lower) if sign < 0.0 else found.most[i]
    return found


def _apart(race: Race, root: Floats, reach: _Reach) -> tuple[Floats, Floats]:
    """Between which ⟨c_i, d⟩ is for all d that count, [r] each."""
    ground, (low, high, least, most) = race.posed.ground, reach
    if race.criterion is Criterion.GAP:
        return ground.least_shown(root.T) - most, ground.shown(root.T)[:, 1] - least
    if race.criterion is Criterion.REGRET:
        return low - most, high - least
    return -most, -least


def _chords(first: Floats, last: Floats) -> tuple[float, Floats]:
    """Σ α_i and β [r] with |x_i| ≤ α_i + β_i x_i wherever x_i is between these [r]."""
    # They are differences, and each end may be a little further out.
    off = 16.0 * EPS * np.maximum(np.abs(first), np.abs(last))
    first, last = np.minimum(first, last) - off, np.maximum(first, last) + off
    width = np.where(last > first, last - first, 1.0)
    beta = np.clip((last + first) / width, -1.0, 1.0)
    alpha = np.maximum(-2.0 * first * last / width, 0.0)
    beta[first >= 0.0], beta[(last <= 0.0) & (first < 0.0)] = 1.0, -1.0
    alpha[(first >= 0.0) | (last <= 0.0)] = 0.0
    # A chord that is rounded is still one if it is raised by what rounding can do.
    alpha[alpha > 0.0] += 16.0 * EPS * np.maximum(np.abs(first), np.abs(last))[alpha > 0.0]
    return float(alpha.sum()), beta


def _raised(race: Race, middle: Floats, root: Floats, alpha: float) -> float:
    """α with what rounding of the reward may bring that chords lead to."""
    mdp = race.posed.mdp
    missed = (root.shape[1] + 4) * EPS * (np.abs(middle) + np.abs(root).sum(axis=1))
    reach = mdp.largest_entries / (1.0 - mdp.discount)
    return up(alpha * ROUNDED_UP + 4.0 * float(missed @ reach))


def _share_of_all(race: Race, middle: Floats, root: Floats) -> float:
    """A performance that is reached under all rewards of a box.

    It is p or more wherever g − p·max R − (1 − p)m′ is not negative (`grounds`): the most of
    linear functions, turned round, so that chords bound it. Between shares that are proved and
    that are not, straight lines lead to the next.
    """
    assert race.span is not None
    low, high, least, most = _reach(race, root, range(root.shape[1]))
    bad = race.span.bottom(np.vstack([root.T, -root.T]))[:, 1]
    up_to, down_to = bad[: len(low)], -bad[len(low) :]

    def spare(share: float) -> tuple[float, float]:
        """What is to spare at a share of the way, and how fast it falls with that, about."""
        rest = 1.0 - share
        first, last = share * low + rest * down_to - most, share * high + rest * up_to - least
        alpha, beta = _chords(first, last)
        [number] = race.add((middle + root @ beta)[None])
        race.solve(number)
        found = race.spare(number, share)
        slope = race.spare(number, 0.0) - race.spare(number, 1.0)
        return found - _raised(race, middle, root, alpha), slope

    proved = left = -1.0
    above = missing = share = float(race.high.min())
    late = 0
    for _ in range(SHARES):
        found, slope = spare(share)
        # The end that stays counts for half, so that the other is not all that moves.
        if found >= 0.0:
            proved, left, missing = share, found, 0.5 * missing
        else:
            above, missing, left = share, found, 0.5 * left
        late += race.late  # once that is so, something is still to be proved
        over = late > AFTERWARDS or (late and proved >= 0.0)
        if over or above - proved <= CLOSE * (1.0 - proved) or above == 0.0:
            break
        share = max(above + BEYOND * missing / slope, 0.0) if slope > 0.0 else 0.0
        if proved >= 0.0:
            share = proved + (above - proved) * left / (left - missing)
    return max(proved, 0.0)


def _climb(race: Race, middle: Floats, root: Floats, farthest: Callable[[Floats], Floats]) -> None:
    """Reward after reward, each the worst for the witness of the one before: `farthest` gives the z
    of the set with the largest ⟨z, x⟩."""
    mdp, here = race.posed.ground.mdp, 0
    for _ in range(STEPS):
        case = race.cases[here]
        if case.witness is None or race.late:
            break
        d = -feature_expectations(mdp if case.world is None else case.world, case.witness)
        if race.criterion is Criterion.GAP:
            d = d + race.posed.shown.expectations
        elif race.criterion is not Criterion.REWARD:
            [best] = optimal_policies(mdp, race.points[here][None])
            d = d + feature_expectations(mdp, best.policy)
        corner = middle + root @ farthest(root.T @ d)
        if (np.abs(race.points - corner).max(axis=1) == 0.0).any():
            break
        [here] = race.add(corner[None])
        race.solve(here)


def _over_ellipsoid(race: Race, middle: Floats, root: Floats, neglected: float) -> Found:
    r = root.shape[1]
    if r > AXES:
        cross = math.sqrt(r) * np.vstack([np.eye(r), -np.eye(r)]) * (1.0 + INVISIBLE)
        numbers = race.add(middle + cross @ root.T)
        timely = race.run(numbers, np.full(2 * r, 0.5 / r), LEAST)
        low = float(race.low[numbers.start : numbers.stop].min())
        first = len(race.points)
        race.add(middle + cross @ root.T / math.sqrt(r) / (1.0 + INVISIBLE))
        _climb(race, middle, root, lambda x: x / (float(np.linalg.norm(x)) or 1.0))
        inside = [0, *range(first, len(race.points))]
        return _told(race, _less(race, low, neglected), timely, inside)
    return _cut_closer(race, middle, root, neglected)


def _cut_closer(race: Race, middle: Floats, root: Floats, neglected: float) -> Found:
    """The least over an ellipsoid, by polytopes around it that become smaller."""
    around = _Around(root.shape[1])
    outer = list(race.add(middle + around.vertices @ root.T))
    inner, timely = [0], True
    while True:
        place = int(race.low[outer].argmin())
        number, y = outer[place], around.vertices[place]
        if number not in race.cases:
            if len(race.cases) >= MOST or race.late:
                timely = not race.late
                break
            race.solve(number)
            race.prove_others(float(race.nearly[inner].min()))
            inner += race.add((middle + root @ (y / np.linalg.norm(y)))[None])
            continue
        low, high = float(race.low[number]), float(race.nearly[inner].min())
        lost = 1.0 - low if race.criterion is Criterion.PERFORMANCE else abs(low)
        if high - low <= max(race.asked, CLOSE * lost) or float(np.linalg.norm(y)) <= 1.0 + 1e-6:
            break
        kept, new = around.cut(y / np.linalg.norm(y))
        outer = [outer[i] for i in kept]
        outer += race.add(middle + new @ root.T) if len(new) else []
    low = float(race.low[outer].min())
    if race.criterion is not Criterion.REWARD:
        # The worst that was met inside is made exact: it is the witness.
        race.solve(inner[int(race.high[inner].argmin())])
    found = _told(race, _less(race, low, neglected), timely, inner)
    lost = 1.0 - found.low if race.criterion is Criterion.PERFORMANCE else abs(found.low)
    close = found.high - found.low <= max(race.asked, CLOSE * lost)
    return Found(found.low, found.high, found.worst, close, timely)


class _Around:
    """A polytope around the unit ball of r dimensions, at first a cube; a hair too large, so that
    rounding never cuts into the ball."""

    def __init__(self, r: int) -> None:
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=r)))
        self.vertices = signs * (1.0 + INVISIBLE)
        self._on = np.hstack([signs > 0.0, signs < 0.0])  # which facets a vertex is on

    def cut(self, normal: Floats) -> tuple[list[int], Floats]:
        """Without what is beyond ⟨normal, y⟩ ≤ 1: which vertices stay, and the new ones [n, r]."""
        level = 1.0 + INVISIBLE
        beyond = self.vertices @ normal - level
        inside = beyond <= INVISIBLE
        new, on = [], []
        # A vertex on the cut stays as it is: what an edge to it would add is itself.
        within = np.flatnonzero(beyond < -INVISIBLE)
        for i, j in itertools.product(np.flatnonzero(~inside), within):
            common = self._on[i] & self._on[j]
            if common.sum() < len(normal) - 1:
                continue
            # Neighbours: no other vertex is on all facets that both are on.
            if self._on[:, common].all(axis=1).sum() > 2:
                continue
            share = beyond[i] / (beyond[i] - beyond[j])
            new.append(self.vertices[i] + share * (self.vertices[j] - self.vertices[i]))
            on.append(np.append(common, True))
        kept = np.flatnonzero(inside)
        stays = np.column_stack([self._on[kept], beyond[kept] >= -INVISIBLE])
        points = np.array(new).reshape(-1, len(normal))
        self.vertices = np.vstack([self.vertices[kept], points])
        self._on = np.vstack([stays, np.array(on).reshape(-1, stays.shape[1])]).astype(bool)
        return kept.tolist(), points


__all__ = ["Found", "least_over"]
