"""MDPs and policies as a notebook shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..figures.cards import MOST_ROWS, Grid, card
from ..figures.digits import number, percent

if TYPE_CHECKING:
    from .model import MDP
    from .policy import Policy


def mdp_card(mdp: MDP) -> str:
    """How large an MDP is, and the range of its first features."""
    k, dynamics = mdp.n_features, mdp.dynamics
    first: Any = mdp.features[:, : min(k, MOST_ROWS)]
    least, most = (
        part if isinstance(part, np.ndarray) else part.toarray().ravel()
        for part in (first.min(axis=0), first.max(axis=0))
    )
    rows = [
        (mdp.feature_name(feature), number(low), number(high))
        for feature, (low, high) in enumerate(zip(least, most, strict=True))
    ]
    starts = np.flatnonzero(dynamics.start)
    actions = [dynamics.action_name(action) for action in range(min(mdp.n_actions, MOST_ROWS))]
    facts = (
        ("states", f"{mdp.n_states}"),
        ("actions", f"{mdp.n_actions}: {', '.join(actions)}{_dots(mdp.n_actions)}"),
        ("state-action pairs", f"{mdp.n_pairs}"),
        ("features", f"{k} per {'pair' if mdp.features_per_pair else 'state'}"),
        ("discount", f"{mdp.discount:g}"),
        (
            "starts in",
            dynamics.state_name(int(starts[0])) if len(starts) == 1 else f"{len(starts)} states",
        ),
    )
    return card("MDP", facts, Grid(("feature", "least", "most"), rows, k))


def policy_card(policy: Policy) -> str:
    """What a policy does in the first states."""
    dynamics, chances = policy.dynamics, policy.probabilities
    rows = []
    for state in range(min(dynamics.n_states, MOST_ROWS)):
        pairs = np.arange(dynamics.offsets[state], dynamics.offsets[state + 1])
        taken = pairs[np.argsort(-chances[pairs], kind="stable")]
        shown = [
            dynamics.action_name(int(dynamics.actions[pair]))
            + ("" if chances[pair] == 1.0 else f" ({percent(chances[pair])})")
            for pair in taken[:MOST_ROWS]
            if chances[pair] > 0.0
        ]
        rows.append((dynamics.state_name(state), ", ".join(shown)))
    kind = "deterministic" if policy.is_deterministic else "stochastic"
    grid = Grid(("state", "what is done"), rows, dynamics.n_states)
    return card(f"Policy, {kind}", grid=grid)


def _dots(count: int) -> str:
    return ", …" if count > MOST_ROWS else ""


__all__ = ["mdp_card", "policy_card"]
