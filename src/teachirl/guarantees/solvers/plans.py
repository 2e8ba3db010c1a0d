"""What is sought, and the plans that are found on the way: the columns of the master problem."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...arrays import Floats
from ...mdp.model import MDP
from ...mdp.occupancy import expectation_error, expectations_of, occupancy, policy_from_occupancy
from ...mdp.plan import Plan
from ...mdp.planning import optimal_policy
from ...mdp.policy import Policy
from ...precision import SOLVED, up
from ..bounds import lower_bound
from .blocks import Blocks
from .master import Master
from .variants import AnyPolicy
from .view_coordinates import ViewCoordinates

# Columns may be off by this share of how close the bounds are to be: what they model is.
ROUGH = 0.005
# What so many policies are worth is kept, if it is no more numbers than these.
NEAR, MOST_KEPT = 16, 1 << 22


class Planned(NamedTuple):
    """A plan for some q: who is worst for it, as `Plans` know it, bounds on what −q then earns, and
    values to start the next from."""

    policy: Any
    lower: float
    upper: float
    values: Any


class Witness(NamedTuple):
    """A policy that may match, its occupancy [P] and feature expectations [k]; those [k] of what it
    is to match; what it earns at most; and the world that it does so in, if that is not known."""

    policy: Policy
    occupancy: Floats
    expectations: Floats
    target: Floats
    earned: float
    world: MDP | None = None


class Past:
    """What the last policies of a search are worth in each direction: known of one reward, it is
    known of all.

    The best of them in each state is what a policy has at least, and near the best there is where
    the next θ is near those before it.
    """

    def __init__(self) -> None:
        self._tables: deque[Floats] = deque(maxlen=NEAR)
        self.plan: tuple[Plan, Floats] | None = None  # the last one, and its weights [k]

    def add(self, values: Floats) -> None:
        """Take down the values [S, r + 1] of a policy along B and w."""
        self._tables.append(values)
        while len(self._tables) > 1 and len(self._tables) * values.size > MOST_KEPT:
            self._tables.popleft()

    def best(self, theta: Floats) -> Floats | None:
        """What the best of them have of Bᵀθ − w, [S]; None if nothing is known."""
        if not self._tables:
            return None
        best, along = None, np.append(theta, -1.0)
        for table in self._tables:
            mine = table.dot(along)
            best = mine if best is None else np.maximum(best, mine, out=best)
        return best


@dataclass(frozen=True, eq=False)
class Case:
    """A worst case that is sought: for weights w [k], in a view, of who matches the target [k].

    It knows how to plan, how to prove a bound, and what a witness does; the search only asks.
    """

    mdp: MDP
    sight: ViewCoordinates
    w: Floats
    target: Floats
    policy: Policy | None
    past: Past | None = field(default=None, kw_only=True)

    @cached_property
    def shown(self) -> Floats:
        """What the target is along B, [r]."""
        return np.asarray(self.sight.basis @ self.target)

    @cached_property
    def earned(self) -> float:
        """What the target earns."""
        return float(self.w @ self.target)

    def planned(self, q: Floats, theta: Floats | None, tolerance: float, guess: Any) -> Planned:
        """A policy that is worst for q = w − Bᵀθ; without θ, for any q. The guess is the values of
        the last plan."""
        if self.past is not None and theta is not None:
            best = self.past.best(theta)
            guess = guess if best is None else best
        plan = optimal_policy(self.mdp, -q, tolerance=tolerance, guess=guess)
        if self.past is not None:
            self.past.plan = plan, -q
        return Planned(plan.policy, plan.lower, plan.upper, plan.values)

    def proved(self, theta: Floats) -> float:
        """The certified lower bound of θ_A [ℓ]."""
        sight = self.sight
        return lower_bound(self.mdp, sight.view, self.w, self.target, sight.mismatch, theta)

    def witness(self, x: Floats) -> Witness:
        """The policy with this occupancy [P], which is right up to rounding."""
        mdp = self.mdp
        policy, dynamics = policy_from_occupancy(mdp, x), mdp.dynamics
        y = np.add.reduceat(x, dynamics.offsets[:-1])
        off = mdp.start + mdp.discount * (dynamics.arrivals @ x) - y
        if float(np.abs(off).sum()) > SOLVED:
            x = occupancy(mdp, policy)
        mu = expectations_of(mdp, x)
        earned = up(float(self.w @ mu) + expectation_error(mdp, self.w))
        return Witness(policy, x, mu, self.target, earned)

    def wider(self, direction: Floats) -> Case:
        """In a view with one more coordinate, see `ViewCoordinates.wider`."""
        return replace(self, sight=self.sight.wider(direction))


class Counted(Protocol):
    """Blocks, as far as the search is concerned."""

    @property
    def count(self) -> int: ...


class Plans(Protocol):
    """The columns of policies. Rewards in them are counted from the demonstration's, ⟨w, μ_T⟩."""

    @property
    def blocks(self) -> Counted:
        """Which columns belong to."""

    def begin(self, master: Master, asked: float) -> None:
        """Count columns from the demonstrated policy's, and add that, if there is one; `asked` is
        how close bounds are to be."""

    def put(self, policy: Any, master: Master) -> Floats:
        """Add what the policy of a plan does from each block along B and w, [G, r + 1]."""
        ...

    def keep(self, master: Master) -> None:
        """Remember the mixture that the master found."""


class FinalPlans(Plans, Protocol):
    """Those of a search whose result is wanted, and so its witness."""

    def witness(self) -> Witness | None:
        """What the mixture does that was kept last, or else the demonstrated policy."""
        ...

    def correct(self, master: Master) -> bool:
        """Count what columns of the last witness missed, from now on; whether that can be known."""
        ...


class OwnPlans:
    """The plans of one search, and which of them make the mixture with the least reward.

    Columns are as exact as the search has use for. What a mixture of them then misses shows once
    its occupancy is known, and is counted from there on (`correct`).
    """

    def __init__(self, case: Case, count: int) -> None:
        self.case = case
        self.blocks = Blocks(case.mdp, np.vstack([case.sight.basis, case.w]), count)
        self.policies: dict[int, AnyPolicy] = {}
        self.columns: dict[int, Floats] = {}
        self.mixture: dict[int, Floats] | None = None
        self._origin = self.blocks.masses[:, None] * np.append(case.shown, case.earned)
        self._added = 0  # since those were dropped that nobody uses
        self._share = 0.0  # what columns may be off by, of what they could be
        self._blended: tuple[dict[int, Floats], Floats] | None = None
        self._counted = self._missed = np.zeros(self.blocks.width)

    def begin(self, master: Master, asked: float) -> None:
        case = self.case
        self._share = ROUGH * asked / ((float(np.linalg.norm(case.w)) or 1.0) * case.sight.reach)
        if case.policy is not None:
            self._origin = self.blocks.columns(case.policy)
            self._note()
            self._add([case.policy], np.zeros_like(self._origin)[None], master)
            self.mixture = {0: np.ones(self.blocks.count)}

    def put(self, policy: Policy, master: Master) -> Floats:
        policies, columns = self._around(policy)
        columns -= self._origin
        self._note()
        self._add(policies, columns, master)
        return np.asarray(columns[0])

    def _around(self, policy: Policy) -> tuple[list[AnyPolicy], Floats]:
        """The policy, and variants of it if it is the last plan's; and their columns [m, G, n]."""
        past = self.case.past
        if past is None or past.plan is None or past.plan[0].policy is not policy:
            return [policy], self.blocks.columns(policy, self._share)[None]
        return self.blocks.around(*past.plan, self._share)

    def _note(self) -> None:
        """Take down what the last policy is worth, if that is known."""
        values = self.blocks.values
        if self.case.past is not None and values is not None:
            self.case.past.add(values)

    def again(self, master: Master) -> None:
        """Add all columns to the master of another search, which begins with the same plans."""
        self.mixture = None
        for number, columns in self.columns.items():
            master.add(columns[:, :-1], columns[:, -1], np.arange(self.blocks.count), number)

    def keep(self, master: Master) -> None:
        mixture: dict[int, Floats] = {}
        for source, block, share in zip(*master.shares(), strict=True):
            if source >= 0:
                shares = mixture.setdefault(int(source), np.zeros(self.blocks.count))
                shares[block] = share
        self.mixture = mixture

    def witness(self) -> Witness | None:
        case, mixture = self.case, self.mixture
        if mixture is None:
            return None if case.policy is None else case.witness(occupancy(case.mdp, case.policy))
        found = case.witness(np.maximum(self._occupancy(mixture), 0.0))
        off = found.expectations - case.target
        said = np.sum([shares @ self.columns[i] for i, shares in mixture.items()], axis=0)
        self._missed = np.append(case.sight.basis @ off, case.w @ off) - said - self._counted
        return found

    def correct(self, master: Master) -> bool:
        self._counted = self._counted + self._missed
        master.shift(self._missed[:-1], float(self._missed[-1]))
        return True

    def _occupancy(self, mixture: dict[int, Floats]) -> Floats:
        """That of the mixture [P], from that of the one before: the less they differ, the less
        exactly the difference has to be known."""
        if self._blended is None:
            x = self.blocks.blend(self.policies, mixture)
        else:
            before, x = self._blended
            none, shares, size = np.zeros(self.blocks.count), {}, 0.0
            for source in sorted(mixture.keys() | before.keys()):
                change = mixture.get(source, none) - before.get(source, none)
                if change.any():
                    shares[source] = change
                    size += float(self.blocks.masses @ np.abs(change))
            if shares:
                x = x + self.blocks.blend(self.policies, shares, 0.1 * SOLVED / size)
        self._blended = mixture, x
        return x

    def _add(self, policies: Sequence[AnyPolicy], columns: Floats, master: Master) -> None:
        """Add the columns [m, G, n] of policies."""
        first, count = max(self.policies, default=-1) + 1, self.blocks.count
        for number, (policy, mine) in enumerate(zip(policies, columns, strict=True), first):
            self.policies[number], self.columns[number] = policy, mine
        rows = columns.reshape(-1, columns.shape[2])
        which, owner = np.divmod(np.arange(len(rows)), count)
        master.add(rows[:, :-1], rows[:, -1], owner, first + which)
        self._added += len(policies)
        if self._added >= 64:
            self._added = 0
            held = master.sources() | set(self.mixture or ())
            self.policies = {i: p for i, p in self.policies.items() if i in held}
            self.columns = {i: c for i, c in self.columns.items() if i in held}
