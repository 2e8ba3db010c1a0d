"""Policies that differ from a plan in one state: a plan has many of them nearly for nothing.

A plan is best for one θ. Where another pair is nearly as good as the one that it takes, a policy
that takes that is best for some θ nearby: where blocks are few, and so what a plan tells of, it
takes far fewer plans until the master problem knows what it needs. Let policy π take p in state s,
and π' take p' there. If Y and Z are the visits, by π, from the start and from the row of p' less
that of p, then those by π' are

    Y + f Z,   f = γ Y(s) / (1 − γ Z(s)),

so that what all variants of a policy do is found with its own chain, in one call.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from ...mdp.kernels.chains import add_exchanges, nearly_best
from ...mdp.model import MDP
from ...mdp.plan import Plan
from ...mdp.policy import Policy

# The first plans are for θ far from where a search ends: their variants are of little use.
FAR = 3
# Where a policy is less often than this, at least the first time round, no variant is looked for.
RARE = 1e-3
# Variants whose columns differ by less, as a share of what they could be, are of no use.
SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Variant:
    """The policy that takes one other pair than `policy` does."""

    policy: Policy
    pair: int

    @cached_property
    def made(self) -> Policy:
        """It, in full."""
        dynamics, pairs = self.policy.dynamics, np.array(self.policy.pairs)
        pairs[dynamics.pair_states[self.pair]] = self.pair
        return Policy.of_pairs(dynamics, pairs)


AnyPolicy: TypeAlias = Policy | Variant


def made(policy: AnyPolicy) -> Policy:
    """It, in full."""
    return policy.made if isinstance(policy, Variant) else policy


class Variants:
    """Those of a plan that lose least of its rewards.

    Parameters
    ----------
    mdp : MDP
    starts : int array, the states that it starts in
    idle : bool array [P], pairs that need not be looked at; more are noted there
    plan : Plan
    rewards : array [S] or [P], what the plan is for
    most : int m, how many at most
    """

    def __init__(
        self,
        mdp: MDP,
        starts: NDArray[np.uint32],
        idle: NDArray[np.bool_],
        plan: Plan,
        rewards: Floats,
        most: int,
    ) -> None:
        dynamics, rows = mdp.dynamics, mdp.dynamics.transitions
        taken: Any = plan.policy.pairs
        self.mdp, self.policy, self._idle = mdp, plan.policy, idle
        self._rows = rows.indptr, rows.indices, rows.data
        about = mdp.discount, rewards, plan.values, taken, mdp.start, starts, idle, RARE, most
        self.pairs = nearly_best(dynamics.offsets, *self._rows, *about)
        self._states = dynamics.pair_states[self.pairs]
        self._taken = taken[self._states]
        parts = [rows.indices[rows.indptr[p] : rows.indptr[p + 1]] for p in self.pairs]
        # From where it is to be known how often the policy is where: some may be named twice.
        self.starts = np.concatenate([starts, *parts])

    def sources(self, starts: Floats, there: Any) -> Floats:
        """The blocks' starts [n, G], and beside them each row of p' less that of p: [n, G + m], for
        the n states that are `there`."""
        n, count = starts.shape
        sources = np.zeros((n, count + len(self.pairs)))
        sources[:, :count] = starts
        self._place = np.zeros(self.mdp.n_states, np.int64)  # of no chance 0 is added, anywhere
        self._place[there] = np.arange(n)
        add_exchanges(*self._rows, self._taken, self.pairs, self._place, sources, count)
        return sources

    def mixes(self, visits: Floats) -> Floats:
        """How the visits [n, G + m] from these sources add up to those from each block, by the
        policy and by each variant: [1 + m, G + m, G]."""
        m, gamma = len(self.pairs), self.mdp.discount
        mine = visits[self._place[self._states]]
        count = mine.shape[1] - m
        mixes, each = np.zeros((1 + m, count + m, count)), np.arange(m)
        mixes[:, :count] = np.eye(count)
        back = 1.0 - gamma * mine[each, count + each]
        mixes[1 + each, count + each] = gamma * mine[:, :count] / back[:, None]
        return mixes

    def features(self) -> Floats:
        """What p' itself has more than p, [m, k], where features are of pairs."""
        features: Any = self.mdp.features
        change = features[self.pairs] - features[self._taken]
        return change if isinstance(change, np.ndarray) else np.asarray(change.toarray())

    def that_differ(self, columns: Floats) -> tuple[list[AnyPolicy], NDArray[np.bool_]]:
        """The policy, and its variants but for those that do the same; and which of the columns
        [1 + m, G, n] are theirs."""
        reach = self.mdp.largest_feature / (1.0 - self.mdp.discount)
        taken = np.abs(columns - columns[0]).max(axis=(1, 2)) > SAME * reach
        self._idle[self.pairs[~taken[1:]]] = True
        taken[0] = True
        variants = [Variant(self.policy, pair) for pair in self.pairs[taken[1:]].tolist()]
        return [self.policy, *variants], taken
