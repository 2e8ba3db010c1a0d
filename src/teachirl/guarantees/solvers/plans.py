"""What is sought, and the plans that are found on the way: the columns of the master problem."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from ...arrays import Floats
from ...mdp.model import MDP
from ...mdp.occupancy import occupancy
from ...mdp.policy import Policy
from .blocks import Blocks
from .master import Master
from .view_coordinates import ViewCoordinates


@dataclass(frozen=True, eq=False)
class Case:
    """A worst case that is sought: for weights w [k], in a view, of who matches the target [k]."""

    mdp: MDP
    sight: ViewCoordinates
    w: Floats
    target: Floats
    policy: Policy | None

    @cached_property
    def shown(self) -> Floats:
        """What the target is along B, [r]."""
        return np.asarray(self.sight.basis @ self.target)

    @cached_property
    def earned(self) -> float:
        """What the target earns."""
        return float(self.w @ self.target)

    def wider(self, direction: Floats) -> Case:
        """In a view with one more coordinate, see `ViewCoordinates.wider`."""
        return replace(self, sight=self.sight.wider(direction))


class Plans(Protocol):
    """The columns of policies. Rewards in them are counted from the demonstration's, ⟨w, μ_T⟩."""

    blocks: Blocks

    def begin(self, master: Master) -> None:
        """Count columns from the demonstrated policy's, and add that, if there is one."""

    def put(self, policy: Policy, master: Master) -> Floats:
        """Add what the policy does from each block along B and w, [G, r + 1]."""
        ...

    def keep(self, master: Master) -> None:
        """Remember the mixture that the master found."""


class OwnPlans:
    """The plans of one search, and which of them make the mixture with the least reward."""

    def __init__(self, case: Case, count: int) -> None:
        self.case = case
        self.blocks = Blocks(case.mdp, np.vstack([case.sight.basis, case.w]), count)
        self.policies: dict[int, Policy] = {}
        self.mixture: dict[int, Floats] | None = None
        self._origin = self.blocks.masses[:, None] * np.append(case.shown, case.earned)

    def begin(self, master: Master) -> None:
        if self.case.policy is not None:
            self._origin = self.blocks.columns(self.case.policy)
            self._add(self.case.policy, np.zeros_like(self._origin), master)
            self.mixture = {0: np.ones(self.blocks.count)}

    def put(self, policy: Policy, master: Master) -> Floats:
        columns: Floats = self.blocks.columns(policy) - self._origin
        self._add(policy, columns, master)
        return columns

    def keep(self, master: Master) -> None:
        mixture: dict[int, Floats] = {}
        for source, block, share in zip(*master.shares(), strict=True):
            if source >= 0:
                shares = mixture.setdefault(int(source), np.zeros(self.blocks.count))
                shares[block] = share
        self.mixture = mixture

    def occupancy(self) -> Floats | None:
        """The occupancy [P] of the mixture, or of the demonstrated policy."""
        if self.mixture is not None:
            return self.blocks.blend(self.policies, self.mixture)
        policy = self.case.policy
        return None if policy is None else occupancy(self.case.mdp, policy)

    def _add(self, policy: Policy, columns: Floats, master: Master) -> None:
        number = max(self.policies, default=-1) + 1
        self.policies[number] = policy
        master.add(columns[:, :-1], columns[:, -1], np.arange(self.blocks.count), number)
        if len(self.policies) % 64 == 0:
            held = master.sources() | set(self.mixture or ())
            self.policies = {i: p for i, p in self.policies.items() if i in held}
