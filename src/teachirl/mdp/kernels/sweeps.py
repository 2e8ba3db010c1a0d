"""Planning by sweeps, with policy evaluation where sweeping is slow."""

from __future__ import annotations

import numpy as np
from numba.extending import overload

from .aims import PAUSED, extremes
from .by_steps import CUT_SHORT, ENDED, MIXING, PREVIOUS, ROUND, SLOW, UNMIXED, mix_if_sparse
from .compiling import compiled, lent, part
from .layouts import (
    Table,
    bellman,
    drift,
    is_a,
    is_deterministic,
    is_table,
    pair_reward,
)
from .linear import CHAINS, LEFT, STEPS, Following, bicgstab, copy, stretch

PAIRS_OF_SWEEPS = 3  # forward and backward, between two looks at the residual
LANES = 32  # rewards swept together: enough vector operations to hide the latency of each
MOST_STEPS = np.int64(200)  # of BiCGSTAB in a round
# Where `solve` is, behind where `bicgstab` and `mix` are.
OFF, BUSY, BEGUN, STALLED, FAILURES, PHASE, LEAST, BEFORE_JUMP, PLACES = range(8, 17)


@part
def sweep(layout, reward, v, discount):
    """Gauss–Seidel backups in place, once forward and once backward.

    The states are cut into CHAINS stretches that advance in turn: each update waits for its
    neighbour's, and waiting for eight at a time takes as long as waiting for one.
    """
    n, chains, one, zero = np.uint64(v.size), np.uint64(CHAINS), np.uint64(1), np.uint64(0)
    length = stretch(n)
    for i in range(zero, length):
        for chain in range(zero, chains):
            s = chain * length + i
            v[s] = bellman(layout, reward, v, s, discount)[0]
    for s in range(chains * length, n):
        v[s] = bellman(layout, reward, v, s, discount)[0]
    for i in range(zero, n - chains * length):
        s = n - one - i
        v[s] = bellman(layout, reward, v, s, discount)[0]
    for j in range(zero, length):
        i = length - one - j
        for chain in range(zero, chains):
            s = chain * length + i
            v[s] = bellman(layout, reward, v, s, discount)[0]


@part
def settled(layout, reward, v, discount, enough):
    """Whether no backup changes v by more than `enough`."""
    for s in range(np.uint64(0), np.uint64(v.size)):
        if not abs(bellman(layout, reward, v, s, discount)[0] - v[s]) <= enough:
            return False
    return True


@lent
def residual(layout, reward, v, backed_up, choice, discount):
    """backed_up ← Tv and choice ← who attains it; the least and the largest of Tv − v."""
    low, high = np.inf, -np.inf
    for s in range(np.uint64(0), np.uint64(v.size)):
        best, a = bellman(layout, reward, v, s, discount)
        backed_up[s] = best
        choice[s] = a
        change = best - v[s]
        low = change if change < low else low
        high = change if change > high else high
    return low, high


@lent
def break_ties(layout, reward, v, backed_up, choice, discount, tie):
    """choice ← the first action within `tie` of the best, backed_up ← T_π v; least of T_π v − v."""
    low = np.inf
    for s in range(np.uint64(0), np.uint64(v.size)):
        threshold = backed_up[s] - tie
        for a in range(choice[s] + 1):
            value = pair_reward(layout, reward, s, a) + discount * drift(layout, v, s, a)
            if value >= threshold:
                break
        choice[s] = a
        backed_up[s] = value
        low = min(low, value - v[s])
    return low


@part
def walk(layout, reward, v, choice, discount, path, state):
    """v ← the value of the deterministic policy `choice` in deterministic dynamics, in O(S).

    Every state has one successor: follow it until a known state or a cycle, close the cycle by its
    geometric series, and walk back. path and state are workspaces [S].
    """
    state[:] = 0
    for root in range(np.uint64(0), np.uint64(v.size)):
        if state[root] != 0:
            continue
        depth = 0
        s = np.uint64(root)
        while state[s] == 0:
            state[s] = 1
            path[depth] = s
            depth += 1
            s = np.uint64(layout.successors[s, choice[s]])
        if state[s] == 1:
            # s closes a cycle: it consists of s and what was entered after it.
            length = 1
            while path[depth - length] != s:
                length += 1
            total = 0.0
            for i in range(length):
                t = np.uint64(path[depth - 1 - i])
                total = pair_reward(layout, reward, t, choice[t]) + discount * total
            v[s] = total / -np.expm1(length * np.log(discount))
            state[s] = 2
        value = v[s]
        for i in range(depth):
            t = np.uint64(path[depth - 1 - i])
            if state[t] == 1:
                value = pair_reward(layout, reward, t, choice[t]) + discount * value
                v[t] = value
                state[t] = 2
            else:
                value = v[t]


@part
def extrapolate(v, older, step, largest_rate):
    """v ← where each state's geometric series leads, given v − older and the difference before it.

    Aitken's Δ², state by state: regions that settle at different rates are each taken to their end.
    """
    for s in range(v.size):
        now = v[s] - older[s]
        rate = now / step[s] if step[s] != 0.0 else 0.0
        rate = min(max(rate, 0.0), largest_rate)
        v[s] += now * rate / (1.0 - rate)


@part
def remember(v, older, step):
    """older ← v, and step ← how far that is."""
    for s in range(v.size):
        step[s] = v[s] - older[s]
        older[s] = v[s]


@part
def evaluate(layout, v, backed_up, choice, discount, target, work, state, steps):
    """v ← the values of the greedy policy, from the residual of v; Tv, if that does not help.

    It takes so many steps a call, and gives back whether it is done.
    """
    if state[BUSY] == 0.0:
        state[BUSY], state[STEPS], state[OFF] = 1.0, 0.0, 0.0
        for s in range(v.size):
            work[6, s] = backed_up[s] - v[s]
            state[OFF] += abs(work[6, s])
    goal = max(0.01 * state[OFF], 0.1 * target * (1.0 - discount) * v.size)
    following = Following(layout, choice, discount)
    if not bicgstab(following, v, work[6], goal, MOST_STEPS, work, state, steps):
        return False
    state[BUSY] = 0.0
    if not state[LEFT] < state[OFF]:
        copy(backed_up, v)
    return True


@part
def accelerate(v, backed_up, spread, largest_rate, state, memory):
    """v ← Tv, and every third time where that leads.

    What has failed, as it does while actions still change, is undone, and tried again after a
    while, twice as long as the one before.
    """
    older, step, saved = memory[1], memory[2], memory[3]
    if state[PHASE] == 3.0 and spread > 0.9 * state[BEFORE_JUMP]:
        copy(saved, v)
        state[FAILURES] += 1.0
        state[PHASE] = -3.0 * 2.0 ** min(state[FAILURES] - 1.0, 20.0)
    else:
        copy(backed_up, v)
    if state[PHASE] < 0.0:
        state[PHASE] += 1.0
    if state[PHASE] >= 0.0:
        state[PHASE] %= 3.0
        if state[PHASE] == 2.0:
            state[BEFORE_JUMP] = spread
            copy(v, saved)
            extrapolate(v, older, step, largest_rate)
        remember(v, older, step)
        state[PHASE] += 1.0


@part
def solve(layout, reward, v, choice, discount, target, rounds, state, memory, work, passes):
    """Sweep v until MacQueen's bounds on the optimal values are at most `target` apart.

    In deterministic dynamics each round also evaluates the greedy policy, by a walk, which costs no
    more than a sweep. In others that is done where sweeping is slow (the discount is close to 1,
    and values have to settle), by BiCGSTAB, and kept only if it lowers the residual. Rounding can
    make actions tie that are not, and undo what a sweep has gained: rounds that stop making
    progress leave out the sweeps in turn, and then end it.

    A world that has rows is first taken for one that mixes fast (`by_steps`).

    After so many passes over the world it pauses, to be called again: state and memory [4, S], of
    which the first row is Tv, keep where it is, and so does work [7, S].
    Gives back the least and the largest of Tv − v, and whether it came to an end by itself, at the
    target or at what rounding allows, or after so many rounds, or pauses.
    """
    steps, patience = 2 * PAIRS_OF_SWEEPS + 1, 5
    slow_rate, backed_up = 0.985**steps, memory[0]
    walked = v.size if is_deterministic(layout) else 0
    path, marks = np.empty(walked, np.uint32), np.empty(walked, np.uint8)
    low, high, left = 0.0, 0.0, passes
    enough = 0.25 * target * (1.0 - discount) / discount
    if state[BEGUN] == 0.0:
        state[BEGUN], state[MIXING] = 1.0, 0.0 if is_table(layout) else 1.0
        state[PREVIOUS], state[LEAST], state[BEFORE_JUMP] = np.inf, np.inf, np.inf
    if state[MIXING] == 1.0:
        low, high, left, ended = mix_if_sparse(
            layout, reward, v, backed_up, choice, discount, target, rounds, state, passes
        )
        if ended != UNMIXED:
            return low, high, ended
    while True:
        if state[BUSY] == 0.0:
            if left <= 0:
                return low, high, PAUSED
            low, high = residual(layout, reward, v, backed_up, choice, discount)
            left -= steps
            spread = high - low
            if spread * discount / (1.0 - discount) <= target:
                return low, high, ENDED
            if state[ROUND] >= rounds:
                return low, high, CUT_SHORT
            if state[SLOW] < patience:
                slower = spread > slow_rate * state[PREVIOUS]
                state[SLOW] = state[SLOW] + 1.0 if slower else 0.0
            stuck = state[SLOW] >= patience or is_deterministic(layout)
            if spread < 0.999 * state[LEAST]:
                state[LEAST], state[STALLED] = spread, 0.0
            elif stuck:
                state[STALLED] += 1.0
                if state[STALLED] == 200.0:  # without progress for so long, rounding is to blame
                    return low, high, ENDED
            state[PREVIOUS] = spread
            if is_deterministic(layout):
                walk_if_table(layout, reward, v, choice, discount, path, marks)
            elif not stuck:
                accelerate(v, backed_up, spread, discount**steps, state, memory)
        if state[SLOW] >= patience and not is_deterministic(layout):
            # A step has six passes, each over one action of every state.
            allowed = max(left // 6, 1)
            begun = state[STEPS] if state[BUSY] == 1.0 else 0.0
            if not evaluate(layout, v, backed_up, choice, discount, target, work, state, allowed):
                return low, high, PAUSED
            left -= np.int64(6 * (state[STEPS] - begun))
        # Where a walk has found the optimum, there is nothing left to sweep.
        done = is_deterministic(layout) and settled(layout, reward, v, discount, enough)
        if state[STALLED] % 2.0 == 0.0 and not done:
            for _ in range(PAIRS_OF_SWEEPS):
                sweep(layout, reward, v, discount)
        state[ROUND] += 1.0


def walk_if_table(layout, reward, v, choice, discount, path, state):
    """`walk` where the layout has a table of successors; nothing otherwise."""


@overload(walk_if_table)
def _walk_if_table(layout, reward, v, choice, discount, path, state):
    if is_a(layout, Table):
        return lambda layout, reward, v, choice, discount, path, state: walk(
            layout, reward, v, choice, discount, path, state
        )
    return lambda layout, reward, v, choice, discount, path, state: None


@part
def plan(
    layout, reward, start, v, choice, discount, target, tie, rounds, state, memory, work, passes
):  # fmt: skip
    """`solve`, then a policy with ties broken: all that `planning` needs, in one call, or in
    several, all of whose arguments are the same.

    state [PLACES] is all 0 before the first. Gives back the values; the start's mean of Tv and the
    largest of Tv − v; the start's mean of T_π v and the least of T_π v − v, π being the policy left
    in `choice`; the largest |v|; the rounds, and how they came to an end, if they have.
    """
    low, high, ended = solve(
        layout, reward, v, choice, discount, target, rounds, state, memory, work, passes
    )
    done, backed_up = np.int64(state[ROUND]), memory[0]
    if ended == PAUSED:
        return backed_up, 0.0, 0.0, 0.0, 0.0, 0.0, done, ended
    hoped = mean(start, backed_up)
    values = np.empty(v.size)
    shift = discount / (1.0 - discount) * 0.5 * (low + high)
    largest = 0.0
    for s in range(v.size):
        values[s] = backed_up[s] + shift
        largest = max(largest, abs(v[s]))
    low = break_ties(layout, reward, v, backed_up, choice, discount, tie)
    return values, hoped, high, mean(start, backed_up), low, largest, done, ended


@part
def mean(start, v):
    """⟨start, v⟩ by Neumaier's compensated sum, exact up to two roundings."""
    total, lost = 0.0, 0.0
    for s in range(v.size):
        term = start[s] * v[s]
        fresh = total + term
        lost += (total - fresh) + term if abs(total) >= abs(term) else (term - fresh) + total
        total = fresh
    return total + lost


@compiled
def sweep_lanes(successors, own, rewards, v, lanes, discount, tolerance):
    """Sweep `lanes` rewards together, in a table of four moves; rewards and v are [S · lanes].

    Only a head start for `solve`, which certifies: it ends when the last sweep changes little, or
    when sweeping turns out slow, as `solve` knows better means then.
    """
    n, one = np.uint64(successors.shape[0]), np.uint64(1)
    fresh = np.empty(lanes)
    mine, shared = discount * own, discount * (1.0 - own) / 4.0
    low, high = extremes(rewards)
    enough = 0.25 * tolerance * max(-low, high)
    previous = np.inf
    for step in range(400):
        look = step % 8 == 7
        change = 0.0
        for i in range(np.uint64(0), n):
            s = i if step % 2 == 0 else n - one - i
            row = s * lanes
            row0, row1 = successors[s, 0] * lanes, successors[s, 1] * lanes
            row2, row3 = successors[s, 2] * lanes, successors[s, 3] * lanes
            for lane in range(np.uint64(0), lanes):
                v0, v1, v2, v3 = v[row0 + lane], v[row1 + lane], v[row2 + lane], v[row3 + lane]
                a = v0 if v0 > v1 else v1
                b = v2 if v2 > v3 else v3
                best = a if a > b else b
                total = (v0 + v1) + (v2 + v3)
                fresh[lane] = rewards[row + lane] + mine * best + shared * total
            if look:
                for lane in range(np.uint64(0), lanes):
                    change = max(change, abs(fresh[lane] - v[row + lane]))
            for lane in range(np.uint64(0), lanes):
                v[row + lane] = fresh[lane]
        if look:
            if change <= enough or change > 0.9 * previous:
                break
            previous = change
