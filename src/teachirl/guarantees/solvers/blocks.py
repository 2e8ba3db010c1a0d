"""What a policy does from each of G blocks of start states, in a few directions.

A policy that is optimal from every start state is optimal from every block of them, so that the
feature expectations M are a sum M_1 + … + M_G, and one plan gives a point of each M_g. Here are
⟨d_i, μ_g(π)⟩ for some directions d_i and all blocks g: in deterministic dynamics by one pass over
the paths out of each block, otherwise by the values of the policy, for each direction a reward,
which are those of all start states at once; or, where the blocks are far fewer than the directions,
by the visits from each block.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints, frozen
from ...mdp.kernels.blocks import (
    add_visits,
    block_features,
    block_sums,
    product,
    share_out,
)
from ...mdp.model import MDP
from ...mdp.occupancy import AnyChain, chain_from, chain_of, state_flow, within
from ...mdp.plan import Plan
from ...mdp.policy import Policy
from ...mdp.right_hand_sides import LANES, Method
from ...precision import EPS
from .start_states import even_bounds, in_order
from .variants import FAR, AnyPolicy, Variants, made

# From this many states on, threads share the work.
LARGE = 200_000
# A table [G, k] of feature expectations is kept up to this size; beyond, one [S, n] of rewards.
WIDE = 4_000_000
# Visits are sought instead of values if there are so many directions a block, or more.
MANY = 4
# Those of a policy are kept up to this size, for the mixture that is sought.
KEPT = 1 << 19
# Chains of policies of that mixture are kept while they have so many entries together.
ENTRIES = 1 << 22
# After so many policies in a row that elimination does not suit, it is not tried any more.
TRIES = 2
# Where values are found by these, plans take little longer without good guesses.
EASY = (Method.ELIMINATION, Method.ITERATION)
# So far, of the largest, what is the same in all rows may be apart.
ROUNDING = 64 * EPS
# Rows, at least, that are looked at before all of them are.
SOME = 1000
# After a policy that reaches more than this share of the states, chains are of all states.
NEARLY = 0.75

T = TypeVar("T")


def _work(n: int) -> tuple[NDArray[Any], ...]:
    """What `block_features` keeps between calls."""
    stamps, numbers = np.zeros(n + 1, np.int32), np.empty((2, n), np.uint32)
    return stamps, np.empty(n, np.int32), numbers[0], numbers[1], np.empty(n)


class Blocks:
    """The start states of an MDP in blocks of about the same probability, and directions [n, k].

    Without directions, those of the features themselves are meant.
    """

    def __init__(self, mdp: MDP, directions: Floats | None, count: int) -> None:
        self.mdp = mdp
        self.directions = None if directions is None else np.ascontiguousarray(directions.T)
        self.states = in_order(mdp)
        self.bounds = even_bounds(mdp.start[self.states], count)
        self.masses = np.add.reduceat(mdp.start[self.states], self.bounds[:-1])
        self._dense = 0  # policies in a row that elimination did not suit
        self._everywhere = False  # whether the last policy got nearly everywhere
        self._rewards: Floats | None = None
        self._guess: Floats | None = None  # values of the last policy
        self._hard = False  # whether they were not found easily
        # Of each, see `_keep`, and which states these are.
        self._visits: WeakKeyDictionary[AnyPolicy, tuple[Any, Floats, Floats]]
        self._visits = WeakKeyDictionary()
        self._plans = 0
        self._idle = np.zeros(mdp.n_pairs, np.bool_)  # pairs whose variants differ in nothing
        self._chains: WeakKeyDictionary[Policy, AnyChain] = WeakKeyDictionary()
        self._entries = 0  # of these, and of those that were too many
        self._work: list[Any] = []
        self._cores = (os.cpu_count() or 1) if mdp.n_states >= LARGE else 1
        self._ends = np.linspace(0, self.count, min(self._cores, self.count) + 1).astype(int)
        self._table: tuple[Any, int, bool] | None = None

    @property
    def count(self) -> int:
        """G; not more than there are start states"""
        return len(self.bounds) - 1

    @property
    def _few(self) -> bool:
        """Whether there are so few blocks that visits from them are sooner found than values."""
        return MANY * self.count <= self.width

    @property
    def width(self) -> int:
        """n"""
        return self.mdp.n_features if self.directions is None else self.directions.shape[1]

    def columns(self, policy: Policy, share: float = 0.0) -> Floats:
        """⟨d_i, μ_g(π)⟩: array [G, n]; its sum over the blocks is ⟨d_i, μ(π)⟩.

        They may be off by this share of what they could be, if it is more than rounding.
        """
        if policy.pairs is not None and self.mdp.dynamics.deterministic:
            return self._by_paths(policy.pairs)
        wide = self.width > self.count and self.width * self.mdp.n_states > WIDE
        if wide or self._few:
            return self._by_visits(policy)
        return self._by_values(policy, share)

    @property
    def values(self) -> Floats | None:
        """What the last policy is worth in all directions, [S, n]; None where that was not asked,
        or where it is found so easily that plans need no better guess."""
        return self._guess[:, : self.width] if self._guess is not None and self._hard else None

    def visits(self, policy: AnyPolicy, shares: Floats, share: float = 0.0) -> Floats:
        """The state occupancy [S] of the policy if block g starts with probability ∝ shares[g]; it
        may be off by this share, if it is more than rounding."""
        mdp = self.mdp
        if policy in self._visits:
            there, visits, mix = self._visits[policy]
            mixed = np.zeros(mdp.n_states)
            mixed[there] = visits @ (mix @ shares)
            return mixed
        policy = made(policy)
        start = np.zeros(mdp.n_states)
        share_out(mdp.start, self.states, self.bounds, shares, start)
        if signed := bool(shares.min() < 0.0):
            less = np.zeros(mdp.n_states)
            share_out(mdp.start, self.states, self.bounds, -shares, less)
            start -= less
        found = state_flow(mdp, policy, start, share, self._chain(policy))
        return found if signed else np.maximum(found, 0.0)

    def blend(
        self, policies: Mapping[int, AnyPolicy], shares: Mapping[int, Floats], share: float = 0.0
    ) -> Floats:
        """The occupancy [P] where block g follows policy i with probability ``shares[i][g]``.

        It is linear in the shares, which may be differences of probabilities. The visits of each
        policy may be off by the share of them, if it is more than rounding.
        """
        mdp, x = self.mdp, np.zeros(self.mdp.n_pairs)
        found = self._spread(lambda i: self.visits(policies[i], shares[i], share), list(shares))
        for visits, source in zip(found, shares, strict=True):
            policy = made(policies[source])
            if policy.pairs is not None:
                add_visits(x, policy.pairs, visits)
            else:
                x += visits[mdp.dynamics.pair_states] * policy.probabilities
        return x

    def _chain(self, policy: Policy) -> AnyChain | None:
        """That of a policy of the mixture, which may be asked for again; None if it is not used."""
        if policy.pairs is not None and self.mdp.dynamics.deterministic:
            return None
        chain = self._chains.get(policy)
        if chain is None:
            chain = self._new_chain(policy, self.states)
            self._entries += len(chain.rows.data)
            if self._entries <= ENTRIES:
                self._chains[policy] = chain
        return chain

    def _new_chain(self, policy: Policy, starts: NDArray[np.uint32]) -> AnyChain:
        """As far as the policy gets from there, if those before it did not get nearly
        everywhere."""
        sparse = self._dense < TRIES
        if self._everywhere:
            return chain_of(self.mdp, policy, sparse)
        chain = chain_from(self.mdp, policy, starts, sparse)
        reached = len(chain.rows.indptr) - 1
        self._everywhere = reached > NEARLY * self.mdp.n_states
        return chain

    def _spread(self, work: Callable[[int], T], parts: Sequence[int]) -> list[T]:
        """The work on all parts; in threads if there are states enough to be worth it."""
        cores = self._cores
        if cores == 1:
            return [work(part) for part in parts]
        with ThreadPoolExecutor(cores) as threads:
            return list(threads.map(work, parts))

    def _by_paths(self, pairs: Ints) -> Floats:
        mdp = self.mdp
        table, width, few = self._paths_table()
        ends = self._ends
        while len(self._work) < len(ends) - 1:
            self._work.append(_work(mdp.n_states))
        choice = (pairs - mdp.dynamics.offsets[:-1]).astype(np.uint32)
        rows = pairs if mdp.features_per_pair else pairs[:0]
        out = np.empty((self.count, width))

        def part(i: int) -> None:
            first, last = ends[i], ends[i + 1]
            block_features(
                mdp.dynamics.layout,
                choice,
                mdp.start,
                self.states,
                self.bounds[first : last + 1],
                mdp.discount,
                rows,
                table,
                self._work[i],
                out[first:last],
            )

        self._spread(part, range(len(ends) - 1))
        return self._along(out) if few else out

    def _paths_table(self) -> tuple[Any, int, bool]:
        """Rows (indptr, indices, data) to be summed along paths and how wide they are: the features
        themselves where these are few, or what they are in the directions."""
        if self._table is None:
            features: Any = self.mdp.features
            k, width = self.mdp.n_features, self.width
            sparse = not isinstance(features, np.ndarray)
            few = sparse and features.nnz <= width * features.shape[0] and self.count * k <= WIDE
            few |= sparse and self.directions is None
            if few:
                rows = features.indptr, features.indices, features.data
            else:
                rewards = self._all_rewards()
                places = np.tile(np.arange(width, dtype=np.int32), len(rewards))
                rows = np.arange(len(rewards) + 1) * width, places, rewards.ravel()
            self._table = rows, k if few else width, few
        return self._table

    def _by_values(self, policy: Policy, share: float) -> Floats:
        mdp, rewards = self.mdp, self._in_lanes
        if mdp.features_per_pair and policy.pairs is not None:
            rewards = rewards[policy.pairs]
        elif mdp.features_per_pair:
            each = policy.probabilities[:, None] * rewards
            rewards = np.add.reduceat(each, mdp.dynamics.offsets[:-1], axis=0)
        chain = chain_of(mdp, policy, self._dense < TRIES)
        found = chain.values(rewards, share, self._guess if share > 0.0 else None)
        self._guess, self._hard = found.x, found.method not in EASY
        # Policies of one search are alike: what has failed for some is left out for the rest.
        self._dense = 0 if found.method is Method.ELIMINATION else self._dense + 1
        out = self.sums(found.x)
        return out if found.method is Method.ELIMINATION else self._with_constants(out)

    def _with_constants(self, columns: Floats) -> Floats:
        """What columns [G, n] are where all policies have the same of it: rows of a view that add
        up to a constant could not be matched if that were known only roughly."""
        directions, amounts = self._constants
        right = np.outer(self.masses, amounts) / (1.0 - self.mdp.discount)
        return np.asarray(columns + (right - columns @ directions.T) @ directions)

    @cached_property
    def _constants(self) -> tuple[Floats, Floats]:
        """Unit vectors [m, n] along which ⟨d_i, φ⟩ are the same in all rows, and what they are."""
        rewards = self._all_rewards()
        largest = float(np.abs(rewards).max(initial=0.0))
        # Some rows leave few directions, among which all rows decide.
        some = _same_in_all(rewards[:: max(len(rewards) // SOME, 1)], largest)
        directions = _same_in_all(rewards @ some.T, largest) @ some
        return directions, directions @ rewards[0]

    def sums(self, values: Floats) -> Floats:
        """What values [S, n] are from each block on, [G, n]; those beside them are left out."""
        out = np.empty((self.count, self.width))
        rows = np.ascontiguousarray(values)
        block_sums(self.mdp.start, self.states, self.bounds, rows, out)
        return out

    def _by_visits(self, policy: Policy) -> Floats:
        """Where directions are many and blocks are few: how often each block is where, [S, G]."""
        there, chain = within(self._new_chain(policy, self.states))
        found = chain.visits(_some(self._sources, there))
        self._dense = 0 if found.method is Method.ELIMINATION else self._dense + 1
        visits = np.maximum(found.x, 0.0)
        self._keep(policy, there, visits, np.eye(self.count))
        return self._seen(policy, there, visits)

    def around(
        self, plan: Plan, weights: Floats, share: float = 0.0
    ) -> tuple[list[AnyPolicy], Floats]:
        """The policy of a plan for these weights [k], and if blocks are few, `variants` of it; and
        the `columns` of each, [m, G, n]."""
        policy, count, sure = plan.policy, self.count, self.mdp.dynamics.deterministic
        self._plans += 1
        if sure or not self._few or self._plans <= FAR or self._dense > 0:
            return [policy], self.columns(policy, share)[None]
        room = -(count + self.width) % LANES + self.width
        rewards = self.mdp.earned(weights)
        near = Variants(self.mdp, self.states, self._idle, plan, rewards, room)
        there, chain = within(self._new_chain(policy, near.starts))
        found = chain.visits(near.sources(_some(self._sources, there), there))
        self._dense = 0 if found.method is Method.ELIMINATION else self._dense + 1
        seen, mixes = self._seen(policy, there, found.x), near.mixes(found.x)
        if self.mdp.features_per_pair:
            seen[count:] += self._along(near.features()) / self.mdp.discount
        columns = mixes.transpose(0, 2, 1) @ seen
        policies, taken = near.that_differ(columns)
        for each, mix in zip(policies, mixes[taken], strict=True):
            self._keep(each, there, found.x, mix)
        return policies, columns[taken]

    def _keep(self, policy: AnyPolicy, there: Any, visits: Floats, mix: Floats) -> None:
        """That the visits from each block are `visits` [n, m] times `mix` [m, G]."""
        if visits.size <= KEPT:
            self._visits[policy] = there, visits, mix

    def _seen(self, policy: Policy, there: Any, visits: Floats) -> Floats:
        """What is met along the directions, [m, n], where the policy goes so often, [reached, m]"""
        mdp, rows = self.mdp, there
        if mdp.features_per_pair:
            rows = None if policy.pairs is None else policy.pairs[there]
        if self._tabled and rows is not None:
            return np.asarray(visits.T.dot(_some(self._all_rewards(), rows)))
        everywhere = np.zeros((mdp.n_states, visits.shape[1]))
        everywhere[there] = visits
        visits = everywhere
        if mdp.features_per_pair and policy.pairs is not None:
            expectations = mdp.features[policy.pairs].T @ visits
        elif mdp.features_per_pair:
            each = visits[mdp.dynamics.pair_states] * policy.probabilities[:, None]
            expectations = mdp.features_transposed @ each
        else:
            expectations = mdp.features_transposed @ visits
        return self._along(np.ascontiguousarray(np.asarray(expectations).T))

    @cached_property
    def _tabled(self) -> bool:
        """Whether what a state has of each direction is quicker summed than its features are."""
        features: Any = self.mdp.features
        size = features.size if isinstance(features, np.ndarray) else features.nnz
        return self.directions is not None and self.width * features.shape[0] <= min(size, WIDE)

    @cached_property
    def _sources(self) -> Floats:
        """Where each block starts, [S, G]."""
        sources = np.zeros((self.mdp.n_states, self.count))
        blocks = np.repeat(np.arange(self.count), np.diff(self.bounds))
        sources[self.states, blocks] = self.mdp.start[self.states]
        return frozen(sources)

    def _all_rewards(self) -> Floats:
        """⟨d_i, φ⟩ for each row of the features, [S, n] or [P, n]."""
        if self._rewards is None:
            features: Any = self.mdp.features
            if self.directions is not None:
                features = features @ self.directions
            dense = features if isinstance(features, np.ndarray) else features.toarray()
            self._rewards = np.ascontiguousarray(dense)
        return self._rewards

    @cached_property
    def _in_lanes(self) -> Floats:
        """The same, and zeros beside them that fill vector registers."""
        rewards = self._all_rewards()
        return np.hstack([rewards, np.zeros((len(rewards), -self.width % LANES))])

    def _along(self, expectations: Floats) -> Floats:
        if self.directions is None:
            return expectations
        out = np.empty((len(expectations), self.directions.shape[1]))
        product(expectations, self.directions, out)
        return out


def _some(rows: Floats, which: Any) -> Floats:
    """rows[which]; `take` has them three times as fast."""
    return rows[which] if isinstance(which, slice) else rows.take(which, axis=0)


def _same_in_all(rows: Floats, largest: float) -> Floats:
    """Unit vectors [m, n], orthogonal, along which all rows [N, n] are the same up to rounding."""
    apart = rows - rows[0]
    directions = np.linalg.eigh(apart.T @ apart)[1].T
    off = np.abs(apart @ directions.T).max(axis=0)
    return np.asarray(directions[off <= ROUNDING * largest])


def block_count(mdp: MDP, rank: int) -> int:
    """More blocks mean fewer MDP solves and a larger master problem; found by measuring."""
    if mdp.dynamics.deterministic:
        if mdp.n_states > 100_000:
            return 400
        return 16 if rank <= 24 and mdp.n_states <= 1000 else 64
    return 64 if mdp.n_states <= 4096 else 256
