"""A model that is estimated from a log: its sets, planning in them, and the worst case."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from scipy.stats import binom

import teachirl as ti
from teachirl.arrays import frozen
from teachirl.demonstrations.confidence_sets import row_sets
from teachirl.guarantees.doubt_costs import doubt_costs
from teachirl.mdp.kernels.robust import add_flow
from teachirl.mdp.robust_planning import chain_in, respond, unchosen, values_in


def in_doubt(mdp, radius=2.0, lower=0.0, upper=1.0, outcomes=None):
    """The MDP, its rows known up to this."""
    rows = sp.csr_array(mdp.dynamics.transitions.copy())
    data = np.array(rows.data)
    return ti.EstimatedMDP(
        mdp,
        sp.csr_array((data, np.array(rows.indices), np.array(rows.indptr)), shape=rows.shape),
        np.maximum(data - lower, 0.0) if lower else np.zeros(len(data)),
        np.minimum(data + upper, 1.0),
        np.full(mdp.n_pairs, radius),
        np.ones(mdp.n_pairs, dtype=int),
        0.95,
        outcomes,
    )


def two_states():
    """From the first state one stays with p = ½, and never comes back; known up to β = .2."""
    rows = np.array([[[0.5, 0.5]], [[0.0, 1.0]]])
    mdp = ti.MDP.from_arrays(rows, np.eye(2), discount=0.9, start=[1.0, 0.0])
    return in_doubt(mdp, 0.2)


def random_model(seed, *, outcomes=False, states=5, actions=2, branching=3):
    rng = np.random.default_rng(seed)
    mdp = ti.worlds.garnet(rng, states, actions, branching, 4, discount=0.8)
    model = in_doubt(mdp, rng.uniform(0.1, 0.6), rng.uniform(0.1, 0.3), rng.uniform(0.1, 0.3))
    if outcomes:
        phi = rng.normal(size=(model.successors.nnz, 4))
        mean = np.add.reduceat(
            model.successors.data[:, None] * phi, model.successors.indptr[:-1], axis=0
        )
        model = in_doubt(mdp.with_features(mean), 0.3, 0.2, 0.2, phi)
    return rng, model


def joint_program(model, view, w, target=None, policy=None):
    """min ⟨w, μ⟩ over occupancies x and flows y, y_sa in x_sa times its set, by HiGHS."""
    sets, dynamics = model.sets, model.nominal.dynamics
    p, n, s = model.n_pairs, len(sets.nominal), model.n_states
    owner = np.repeat(np.arange(p), np.diff(sets.indptr))
    of_entry = sp.csr_array((np.ones(n), (np.arange(n), owner)), shape=(n, p))
    size = p + 2 * n  # x, y and |y − p̂ x|
    eye, none = sp.eye_array(n), sp.csr_array((n, n))

    def scaled(values):
        return sp.csr_array(of_entry * values[:, None])

    below = sp.vstack(
        [
            sp.hstack([-scaled(sets.high), eye, none]),
            sp.hstack([scaled(sets.low), -eye, none]),
            sp.hstack([-scaled(sets.nominal), eye, -eye]),
            sp.hstack([scaled(sets.nominal), -eye, -eye]),
            sp.hstack([-sp.diags_array(2.0 * sets.budget), sp.csr_array((p, n)), of_entry.T]),
        ]
    )
    leave = sp.csr_array((np.ones(p), (dynamics.pair_states, np.arange(p))), shape=(s, p))
    enter = sp.csr_array((np.ones(n), (sets.indices, np.arange(n))), shape=(s, n))
    equal = sp.vstack(
        [
            sp.hstack([leave, -model.discount * enter, sp.csr_array((s, n))]),
            sp.hstack([sp.eye_array(p), -of_entry.T, sp.csr_array((p, n))]),
        ]
    )
    right = np.concatenate([model.start, np.zeros(p)])
    pairs, follows = model.rewards_of_pairs(np.eye(model.n_features))
    phi = np.vstack([pairs, follows if len(follows) else np.zeros((n, 4)), np.zeros((n, 4))])
    seen = view.matrix @ phi.T
    if policy is None:
        cost, a_ub, a_eq = phi @ w, below, sp.vstack([equal, seen])
        b_eq = np.concatenate([right, view.matrix @ target])
    else:
        shown = sp.hstack(
            [
                sp.eye_array(p)
                - sp.csr_array(
                    policy.probabilities[:, None] * leave.toarray()[dynamics.pair_states]
                ),
                sp.csr_array((p, 2 * n)),
            ]
        )
        cost = np.concatenate([phi @ w, np.zeros(size)])
        a_ub = sp.block_diag([below, below])
        rows = [sp.block_diag([equal, equal]), sp.hstack([sp.csr_array((p, size)), shown])]
        a_eq = sp.vstack([*rows, np.hstack([seen, -seen])])
        b_eq = np.concatenate([right, right, np.zeros(p + len(seen))])
    found = linprog(cost, a_ub, np.zeros(a_ub.shape[0]), a_eq, b_eq, method="highs")
    assert found.status == 0, found.message
    return found.fun


def test_known_answer_of_two_states():
    model, w, view = two_states(), np.array([1.0, 0.0]), ti.Worldview(np.eye(2)[:1])
    policy = ti.Policy.uniform(model.nominal)
    least, most = (respond(model, w, nature=sign) for sign in (-1, 1))
    assert least.lower <= 1.5625 <= least.upper
    assert most.lower <= 1.0 / (1.0 - 0.9 * 0.6) <= most.upper
    shown = ti.Demonstration(ti.feature_expectations(model.nominal, policy))
    recorded = ti.worst_case(model, view, w, shown)
    assert recorded.lower == pytest.approx(1.818182, abs=1e-6)
    by_policy = ti.worst_case(model, view, w, policy)
    assert by_policy.lower == pytest.approx(1.5625, abs=1e-6)
    found = ti.certify(model, view, w, policy)
    assert found.against_expert == pytest.approx(0.0, abs=1e-9)
    assert found.least_reward == pytest.approx(1.5625, abs=1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("outcomes", [False, True])
def test_equal_to_the_joint_linear_program(seed, outcomes):
    rng, model = random_model(seed, outcomes=outcomes)
    w, view = rng.normal(size=4), ti.Worldview(rng.normal(size=(1 + seed % 2, 4)))
    policy = ti.optimal_policy(model.nominal, rng.normal(size=4)).policy
    if seed % 3 == 0:
        policy = ti.Policy.uniform(model.nominal)
    target = ti.feature_expectations(model.nominal, policy)
    scale = np.linalg.norm(w) * model.largest_feature / (1.0 - model.discount)
    recorded = ti.worst_case(model, view, w, ti.Demonstration(target), tolerance=1e-8)
    exact = joint_program(model, view, w, target)
    assert recorded.lower <= exact + 1e-9 * scale
    assert recorded.lower == pytest.approx(exact, abs=1e-7 * scale)
    assert recorded.upper == pytest.approx(exact, abs=1e-7 * scale)
    shown = ti.worst_case(model, view, w, policy, tolerance=1e-8)
    exact = joint_program(model, view, w, policy=policy)
    assert shown.lower <= exact + 1e-9 * scale
    assert shown.lower == pytest.approx(exact, abs=1e-7 * scale)
    assert shown.lower <= recorded.lower + 1e-7 * scale


def test_the_witness_matches_in_a_world_of_the_sets():
    rng, model = random_model(3)
    w, view = rng.normal(size=4), ti.Worldview(rng.normal(size=(2, 4)))
    target = ti.feature_expectations(model.nominal, ti.Policy.uniform(model.nominal))
    found = ti.worst_case(model, view, w, ti.Demonstration(target))
    mu = ti.feature_expectations(found.world, found.witness)
    assert view.matrix @ mu == pytest.approx(view.matrix @ target, abs=1e-6)
    assert w @ mu == pytest.approx(found.upper, abs=1e-6)
    rows = found.world.dynamics.transitions.toarray()
    owner = np.repeat(np.arange(model.n_pairs), np.diff(model.sets.indptr))
    p = rows[owner, model.sets.indices]
    assert (p >= model.lower - 1e-9).all() and (p <= model.upper + 1e-9).all()
    moved = np.bincount(owner, np.abs(p - model.sets.nominal))
    assert (moved <= model.radius + 1e-9).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda: ti.worlds.gridworld(4, 2, slip=0.2),
        lambda: ti.worlds.chain(5),
        lambda: ti.worlds.garnet(np.random.default_rng(1), 8, 3, 3, 4, per_pair=True),
    ],
    ids=["grid", "chain", "pairs"],
)
def test_without_doubt_all_is_as_in_the_mdp(make):
    mdp = make()
    model, rng = in_doubt(mdp, 0.0), np.random.default_rng(0)
    w, k = rng.normal(size=mdp.n_features), mdp.n_features
    view, policy = ti.Worldview(rng.normal(size=(2, k))), ti.optimal_policy(mdp, w).policy
    scale = np.linalg.norm(w) * mdp.largest_feature / (1.0 - mdp.discount)
    for outlook in ("pessimistic", "optimistic", "nominal"):
        plan = ti.optimal_policy(model, w, outlook=outlook)
        assert plan.status is ti.PlanStatus.OPTIMAL
        assert plan.value == pytest.approx(ti.optimal_policy(mdp, w).value, abs=1e-9 * scale)
    assert ti.worst_policy(model, w).value == pytest.approx(
        ti.worst_policy(mdp, w).value, abs=1e-9 * scale
    )
    for shown in (policy, ti.Demonstration(ti.feature_expectations(mdp, policy))):
        for mismatch in (0.0, 0.3):
            known = ti.worst_case(mdp, view, w, shown, mismatch)
            found = ti.worst_case(model, view, w, shown, mismatch)
            assert found.lower == pytest.approx(known.lower, abs=3e-6 * scale)
            assert found.upper == pytest.approx(known.upper, abs=3e-6 * scale)
    known, found = (ti.certify(each, view, w, policy) for each in (mdp, model))
    assert found.guaranteed == pytest.approx(known.guaranteed, abs=1e-5)


def vertices(low, high, nominal, radius):
    """The extreme points of {l ≤ p ≤ u, Σp = 1, ‖p − p̂‖₁ ≤ β}: where enough of its constraints
    are tight, in rational arithmetic."""
    m = len(low)
    rows = [([Fraction(i == j) for j in range(m)], low[i]) for i in range(m)]
    rows += [([Fraction(i == j) for j in range(m)], high[i]) for i in range(m)]
    rows += [([Fraction(i == j) for j in range(m)], nominal[i]) for i in range(m)]
    for signs in itertools.product((1, -1), repeat=m):
        rows.append(
            (
                [Fraction(s) for s in signs],
                radius + sum(s * q for s, q in zip(signs, nominal, strict=True)),
            )
        )
    found = set()
    for chosen in itertools.combinations(rows, m - 1):
        point = solved(
            [[Fraction(1)] * m, *(row for row, _ in chosen)],
            [Fraction(1), *(value for _, value in chosen)],
        )
        if point is None:
            continue
        inside = all(a <= p <= b for a, p, b in zip(low, point, high, strict=True))
        if inside and sum(abs(p - q) for p, q in zip(point, nominal, strict=True)) <= radius:
            found.add(tuple(point))
    return sorted(found)


def solved(matrix, right):
    """The solution of a square system in rational arithmetic; None if there is not one."""
    m = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    n = len(m)
    for i in range(n):
        pivot = next((j for j in range(i, n) if m[j][i]), None)
        if pivot is None:
            return None
        m[i], m[pivot] = m[pivot], m[i]
        m[i] = [each / m[i][i] for each in m[i]]
        for j in range(n):
            if j != i and m[j][i]:
                m[j] = [a - m[j][i] * b for a, b in zip(m[j], m[i], strict=True)]
    return [row[-1] for row in m]


def test_robust_values_are_those_of_rational_arithmetic():
    """All policies and all extreme rows of a tiny world, one by one, without any rounding."""
    eighths = [Fraction(i, 8) for i in range(9)]
    nominal = [
        [eighths[4], eighths[3], eighths[1]],
        [eighths[2], eighths[2], eighths[4]],
        [eighths[1], eighths[6], eighths[1]],
        [eighths[2], eighths[4], eighths[2]],
    ]
    low = [[max(p - eighths[1], Fraction(0)) for p in row] for row in nominal]
    high = [[min(p + eighths[2], Fraction(1)) for p in row] for row in nominal]
    radius, gamma = Fraction(3, 8), Fraction(7, 8)
    rewards = [Fraction(1), Fraction(-2), Fraction(3)]
    mdp = ti.MDP.from_pairs(
        [0, 0, 1, 2],
        [0, 1, 0, 0],
        [[float(p) for p in row] for row in nominal],
        np.eye(3),
        discount=float(gamma),
        start=[1.0, 0.0, 0.0],
    )
    model = ti.EstimatedMDP(
        mdp,
        sp.csr_array(mdp.dynamics.transitions),
        np.array(low, float).ravel(),
        np.array(high, float).ravel(),
        np.full(4, float(radius)),
        np.ones(4, dtype=int),
    )
    corners = [vertices(*each, radius) for each in zip(low, high, nominal, strict=True)]
    values = {}
    for action in (0, 1):
        for rows in itertools.product(corners[action], corners[2], corners[3]):
            system = [
                [Fraction(i == j) - gamma * row[j] for j in range(3)] for i, row in enumerate(rows)
            ]
            values[(action, *rows)] = solved(system, rewards)[0]
    each = [[v for key, v in values.items() if key[0] == action] for action in (0, 1)]
    w = np.array([float(r) for r in rewards])
    for sign, combine in ((1, max), (-1, min)):
        exact = max(combine(part) for part in each)
        found = respond(model, w, nature=sign)
        assert Fraction(found.lower) <= exact <= Fraction(found.upper)
        for action in (0, 1):
            fixed = ti.Policy.deterministic(mdp, [action, 0, 0])
            found = respond(model, w, nature=sign, policy=fixed)
            assert Fraction(found.lower) <= combine(each[action]) <= Fraction(found.upper)
            assert found.upper - found.lower < 1e-8


def most_of_a_row(z, low, high, nominal, budget):
    """max Σ p·z over the set of a row: from those with the least z to those with the most."""
    takers, givers = np.argsort(-z).tolist(), np.argsort(z).tolist()
    z, low, high, p = (part.tolist() for part in (z, low, high, nominal))
    for taker in takers:
        for giver in givers:
            if z[giver] < z[taker]:
                move = min(budget, p[giver] - low[giver], high[taker] - p[taker])
                p[giver], p[taker], budget = p[giver] - move, p[taker] + move, budget - move
    return sum(chance * each for chance, each in zip(p, z, strict=True))


@pytest.mark.parametrize("sign", [1, -1])
def test_what_planning_passes_over_would_not_have_been_the_best(sign):
    """As by plain value iteration over all pairs, wherever planning starts from."""
    rng, model = random_model(8, states=20, actions=6, branching=4)
    sets, dynamics, w = model.sets, model.nominal.dynamics, rng.normal(size=4)
    rewards = model.rewards_of_pairs(w[None])[0][:, 0]
    rows = [slice(a, b) for a, b in itertools.pairwise(sets.indptr)]
    exact = np.zeros(model.n_states)
    for _ in range(120):
        worth = [
            sign
            * most_of_a_row(
                sign * model.discount * exact[sets.indices[row]],
                *(part[row] for part in (sets.low, sets.high, sets.nominal)),
                budget,
            )
            for row, budget in zip(rows, 0.5 * model.radius, strict=True)
        ]
        exact = np.maximum.reduceat(rewards + worth, dynamics.offsets[:-1])
    span = float(np.ptp(rewards)) / (1.0 - model.discount)
    room = 2.0 * model.discount**120 * span
    noise = rng.normal(size=model.n_states)
    nominal = ti.optimal_policy(model.nominal, w).values
    for guess in (None, nominal, exact, exact + 5.0, exact - 5.0, exact + noise, 1e6 * noise):
        found = respond(model, w, nature=sign, guess=guess)
        value = float(model.start @ exact)
        assert found.lower - room <= value <= found.upper + room
        assert found.upper - found.lower <= 1e-9 * span
        assert found.values == pytest.approx(exact, abs=1e-8 * span + room)


@pytest.mark.parametrize("outcomes", [False, True])
@pytest.mark.parametrize("free", [False, True])
def test_rows_that_stand_are_those_that_would_be_chosen_anew(outcomes, free):
    """One response after the other, for and against, also where entries are worth the same."""
    rng, model = random_model(3, outcomes=outcomes, states=20, actions=6, branching=4)
    chosen, sets = unchosen(model), model.sets
    policy = None if free else ti.Policy.uniform(model.nominal)
    w = rng.normal(size=4)
    for step in range(30):
        sign = 1 if step % 3 else -1
        q = np.zeros(4) if step % 7 == 0 else np.round(w, 1) if step % 5 == 0 else w
        kept = respond(model, q, nature=sign, policy=policy, chosen=chosen)
        anew = respond(model, q, nature=sign, policy=policy)
        scale = 1e-9 * (1.0 + float(np.abs(q).sum()) * 20.0)
        assert kept.close and anew.close
        assert kept.lower == pytest.approx(anew.lower, abs=scale)
        assert kept.upper == pytest.approx(anew.upper, abs=scale)
        assert kept.values == pytest.approx(anew.values, abs=scale)
        taken = (kept.chances > 0.0)[model.owners]
        rows = kept.rows
        assert (rows >= sets.low - 1e-15)[taken].all() and (rows <= sets.high + 1e-15)[taken].all()
        of_pairs = kept.chances > 0.0
        sums = np.add.reduceat(rows, sets.indptr[:-1])
        moved = np.add.reduceat(np.abs(rows - sets.nominal), sets.indptr[:-1])
        assert sums[of_pairs] == pytest.approx(1.0, abs=1e-14)
        assert (moved <= model.radius + 1e-14)[of_pairs].all()
        if sign > 0:  # then nobody has an answer to the world that was chosen
            rewards = model.rewards_of_pairs(q[None])
            there = values_in(model, kept.chances, rows, rewards).x[:, 0]
            assert float(model.start @ there) == pytest.approx(kept.lower, abs=scale)
        w = w + 0.2 * rng.normal(size=4)


def test_no_more_moves_than_there_is_or_has_room():
    """The mass that a row may move by its radius, or by its bounds, whichever is less."""
    _, model = random_model(8, states=20, actions=6, branching=4)
    sets = model.sets
    assert (sets.budget <= 0.5 * model.radius * (1.0 + 1e-12)).all()
    for bounds in (sets.nominal - sets.low, sets.high - sets.nominal):
        most = np.add.reduceat(bounds, sets.indptr[:-1])
        assert (sets.budget <= most + 1e-10).all()
        least = np.minimum(most, 0.5 * model.radius)
        other = np.add.reduceat(sets.nominal - sets.low, sets.indptr[:-1])
        other = np.minimum(other, np.add.reduceat(sets.high - sets.nominal, sets.indptr[:-1]))
        assert (sets.budget >= np.minimum(least, other)).all()


@pytest.mark.parametrize("outcomes", [False, True])
def test_values_in_a_world_are_those_of_its_mdp(outcomes):
    rng, model = random_model(4, outcomes=outcomes)
    w = rng.normal(size=4)
    found = respond(model, w, nature=1, policy=ti.Policy.uniform(model.nominal))
    world = model.world(found.rows)
    assert world.dynamics.actions is model.nominal.dynamics.actions
    chances, directions = rng.uniform(size=model.n_pairs), rng.normal(size=(3, 4))
    offsets = model.nominal.dynamics.offsets
    chances /= np.add.reduceat(chances, offsets[:-1])[model.nominal.dynamics.pair_states]
    values = values_in(model, chances, found.rows, model.rewards_of_pairs(directions)).x
    mu = ti.feature_expectations(world, ti.Policy.of_chances(world.dynamics, chances))
    assert model.start @ values == pytest.approx(directions @ mu, abs=1e-9)
    assert world.dynamics.transitions.toarray() == pytest.approx(
        sp.csr_array(
            (found.rows, model.successors.indices, model.successors.indptr),
            shape=model.successors.shape,
        ).toarray(),
        abs=1e-15,
    )


@pytest.mark.parametrize("mixed", [False, True])
def test_chains_and_flows_in_a_world_are_those_of_dense_sums(mixed):
    rng, model = random_model(5)
    found = respond(model, rng.normal(size=4), nature=1)
    rows, dynamics = np.array(found.rows), model.nominal.dynamics
    rows[::3] = 0.0  # what the log allows need not happen at all
    chances = np.array(found.chances)
    if mixed:
        chances = rng.uniform(size=model.n_pairs)
        chances /= np.add.reduceat(chances, dynamics.offsets[:-1])[dynamics.pair_states]
    indptr, indices, data = chain_in(model, chances, rows).rows[:3]
    assert (data != 0.0).all()
    n, known = model.n_states, model.successors
    dense = sp.csr_array((rows, known.indices, known.indptr), shape=known.shape).toarray()
    dense = np.add.reduceat(chances[:, None] * dense, dynamics.offsets[:-1])
    chain = sp.csr_array((data, indices, indptr), shape=(n, n)).toarray()
    assert chain == pytest.approx(dense, abs=1e-15)
    visits = rng.normal(size=n)
    x, flow = np.ones(model.n_pairs), np.ones(len(rows))
    given = (frozen(part.view()) for part in (chances, rows))
    add_flow(model.sets, dynamics.offsets, *given, visits, x, flow)
    often = np.maximum(visits, 0.0)[dynamics.pair_states] * chances
    assert x == pytest.approx(1.0 + often)
    assert flow == pytest.approx(1.0 + often[model.owners] * rows)


@pytest.mark.parametrize("discount", [0.5, 0.99, 0.999])
def test_planning_closes_its_bounds_whatever_the_discount(discount):
    rng = np.random.default_rng(2)
    mdp = ti.worlds.garnet(rng, 30, 3, 4, 5, discount=discount)
    model, w = in_doubt(mdp, 0.4, 0.3, 0.3), rng.normal(size=5)
    for sign in (1, -1):
        for policy in (None, ti.Policy.uniform(mdp)):
            found = respond(model, w, nature=sign, policy=policy)
            span = np.ptp(mdp.rewards(w)) / (1.0 - discount)
            assert found.upper - found.lower <= 1e-9 * span
            # In the world that was found, the policy that was found earns that.
            chain = chain_in(model, found.chances, found.rows)
            rewards = mdp.rewards(w)[:, None]
            value = float(mdp.start @ chain.values(rewards).x[:, 0])
            assert found.lower - 1e-9 * span <= value <= found.upper + 1e-9 * span


def test_planning_does_not_change_a_policy_for_next_to_nothing():
    """Twice the same: stay for .8 a step, or go where there is 1, which is worth 9 instead of 8. To
    stay once more costs .1 only: who does so as that is little, and leaves as 1 is much, and has
    the other do it by turns, never ends."""
    rows = np.zeros((3, 2, 3))
    rows[[0, 1], 0, [0, 1]] = rows[[0, 1], 1, 2] = rows[2, :, 2] = 1.0
    phi = np.array([[[0.8], [0.0]], [[0.8], [0.0]], [[1.0], [1.0]]])
    model = in_doubt(ti.MDP.from_arrays(rows, phi, discount=0.9, first="state"))
    guess = np.array([8.0, 9.0, 10.0])
    found = respond(model, np.ones(1), nature=1, within=10.0, guess=guess)
    assert found.close and found.rounds <= 3
    assert found.lower <= (9.0 + 9.0 + 10.0) / 3.0 <= found.upper


@pytest.mark.parametrize("slip", [0.0, 0.3])
def test_bounds_close_where_news_travels_a_state_a_round(slip):
    """For many rounds policy iteration only gets the news of a reward to the next state."""
    n = 40
    rows = np.zeros((n, 2, n))
    for s, (action, step) in itertools.product(range(n), enumerate((-1, 1))):
        rows[s, action, np.clip(s + step, 0, n - 1)] += 1.0 - slip
        rows[s, action, s] += slip
    mdp = ti.MDP.from_arrays(rows, np.eye(n), discount=0.95)
    w = np.eye(n)[-1] + 0.2 * np.eye(n)[0]
    sure = ti.optimal_policy(mdp, w)
    for sign in (-1, 1):
        found = respond(in_doubt(mdp, 0.0), w, nature=sign)
        assert found.close
        assert found.lower <= sure.upper
        assert found.upper >= sure.lower
        assert found.upper - found.lower <= 1e-8
    least, most = (respond(in_doubt(mdp, 0.1), w, nature=sign) for sign in (-1, 1))
    assert least.close
    assert most.close
    if slip:
        assert least.upper < sure.lower
        assert sure.upper < most.lower
    view = ti.Worldview(np.random.default_rng(0).normal(size=(3, n)))
    bounds = ti.worst_case(in_doubt(mdp, 0.1), view, w, sure.policy)
    assert bounds.status is ti.WorstCaseStatus.OPTIMAL


def test_intervals_and_balls_hold_by_their_tails():
    counts = np.array([3, 7, 0, 5, 5, 90, 10])
    sets = row_sets(counts, np.array([0, 2, 5, 7]), 0.03, fixed_tries=True)
    # Row 1 has three successors: six tails, each with 0.01 · ½ / 6.
    tail = 0.01 * 0.5 / 6
    assert sets.lower[2] == 0.0 and sets.radius[0] > sets.radius[2]
    assert binom.cdf(0, 10, sets.upper[2]) == pytest.approx(tail, rel=1e-6)
    assert binom.sf(4, 10, sets.lower[3]) == pytest.approx(tail, rel=1e-6)
    # Two successors have two tails, and complement each other.
    assert sets.lower[0] == pytest.approx(1.0 - sets.upper[1], abs=1e-8)
    assert binom.sf(2, 10, sets.lower[0]) == pytest.approx(0.01 * 0.5 / 2, rel=1e-6)
    ball = math.sqrt(2.0 / 10 * math.log((2**3 - 2) / 0.005))
    assert sets.radius[1] == pytest.approx(min(ball, 2.0), rel=1e-6)
    random = row_sets(counts, np.array([0, 2, 5, 7]), 0.03, fixed_tries=False)
    tail /= 10 * 11
    assert binom.cdf(0, 10, random.upper[2]) == pytest.approx(tail, rel=1e-6)
    assert (random.radius >= sets.radius).all()


def test_what_was_never_tried_may_do_anything_that_is_allowed():
    counts = np.zeros((3, 2, 3), dtype=int)
    counts[0, 0], counts[1, 0, 2], counts[2, 0, 2] = [0, 6, 4], 5, 5
    allowed = np.ones((3, 2, 3), dtype=bool)
    allowed[2] = [[False, False, True], [False, False, False]]
    model = ti.estimate_mdp(counts, np.eye(3), discount=0.9, successors=allowed)
    assert [model.pair_name(i) for i in model.untried] == ["0, 1", "1, 1"]
    assert "2 of them never tried" in repr(model)
    first = model.successors.indptr[model.untried[0]]
    assert (model.lower[first : first + 3] == 0).all() and (
        model.upper[first : first + 3] == 1
    ).all()
    best = respond(model, np.array([1.0, 0.0, 0.0]), nature=1)
    assert best.upper == pytest.approx(1.0 / 3 / 0.1 * 2 - 1.0 / 3, rel=0.2)
    # A state with one successor is known.
    assert model.radius[-1] == 0.0 and model.lower[-1] == 1.0


def test_a_log_of_trajectories_says_what_followed():
    mdp = ti.worlds.chain(5)
    seen = ti.Trajectories.from_arrays(mdp, [[0, 1, 2], [3, 4]], [[1, 1, 0], [1, 0]], [False] * 2)
    log = ti.TransitionLog.from_trajectories(mdp, seen)
    assert log.steps.tolist() == [[0, 1, 1], [1, 1, 2], [3, 1, 4]]
    assert log.unfinished == 2 and log.state_names == mdp.dynamics.state_names


@pytest.mark.parametrize("seed", [0, 5])
def test_doubt_costs_are_the_slopes_of_the_worst_case(seed):
    rng, model = random_model(seed)
    w, view = rng.normal(size=4), ti.Worldview(rng.normal(size=(2, 4)))
    shown = ti.Demonstration.of_policy(model.nominal, ti.Policy.uniform(model.nominal))
    shown = ti.Demonstration(shown.expectations)
    found = ti.worst_case(model, view, w, shown, tolerance=1e-10)
    costs, less = doubt_costs(model, view, w, found), 1e-3
    owners = np.repeat(np.arange(model.n_pairs), np.diff(model.sets.indptr))
    for pair in range(0, model.n_pairs, 3):
        nearer = np.where(owners == pair, less, 0.0) * (model.sets.nominal - model.lower)
        below = np.where(owners == pair, less, 0.0) * (model.sets.nominal - model.upper)
        radius = model.radius * np.where(np.arange(model.n_pairs) == pair, 1.0 - less, 1.0)
        known = replace(model, lower=model.lower + nearer, upper=model.upper + below, radius=radius)
        rise = ti.worst_case(known, view, w, shown, tolerance=1e-10).lower - found.lower
        assert rise / less == pytest.approx(costs[pair], abs=1e-3)


def test_who_misses_more_is_guaranteed_less_in_every_world():
    rng, model = random_model(1)
    w, view = rng.normal(size=4), ti.Worldview(rng.normal(size=(2, 4)))
    policy = ti.optimal_policy(model.nominal, w).policy
    exact = ti.certify(model, view, w, policy)
    found = ti.sensitivity(model, view, w, policy, [0.001, 0.1])
    assert exact.guaranteed + 1e-4 >= found.guaranteed[0] >= found.guaranteed[1]
    at = ti.certify(model, found.view, w, policy, 0.1)
    assert found.rewards[1] == pytest.approx(at.least_reward, abs=1e-3)
    known = ti.sensitivity(model.nominal, view, w, policy, [0.001, 0.1])
    assert (found.rewards < known.rewards).all()


def test_steps_that_end_an_episode_count_or_are_refused():
    """Were they left out, falling into either of two holes would never be seen."""
    rows = np.zeros((4, 2, 4))
    rows[0, 0, [0, 1]] = rows[0, 1, [1, 2]] = 0.5
    rows[1, :, 3] = rows[2, :, 2] = rows[3, :, 3] = 1.0
    features = np.array([[1.0], [1.0], [0.0], [0.0]])
    mdp = ti.MDP.from_arrays(rows, features, discount=0.9, start=[1.0, 0.0, 0.0, 0.0])
    seen = ti.Trajectories.from_arrays(mdp, [[0, 1], [0]], [[0, 0], [1]], [True] * 2)
    log = ti.TransitionLog.from_trajectories(mdp, seen)
    assert log.steps.tolist() == [[0, 0, 1], [0, 1, 2], [1, 0, 3]] and log.unfinished == 0
    rows[0, 1, [1, 3]] = 0.0, 0.5
    mdp = ti.MDP.from_arrays(rows, features, discount=0.9, start=[1.0, 0.0, 0.0, 0.0])
    with pytest.raises(ti.InvalidInputError, match="action 1, which may lead to 2 terminal states"):
        ti.TransitionLog.from_trajectories(mdp, seen)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"successors": np.zeros((2, 1, 2), bool)}, "every state needs an action"),
        (
            {"successors": np.eye(2, dtype=bool)[:, None]},
            "state 0, action 0 led to state 1, 4 times",
        ),
        ({"successors": np.ones((2, 2))}, "successors must be an MDP"),
        ({"confidence": 1.0}, "confidence must lie strictly between 0 and 1"),
        ({"features": np.ones((5, 2))}, "features must have a row for each of 2 states"),
    ],
)
def test_mistakes_are_named(change, message):
    given = {"log": np.array([[[6, 4]], [[0, 9]]]), "features": np.eye(2), "discount": 0.9}
    with pytest.raises(ti.InvalidInputError, match=message):
        ti.estimate_mdp(**(given | change))


def test_what_needs_a_known_world_says_so():
    model = two_states()
    with pytest.raises(ti.InvalidInputError, match=r"its \.nominal takes the estimate"):
        ti.diameter(model)
    with pytest.raises(ti.InvalidInputError, match="needs an MDP that is known"):
        ti.worst_case(
            model, ti.Worldview(np.eye(2)), [1, 0], ti.Policy.uniform(model.nominal), method="cone"
        )
