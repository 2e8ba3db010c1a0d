"""What best policies do, for learners who mix many of them: most often the same few again."""

from __future__ import annotations

from ..arrays import Floats
from ..mdp.model import MDP
from ..mdp.occupancy import expectations_of, occupancy
from ..mdp.policy import Policy

# Numbers that are kept at most, and policies.
MOST_NUMBERS, MOST_POLICIES = 1_000_000, 64


class Answers:
    """Occupancies and feature expectations, of which those that were last asked for are kept.

    Parameters
    ----------
    seen : MDP with the learner's features
    """

    def __init__(self, seen: MDP) -> None:
        self._seen = seen
        self._known: dict[bytes, tuple[Floats, Floats]] = {}
        self._most = min(max(MOST_NUMBERS // seen.n_pairs, 1), MOST_POLICIES)

    def of(self, policy: Policy) -> tuple[Floats, Floats]:
        """The occupancy [P] and the feature expectations [ℓ] of a policy, not to be changed."""
        same = (policy.probabilities if policy.pairs is None else policy.pairs).tobytes()
        known = self._known.pop(same, None)
        if known is None:
            x = occupancy(self._seen, policy)
            known = x, expectations_of(self._seen, x)
        self._known[same] = known
        if len(self._known) > self._most:
            del self._known[next(iter(self._known))]
        return known


__all__ = ["Answers"]
