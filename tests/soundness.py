"""Every number that is called a bound, compared with exact rational arithmetic: no slack at all.

A *promise* yields pairs that must be in order, (what, smaller, larger), with exact numbers on
one side and what the library returned, taken as the exact number that its float is, on the other.
Tiny MDPs are drawn with every awkwardness that there is. `make soundness` runs 10,000 of them and
prints a table; `test_soundness` runs some.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from flint import fmpq, fmpq_mat

import exact_lp
import teachirl as ti
from exact_lp import Vector, dot, exact, vector
from random_problems import least_performance, write_random
from teachirl.app.decisions import assess, frontier, plan
from teachirl.learners import LearnStatus
from teachirl.selection.best_subset import best_subset
from teachirl.selection.distance_from_optimal import greedy_gap

Pair = tuple[str, fmpq, fmpq]
DISCOUNTS = (0.1, 0.5, 0.9, 0.99, 0.999)
SCALES = (1e-12, 1e-6, 1.0, 1.0, 1.0, 1e6, 1e12)


@dataclass(frozen=True)
class Case:
    """A tiny problem: a world, what the learner sees, what is worth, what is shown."""

    mdp: ti.MDP
    view: ti.Worldview
    weights: np.ndarray
    shown: ti.Policy
    candidates: np.ndarray
    seed: int

    @cached_property
    def corners(self) -> list[Vector]:
        """μ of all deterministic policies."""
        return exact_lp.vertices(self.mdp)

    @cached_property
    def mu(self) -> Vector:
        return exact_lp.expectations(self.mdp, self.shown)

    @cached_property
    def w(self) -> Vector:
        return vector(self.weights)

    @cached_property
    def rewards(self) -> Vector:
        return [dot(self.w, corner) for corner in self.corners]

    @cached_property
    def worst(self) -> fmpq:
        """The least reward of those who match what is shown."""
        return self.least(self.view, self.mu)

    def least(self, view: ti.Worldview, mu: Vector) -> fmpq:
        """min ⟨w, μ′⟩ over mixtures of policies with Aμ′ = Aμ."""
        matrix, right = [[fmpq(1)] * len(self.corners)], [fmpq(1)]
        for row in exact_lp.independent_rows(view):
            matrix.append([dot(row, corner) for corner in self.corners])
            right.append(dot(row, mu))
        found = exact_lp.minimum(self.rewards, matrix, right)
        assert found is not None  # μ itself matches
        return found

    def relative(self, reward: fmpq) -> fmpq:
        low, high = min(self.rewards), max(self.rewards)
        return fmpq(1) if low == high else (reward - low) / (high - low)


def draw(seed: int) -> Case:
    """The case of a seed; small integers, quarters and thirds, and numbers with all their bits."""
    rng = np.random.default_rng([11, seed])
    n_states, n_actions = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    states, actions, rows = [], [], []
    for state in range(n_states):
        for action in range(int(rng.integers(1, n_actions + 1))):
            states.append(state)
            actions.append(action)
            rows.append(_chances(rng, n_states))
    per_pair = bool(rng.random() < 0.3)
    n_rows, k = len(states) if per_pair else n_states, int(rng.integers(1, 6))
    features = _numbers(rng, (n_rows, k))
    if rng.random() < 0.2:
        features[:, rng.integers(k)] = rng.choice([0.0, 1.0])
    if rng.random() < 0.3:
        features *= rng.choice(SCALES, size=k)
    mdp = ti.MDP.from_pairs(
        states,
        actions,
        np.array(rows),
        sp.csr_array(features) if rng.random() < 0.3 else features,
        discount=float(rng.choice(DISCOUNTS)),
        start=_chances(rng, n_states),
    )
    weights = _numbers(rng, (k,))
    if not weights.any():
        weights[0] = 1.0
    weights = weights * rng.choice(SCALES)
    shown = ti.optimal_policy(mdp, weights).policy
    if rng.random() < 0.5:
        shown = _policy(rng, mdp)
    candidates = _numbers(rng, (4, k))
    if rng.random() < 0.3:
        candidates[1] = candidates[0] + 1e-7 * rng.standard_normal(k)
    return Case(mdp, _view(rng, k), weights, shown, candidates, seed)


def _numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    if rng.random() < 0.5:
        return rng.integers(-2, 3, size=shape).astype(float)
    return rng.standard_normal(shape)


def _chances(rng: np.random.Generator, n: int) -> np.ndarray:
    """A distribution in units of 1, 1/2, 1/3, 1/4, 1/6 or 1/10."""
    parts = int(rng.choice([1, 2, 3, 4, 6, 10]))
    return np.bincount(rng.integers(n, size=parts), minlength=n) / parts


def _policy(rng: np.random.Generator, mdp: ti.MDP) -> ti.Policy:
    counts = np.diff(mdp.dynamics.offsets)
    parts = [rng.dirichlet(np.ones(n)) if rng.random() < 0.5 else np.eye(n)[0] for n in counts]
    return ti.Policy.of_chances(mdp.dynamics, np.concatenate(parts))


def _view(rng: np.random.Generator, k: int) -> ti.Worldview:
    """Some features, combinations, nothing; nearly equal rows, and rows in other units."""
    n = int(rng.integers(0, k + 1))
    rows = np.eye(k)[rng.permutation(k)[:n]] if rng.random() < 0.5 else _numbers(rng, (n, k))
    if n and rng.random() < 0.3:
        nearly = rng.choice([0.0, 1e-7]) * rng.standard_normal(k)
        rows = np.vstack([rows, rows[:1] + nearly])
    if rng.random() < 0.3:
        rows = rows * rng.choice(SCALES, size=(len(rows), 1))
    return ti.Worldview(rows)


def plans(case: Case) -> Iterator[Pair]:
    """lower ≤ R(π) ≤ max R ≤ upper, and the other way round for a worst policy."""
    mdp, w = case.mdp, case.w
    best, worst = ti.optimal_policy(mdp, case.weights), ti.worst_policy(mdp, case.weights)
    reward = dot(w, exact_lp.expectations(mdp, best.policy))
    yield "best: lower", exact(best.lower), reward
    yield "best: upper", max(case.rewards), exact(best.upper)
    reward = dot(w, exact_lp.expectations(mdp, worst.policy))
    yield "worst: upper", reward, exact(worst.upper)
    yield "worst: lower", exact(worst.lower), min(case.rewards)


def extremes(case: Case) -> Iterator[Pair]:
    """The worst case and the best, by two of the methods; a witness earns no more than is said."""
    mdp, view, shown = case.mdp, case.view, case.shown
    for method in ("bundle", ("direct", "lifted", "cone")[case.seed % 3]):
        found = ti.worst_case(mdp, view, case.weights, shown, method=method)
        yield f"{method}: lower", exact(found.lower), case.worst
        if found.witness is not None:
            earned = dot(case.w, exact_lp.expectations(mdp, found.witness))
            yield f"{method}: upper", earned, exact(found.upper)
    lucky = ti.best_case(mdp, view, case.weights, shown)
    most = -Case(mdp, view, -case.weights, shown, case.candidates, case.seed).worst
    yield "best case: upper", most, exact(lucky.upper)
    if lucky.witness is not None:
        earned = dot(case.w, exact_lp.expectations(mdp, lucky.witness))
        yield "best case: lower", exact(lucky.lower), earned


def mismatches(case: Case) -> Iterator[Pair]:
    """With ε > 0: nobody who is within ε earns less than the lower bound."""
    mdp, view, rng = case.mdp, case.view, np.random.default_rng([12, case.seed])
    others = [case.shown, ti.Policy.uniform(mdp), _policy(rng, mdp)]
    for other in others[1:]:
        step = ti.feature_expectations(mdp, other) - ti.feature_expectations(mdp, case.shown)
        epsilon = float(np.linalg.norm(view.matrix @ step)) * float(rng.choice([0.5, 1.0]))
        if not 1e-40 < epsilon < 1e40:
            continue
        found = ti.worst_case(mdp, view, case.weights, case.shown, epsilon)
        if found.witness is not None:
            others.append(found.witness)
        proved = ti.certify(mdp, view, case.weights, case.shown, epsilon, worst=found)
        for one in others:
            mu = exact_lp.expectations(mdp, one)
            if _distance(view, mu, case.mu) <= exact(epsilon) ** 2:
                earned = dot(case.w, mu)
                yield "ε: lower", exact(found.lower), earned
                yield from _certified(case, proved, earned, "ε: ")


def recordings(case: Case) -> Iterator[Pair]:
    """What is shown is within an error of the expert's; a learner matches it, not the expert."""
    mdp, view, rng = case.mdp, case.view, np.random.default_rng([16, case.seed])
    other = _policy(rng, mdp)
    mu = ti.feature_expectations(mdp, case.shown)
    noise = rng.standard_normal(len(mu)) * float(rng.choice([1e-30, 1e-9, 1e-2]))
    noise *= np.abs(mu).max(initial=0.0)
    # Half as far away as is told, so that rounding leaves the expert within it.
    shown = ti.Demonstration(mu + noise, bias=2.0 * float(np.linalg.norm(noise)))
    if _square(case.mu, vector(shown.expectations)) > exact(shown.bias) ** 2:
        return
    step = ti.feature_expectations(mdp, other) - shown.expectations
    epsilon = float(np.linalg.norm(view.matrix @ step)) * (1 + 1e-9)
    if epsilon > 1e40 or 0.0 < epsilon < 1e-40:
        return
    theirs = exact_lp.expectations(mdp, other)
    if _distance(view, theirs, vector(shown.expectations)) <= exact(epsilon) ** 2:
        proved = ti.certify(mdp, view, case.weights, shown, epsilon)
        yield from _certified(case, proved, dot(case.w, theirs), "recorded: ")


def certificates(case: Case) -> Iterator[Pair]:
    """Theorem 1, width, exact, Theorem 2 and how optimal it can look."""
    proved = ti.certify(case.mdp, case.view, case.weights, case.shown)
    yield from _certified(case, proved, case.worst, "")
    two, look = proved.theorem_2, proved.look
    assert two is not None and look is not None
    if two.suboptimality < np.inf:
        off, _ = _suboptimality(case, two.weights)
        yield "Theorem 2: suboptimality", off, exact(two.suboptimality)
        if dot(case.w, case.mu) == max(case.rewards) and two.bound < np.inf:
            yield "Theorem 2: bound", off, exact(two.bound)
    if not look.vacuous:
        off, share = _suboptimality(case, look.weights)
        yield "look: upper", off, exact(look.upper)
        yield "look: share", share, exact(look.share)
        yield "look: lower", exact(look.lower) ** 2 * _changed(case, look.weights), off**2


def _certified(case: Case, proved: ti.Certificate, earned: fmpq, kind: str) -> Iterator[Pair]:
    behind = dot(case.w, case.mu) - earned
    for bound in (proved.theorem_1, proved.width, proved.exact):
        if bound is not None and bound.gap < np.inf:
            yield f"{kind}{bound.name}: least", exact(bound.least), earned
            yield f"{kind}{bound.name}: gap", behind, exact(bound.gap)
    yield f"{kind}least reward", exact(proved.least_reward), earned
    yield f"{kind}against expert", behind, exact(proved.against_expert)
    yield f"{kind}guaranteed", exact(proved.guaranteed), case.relative(earned)


def _suboptimality(case: Case, theta: np.ndarray) -> tuple[fmpq, fmpq]:
    """How far from optimal what is shown is for ⟨θ, Aφ⟩, and as a share of its range."""
    reward = _reward(case, theta)
    returns = [dot(reward, corner) for corner in case.corners]
    off, span = max(returns) - dot(reward, case.mu), max(returns) - min(returns)
    return off, off / span if span else fmpq(0)


def _reward(case: Case, theta: np.ndarray) -> Vector:
    columns = zip(*(vector(row) for row in case.view.matrix), strict=True)
    return [dot(vector(theta), column) for column in columns]


def _changed(case: Case, theta: np.ndarray) -> fmpq:
    """‖·‖² of the part of Aᵀθ that can tell policies apart: that in the span of M − M."""
    steps = [[a - b for a, b in zip(c, case.mu, strict=True)] for c in case.corners]
    total, reward = fmpq(0), _reward(case, theta)
    basis: list[Vector] = []
    for step in steps:  # Gram–Schmidt, exactly
        for other in basis:
            share = dot(step, other) / dot(other, other)
            step = [a - share * b for a, b in zip(step, other, strict=True)]
        if any(step):
            basis.append(step)
            total += dot(reward, step) ** 2 / dot(step, step)
    return total


def sizes(case: Case) -> Iterator[Pair]:
    """The diameter."""
    found = ti.diameter(case.mdp, starts=2)
    pairs = itertools.combinations(case.corners, 2)
    largest = max((_square(a, b) for a, b in pairs), default=fmpq(0))
    yield "diameter: lower", exact(found.lower) ** 2, largest
    yield "diameter: upper", largest, exact(found.upper) ** 2


def _square(a: Vector, b: Vector) -> fmpq:
    return sum(((x - y) ** 2 for x, y in zip(a, b, strict=True)), fmpq(0))


def _distance(view: ti.Worldview, a: Vector, b: Vector) -> fmpq:
    """‖A(a − b)‖²"""
    step = [x - y for x, y in zip(a, b, strict=True)]
    return sum((dot(vector(row), step) ** 2 for row in view.matrix), fmpq(0))


def learners(case: Case) -> Iterator[Pair]:
    """No policy, the learner's own least of all, is nearer to the target than is said."""
    rng = np.random.default_rng([13, case.seed])
    seen = case.view.observe(case.mdp)
    if seen.n_features == 0 or seen.largest_feature == 0.0:
        return
    mu = ti.feature_expectations(seen, case.shown)
    out_of_reach = mu + rng.standard_normal(len(mu)) * np.abs(mu).max()
    makers = (
        ti.learners.Projection(max_steps=50),
        ti.learners.MinNormPoint(),
        ti.learners.MaxMargin(max_steps=50),
        ti.learners.LinearProgram(),
        ti.learners.MultiplicativeWeights(max_steps=50),
        ti.learners.MaxCausalEntropy(),
        ti.learners.LinearProgram(nonnegative=True),
    )
    everyone = [
        exact_lp.expectations(seen, policy) for policy in (case.shown, ti.Policy.uniform(seen))
    ]
    some = (makers[case.seed % 7], makers[(case.seed + 1) % 7])
    for learner, target in itertools.product(some, (mu, out_of_reach)):
        name = type(learner).__name__
        learned = learner.learn(seen, target)
        goal, nearest = vector(target), exact(learned.nearest)
        yield f"{name}: nearest", nearest, exact(learned.mismatch)
        for other in (exact_lp.expectations(seen, learned.policy), *everyone):
            yield f"{name}: nearest", nearest**2, _square(other, goal)
        if learned.status is LearnStatus.NEAREST:
            for corner in exact_lp.vertices(seen):
                yield f"{name}: nearest", nearest**2, _square(corner, goal)


def demonstrations(case: Case) -> Iterator[Pair]:
    """The best demonstration: what it guarantees, and what none does."""
    if len(case.corners) > 30:
        return
    rng = np.random.default_rng([14, case.seed])
    found = ti.best_demonstration(case.mdp, case.view, case.weights, starts=2, rng=rng)
    mu = exact_lp.expectations(case.mdp, found.policy)
    yield "best demonstration: guaranteed", exact(found.guaranteed), case.least(case.view, mu)
    most = max(case.least(case.view, corner) for corner in case.corners)
    yield "best demonstration: upper", most, exact(found.upper)


def subsets(case: Case) -> Iterator[Pair]:
    """No set of candidates has less risk than is said."""
    view, weights, rows = case.view, case.weights, case.candidates
    size = 2
    found = best_subset(view, weights, rows, size=size, max_nodes=3)
    greedy = ti.greedy_plan(view, weights, rows, size=size)
    gap = greedy_gap(view, weights, rows, greedy.chosen, size=size, max_nodes=0)
    sets = itertools.chain(*(itertools.combinations(range(len(rows)), n) for n in range(size + 1)))
    least = min(_squared_risk(case, view.extend(rows[list(some)])) for some in sets)
    yield "best subset: lower", exact(found.lower) ** 2, least
    yield "greedy gap: lower", exact(gap.lower) ** 2, least


def _squared_risk(case: Case, view: ti.Worldview) -> fmpq:
    rows, w = exact_lp.independent_rows(view), case.w
    if not rows:
        return fmpq(1)
    n = len(rows)
    gram = fmpq_mat(n, n, [dot(a, b) for a in rows for b in rows])
    along = fmpq_mat(n, 1, [dot(row, w) for row in rows])
    seen = gram.solve(along)
    return 1 - sum((seen[i, 0] * along[i, 0] for i in range(n)), fmpq(0)) / dot(w, w)


def lessons(case: Case) -> Iterator[Pair]:
    """Each round of a lesson: what is guaranteed to everyone who matches."""
    task = ti.Task(
        case.mdp, case.weights, case.view, teachable=case.candidates, demonstration=case.shown
    )
    rng = np.random.default_rng([15, case.seed])
    lesson = ti.teach(task, ti.teachers.GapGreedy(), ti.learners.MinNormPoint(), budget=2, rng=rng)
    view = case.view
    for each in lesson.rounds:
        if each.taught is not None:
            view = view.extend(case.candidates[each.taught])
        earned = case.relative(case.least(view, case.mu))
        yield "lesson: guaranteed", exact(each.guaranteed), earned


def decisions(case: Case) -> Iterator[Pair]:
    """What the commands say about a problem file; in every fourth case, as that takes longest."""
    if case.seed % 4:
        return
    with tempfile.TemporaryDirectory() as folder:
        problem = write_random(Path(folder), np.random.default_rng([7, case.seed]))
    names, taught = problem.task.names, list[int]()
    earned = cache(partial(least_performance, problem))
    yield "certify: guaranteed", exact(assess(problem).guaranteed), earned(())
    for step in plan(problem).steps[1:]:
        if step.alternative is not None:
            other = (*taught, names.index(step.alternative.name))
            yield "teach: second best", exact(step.alternative.guaranteed), earned(other)
        assert step.feature is not None
        taught.append(step.feature)
        yield "teach: guaranteed", exact(step.guaranteed), earned(tuple(taught))
    for point in frontier(problem).points:
        chosen = tuple(names.index(name) for name in point.features)
        yield "frontier: guaranteed", exact(point.guaranteed), earned(chosen)


PROMISES: tuple[Callable[[Case], Iterator[Pair]], ...] = (
    plans,
    extremes,
    mismatches,
    recordings,
    certificates,
    sizes,
    learners,
    demonstrations,
    subsets,
    lessons,
    decisions,
)


def check(seed: int) -> tuple[Counter[str], list[str]]:
    """How often each promise was compared in the case of a seed, and what was out of order."""
    case = draw(seed)
    tried: Counter[str] = Counter()
    broken: list[str] = []
    for promise in PROMISES:
        try:
            for what, smaller, larger in promise(case):
                tried[what] += 1
                if not smaller <= larger:
                    off = float(fmpq(smaller) - fmpq(larger))
                    broken.append(f"{what} (seed {seed}): by {off:.3g} of {float(larger):.6g}")
        except Exception as error:  # whatever goes wrong is told with its seed
            broken.append(f"{promise.__name__} (seed {seed}): {type(error).__name__}: {error}")
    return tried, broken


def main() -> int:
    """Run the campaign; the exit code is 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first case")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    tried: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    began = time.monotonic()
    seeds = range(options.first, options.first + options.cases)
    with multiprocessing.get_context("spawn").Pool(options.workers) as pool:
        for done, (counts, broken) in enumerate(pool.imap_unordered(check, seeds, 16), 1):
            tried += counts
            failed.update(line.split(" (seed")[0] for line in broken)
            for line in broken:
                print(line, file=sys.stderr)
            if done % 100 == 0 and sys.stderr.isatty():
                left = (time.monotonic() - began) * (options.cases - done) / done
                print(f"\r{done} of {options.cases}, {left:.0f} s left ", end="", file=sys.stderr)
    print("| promise | compared | broken |\n|---|---|---|")
    for what in sorted(tried | failed):
        print(f"| {what} | {tried[what]} | {failed[what]} |")
    print(f"\n{options.cases} cases, {tried.total()} comparisons, {failed.total()} broken")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
