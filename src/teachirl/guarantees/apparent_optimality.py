"""Can the demonstrated policy look optimal to the learner at all? The exact companion of Theorem 2.

The learner can express the rewards ⟨Aᵀθ, φ⟩. With N the directions that cannot tell policies apart
and B [r, k] an orthonormal basis of what the rows of A span without N, each of them is ⟨Bᵀβ, φ⟩ up
to constants. Under it the demonstrated μ_T looks

    h(β) = max_{μ ∈ M} ⟨Bᵀβ, μ − μ_T⟩ ≥ 0

worse than the best: one MDP solve. h is convex and positively homogeneous. Sought is the least of
h(β)/‖β‖, rewards having length 1: the distance of Bμ_T from the boundary of BM. It is 0 if and only
if the policy is optimal for a reward of the learner's that tells some policies apart.

The ∞-norm sphere consists of 2r faces, which are boxes: β_i = ±1 and |β_j| ≤ 1. On a box
lo ≤ β ≤ hi of them, (β − lo)(hi − β) ≥ 0 and √s ≤ (s/m + m)/2 for any m > 0 give

    ‖β‖ ≤ ℓ(β) = (⟨lo + hi, β⟩ − ⟨lo, hi⟩)/2m + m/2,

so that h/ℓ bounds h/‖β‖ from below, and is as good as the box is small, squared. Of h, cuts
h(β) ≥ ⟨c, β⟩, c = B(μ − μ_T), are known for the policies met; the least of max_c ⟨c, β⟩/ℓ(β) over a
box is a linear program. The box with the least bound gets another cut where its program's solution
is, or is split if the cuts are closer there than ℓ is. What is proved does not rest on the linear
programs: for any shares λ of the cuts, with g = Σ λ_j c_j, the least ⟨g, β⟩/ℓ(β) of the box is a
bound if it is positive, and a few Newton steps find it. Before that, a good β is sought downhill
(`descend`). In more than a few dimensions there are too many boxes to visit: the upper bound is
then good, the lower one is not, and may be 0.
"""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used
import scipy.sparse as sp

from ..arrays import Floats, frozen
from ..demonstrations.demonstration import Demonstration, as_demonstration
from ..errors import Status, require
from ..figures.digits import at_least, at_most, percent
from ..mdp.model import MDP, check_is_mdp
from ..mdp.occupancy import expectation_error, feature_expectations
from ..mdp.plan import Plan
from ..mdp.planning import optimal_policy, worst_policy
from ..mdp.policy import Policy
from ..precision import EPS, ROUNDED_UP, length_at_most, up
from ..views.linear_algebra import unit_rows
from ..views.potential_shaping import Indistinct, indistinct_directions
from ..views.worldview import Worldview, check_worldview
from .bounds import check_units, combination_error
from .boxes import Box
from .solvers.bundle import worst_case_by_bundle
from .solvers.program_forms import highs_solver

# Bounds this close to each other, relatively, are close enough.
CLOSE = 1e-2


class LookStatus(Status):
    """How the search ended; the text says what to do about it."""

    CLOSE = "the bounds are as close as asked"
    OUT_OF_SOLVES = "stopped early with valid bounds; raise max_solves"
    VACUOUS = "no reward that the learner can express tells policies apart; teach a feature"


@dataclass(frozen=True, eq=False)
class Look:
    """How far from optimal a demonstrated policy looks to the learner at best.

    Attributes
    ----------
    weights : array [ℓ], θ of the reward ⟨θ, Aφ⟩ that favours the policy most; the part of Aᵀθ that
        can tell policies apart has length 1. Zeros if there is none
    lower : float, under every such reward of length 1 the policy looks at least this far from
        optimal
    upper : float, under the reward of `weights` it looks at most this far from optimal
    share : float, `upper` as a fraction of that reward's range over all policies, at most
    solves : int, how many MDPs were solved
    status : LookStatus
    sentence : str, what that says, in one sentence

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(3)
    >>> look = ti.best_look(mdp, ti.Worldview.select(mdp, []), ti.Policy.uniform(mdp))
    >>> look.vacuous
    True
    """

    weights: Floats
    lower: float
    upper: float
    share: float
    solves: int
    status: LookStatus
    sentence: str

    @property
    def vacuous(self) -> bool:
        """bool, whether no reward that the learner can express tells policies apart."""
        return self.status is LookStatus.VACUOUS

    def __repr__(self) -> str:
        return f"Look({at_least(self.lower)} to {at_most(self.upper)}, {self.status!r})"

    def __str__(self) -> str:
        return self.sentence


def best_look(
    mdp: MDP,
    view: Worldview,
    demonstration: Demonstration | Policy,
    *,
    tolerance: float = 1e-6,
    max_solves: int = 500,
    indistinct: Indistinct | None = None,
) -> Look:
    """How far from optimal a policy looks under the reward of the learner's that favours it most.

    Parameters
    ----------
    mdp : MDP
    view : Worldview
    demonstration : Demonstration or Policy that the learner is shown
    tolerance : float, how far apart the bounds may be, as a fraction of the range of returns; a
        hundredth of the upper bound is close enough in any case
    max_solves : int, stop after so many MDP solves, four at least, or four times as many linear
        programs; the bounds are valid all the same
    indistinct : Indistinct, `indistinct_directions(mdp)`, if it is known already

    Returns
    -------
    Look

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> expert = ti.optimal_policy(mdp, [-2, -1, 0, 1, 2]).policy
    >>> print(ti.best_look(mdp, ti.Worldview(np.eye(5)), expert).lower)
    0.0
    >>> look = ti.best_look(mdp, ti.Worldview.select(mdp, ["cell 3"]), expert)
    >>> print(f"{look.weights[0]:.4f}", f"{look.lower:.4f} … {look.upper:.4f}")
    -1.2247 0.4189 … 0.4189
    """
    check_is_mdp(mdp)
    check_worldview(view, mdp)
    require(0.0 < tolerance < math.inf, f"tolerance must be positive, got {tolerance!r}")
    require(max_solves >= 4, f"max_solves must be at least 4, got {max_solves!r}")
    check_units(mdp, view)
    shown = as_demonstration(mdp, demonstration)
    never = indistinct_directions(mdp) if indistinct is None else indistinct
    basis = view.without(never.basis).basis
    if len(basis) == 0:
        sentence = "Nothing that the learner sees tells policies apart: all look alike."
        zeros = frozen(np.zeros(view.n_rows))
        return Look(zeros, 0.0, 0.0, 0.0, 0, LookStatus.VACUOUS, sentence)
    search = _Search(mdp, basis, shown, _unseen(mdp, view, basis, never))
    status = search.run(tolerance, max_solves - 2)
    weights = _in_her_features(view, basis, search.best)
    # What is reported of the weights is proved for the very reward they are.
    upper, share = _suboptimality(mdp, view, never, shown, weights)
    lower = min(search.lower(), upper)
    sentence = (
        "There is a reward in the learner's features under which the demonstrated policy is "
        f"within {upper:.4g} of optimal, {percent(share)} of that reward's range"
    )
    if lower > 0.0:
        sentence += f"; under none that tells policies apart as much is it closer than {lower:.4g}"
    return Look(frozen(weights), lower, upper, share, search.solves + 2, status, sentence + ".")


def share_of(off: float, high: Plan, low: Plan) -> float:
    """`off` as a fraction of max R − min R, at most; 1 where all policies look alike."""
    span = high.lower - low.upper
    return min(up(off / span), 1.0) if span > 0.0 else 1.0


class _Unseen(NamedTuple):
    """By how much a reward of the learner's, of length 1 in the basis, may differ from what the
    basis says.

    difference : in what it makes of two policies
    length : in its length, relatively
    """

    difference: float
    length: float


def _unseen(mdp: MDP, view: Worldview, basis: Floats, never: Indistinct) -> _Unseen:
    """What the basis leaves of the view's rows: the part that tells no policies apart, and
    rounding.

    Rounding counts entry by entry, as features may be in very different units.
    """
    rows = unit_rows(view.matrix)
    shares = np.linalg.pinv(basis @ rows.T)
    stray = _stray(rows, np.vstack([basis, never.basis]))
    most = length_at_most(shares)
    hidden = length_at_most((never.basis @ rows.T) @ shares) * never.slack
    return _Unseen(
        hidden + most * length_at_most(stray @ _reach(mdp)), most * length_at_most(stray)
    )


def _stray(vectors: Floats, basis: Floats) -> Floats:
    """At least |what of the vectors [n, k] is not in the basis [r, k]|, entry by entry."""
    along = vectors @ basis.T
    sizes = np.abs(vectors) + np.abs(along) @ np.abs(basis)
    return np.asarray(np.abs(vectors - along @ basis) + (sum(basis.shape) + 4) * EPS * sizes)


def _reach(mdp: MDP) -> Floats:
    """How far apart the feature expectations of two policies can be, array [k]."""
    return 2.0 * mdp.largest_entries / (1.0 - mdp.discount)


def _in_her_features(view: Worldview, basis: Floats, beta: Floats) -> Floats:
    """θ [ℓ] with BAᵀθ = β, a unit vector [r]."""
    rows = unit_rows(view.matrix)
    shares = np.asarray(np.linalg.lstsq(basis @ rows.T, beta, rcond=None)[0], dtype=float)
    shares /= float(np.linalg.norm(basis @ (rows.T @ shares)))
    lengths = np.array([math.hypot(*row) for row in view.matrix])
    return np.asarray(shares / np.where(lengths > 0.0, lengths, 1.0))


def _suboptimality(
    mdp: MDP, view: Worldview, never: Indistinct, shown: Demonstration, weights: Floats
) -> tuple[float, float]:
    """How far from optimal the demonstrated policy is for the reward ⟨weights, Aφ⟩, at most; and
    as a share of that reward's range."""
    # The part that tells no policies apart is left out; it makes a difference of slack at most.
    seen = view.matrix.T @ weights
    reward = never.project(seen)
    left_out = float(np.linalg.norm(seen - reward)) * never.slack
    doubt = expectation_error(mdp, reward) + float(np.linalg.norm(reward)) * shown.error + left_out
    doubt += combination_error(mdp, view, weights, reward, shown.expectations)
    doubt += float(_stray((seen - reward)[None], never.basis)[0] @ _reach(mdp))
    high, low = optimal_policy(mdp, reward), worst_policy(mdp, reward)
    off = max(up(high.upper - float(reward @ shown.expectations) + doubt * ROUNDED_UP), 0.0)
    return off, share_of(off, high, low)


class _Search:
    """Best-first search of the boxes with a common pool of cuts."""

    def __init__(self, mdp: MDP, basis: Floats, shown: Demonstration, unseen: _Unseen) -> None:
        self.mdp, self.basis, self.shown, self.unseen = mdp, basis, shown, unseen
        self.cuts: list[Floats] = []
        self.solves, self.upper, self.best = 0, math.inf, np.zeros(len(basis))
        self.programs = 0
        # ⟨Bᵀβ, error of μ⟩ ≤ ‖β‖ ‖B · error‖, for a cut's μ and for the demonstrated one.
        errors = [expectation_error(mdp, row) for row in basis]
        self.doubt = 2.0 * float(np.linalg.norm(errors)) + shown.error + unseen.difference
        # The width of M in one direction of the view, which is positive: what returns differ by.
        rank = len(basis)
        self.scale = self.evaluate(np.eye(rank)[0]) + self.evaluate(-np.eye(rank)[0])
        self.heap: list[tuple[float, int, Box]] = []
        self.count = itertools.count()
        for i in range(rank):
            for sign in (1.0, -1.0):
                low, high = -np.ones(rank), np.ones(rank)
                low[i] = high[i] = sign
                self.push(-math.inf, Box(low, high))

    def push(self, bound: float, box: Box) -> None:
        heapq.heappush(self.heap, (bound, next(self.count), box))

    def evaluate(self, beta: Floats) -> float:
        """h(β) of a unit vector, an upper bound but for the demonstration's error; adds a cut."""
        reward = self.basis.T @ beta
        plan = optimal_policy(self.mdp, reward)
        mu, met = self.shown.expectations, feature_expectations(self.mdp, plan.policy)
        off = plan.upper - float(reward @ mu) + expectation_error(self.mdp, reward)
        self.cuts.append(self.basis @ (met - mu))
        self.solves += 1
        if off < self.upper:
            self.upper, self.best = off, beta
        return off

    def lower(self) -> float:
        """A proved lower bound on the least h(β)/‖β‖; h is never negative."""
        largest = float(np.abs(self.cuts).sum(axis=1).max())
        rounding = 8 * (len(self.cuts) + sum(self.basis.shape)) * EPS * largest
        bound = min(self.heap[0][0], self.upper)
        longest = ROUNDED_UP + self.unseen.length
        return max((bound - (self.doubt + rounding) * ROUNDED_UP) / longest, 0.0)

    def run(self, tolerance: float, max_solves: int) -> LookStatus:
        # Half of it each: so what the boxes prove does not depend on how soon the descent ends.
        self.descend(tolerance, max_solves // 2)
        max_programs = 4 * max_solves + len(self.heap)
        max_solves = min(self.solves + (max_solves + 1) // 2, max_solves)
        while True:
            bound, number, box = self.heap[0]
            enough = max(tolerance * self.scale, CLOSE * self.upper)
            if self.upper - max(bound, 0.0) <= enough:
                return LookStatus.CLOSE
            if self.programs >= max_programs:
                return LookStatus.OUT_OF_SOLVES
            beta, shares = self.program(box)
            proved = max(bound, box.least_ratio(shares @ np.array(self.cuts)))
            heapq.heapreplace(self.heap, (proved, number, box))
            if self.heap[0][2] is not box:
                continue
            if self.solves >= max_solves:
                return LookStatus.OUT_OF_SOLVES
            length = float(np.linalg.norm(beta))
            off = self.evaluate(beta / length)
            slope, rest = box.length
            in_box = off * length / (float(slope @ beta) + rest)
            if in_box - proved <= off - in_box and not np.array_equal(box.low, box.high):
                heapq.heappop(self.heap)
                for part in box.split(beta):
                    self.push(proved, part)

    def descend(self, tolerance: float, max_solves: int) -> None:
        """Downhill to a β where h(β)/‖β‖ is least nearby.

        Follow the ray from Bμ_T along β_0 to where it leaves BM. A facet there has a normal β with
        ⟨β_0, β⟩ = 1, and h(β) is the length of the ray: the least h on that plane, where ‖β‖ ≥ 1.
        So β/‖β‖ is better than β_0, or both are best. If Bμ_T is on the boundary, the first ray,
        away from a point inside, has length 0.
        """
        uniform = feature_expectations(self.mdp, Policy.uniform(self.mdp))
        apart = self.basis @ (self.shown.expectations - uniform)
        if apart.any() and self.solves < max_solves:
            self.evaluate(apart / float(np.linalg.norm(apart)))
        policy = self.shown.policy if self.shown.error == 0.0 else None
        while self.upper > tolerance * self.scale:
            # The bundle method proves its bound by two more solves, and here comes another.
            left = max_solves - self.solves - 3
            if left < 3:
                return
            before, ray = self.upper, self.best
            others = Worldview(scipy.linalg.null_space(ray[None]).T @ self.basis)
            found = worst_case_by_bundle(
                self.mdp,
                others,
                self.basis.T @ ray,
                self.shown.expectations,
                policy=policy,
                maximise=True,
                tolerance=tolerance,
                max_solves=left,
            )
            self.solves += found.solves
            beta = ray - self.basis @ (others.matrix.T @ found.theta)
            self.evaluate(beta / float(np.linalg.norm(beta)))
            if self.upper > (1.0 - CLOSE) * before:
                return

    def program(self, box: Box) -> tuple[Floats, Floats]:
        """β [r] in the box with the least max_c ⟨c, β⟩/ℓ(β), and shares λ of the cuts [n]."""
        self.programs += 1
        cuts = np.array(self.cuts) / self.scale
        n, rank = cuts.shape
        slope, rest = box.length
        # In t, y = zβ and z = 1/ℓ(β): min t with t ≥ ⟨c, y⟩, z lo ≤ y ≤ z hi, zℓ(y/z) = 1. A row
        # a variable, then what each inequality leaves, which is not below 0.
        one, m = np.eye(rank), n + 2 * rank
        table = np.zeros((rank + 2, m + 1))
        table[0, :n], table[1:-1, :n] = -1.0, cuts.T
        table[1:-1, n:-1] = np.hstack([one, -one])
        table[-1, n:-1] = np.concatenate([-box.high, box.low])
        table[1:, -1] = *slope, rest
        least = np.zeros(rank + 2 + m)
        least[: rank + 1] = -np.inf
        rows = sp.vstack([sp.csr_array(table), sp.eye_array(m, m + 1)], format="csr")
        cost, right = np.eye(1, len(least))[0], np.eye(1, m + 1, m)[0]
        solver = highs_solver(rows, cost, least, right)
        solver.setOptionValue("solver", "simplex")
        solver.run()
        solution = solver.getSolution()
        found = np.array(solution.col_value)
        if not (solution.value_valid and solution.dual_valid and found[rank + 1] > 0.0):
            return (box.low + box.high) / 2.0, np.full(n, 1.0 / n)
        beta = np.clip(found[1 : rank + 1] / found[rank + 1], box.low, box.high)
        duals = np.maximum(-np.array(solution.row_dual)[:n], 0.0)
        return beta, duals / duals.sum() if duals.sum() > 0.0 else np.full(n, 1.0 / n)
