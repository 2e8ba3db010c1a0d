"""How closely learners are taken to match what they are shown."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ..arrays import Floats
from ..demonstrations.demonstration import Demonstration
from ..errors import require
from ..precision import MATCHED, SEARCH_TIE, length_at_most
from ..selection.greedy import is_number
from ..views.worldview import Worldview


@dataclass(frozen=True)
class Matching:
    """Whom a guarantee is about: learners with ‖A(μ_L − μ_T)‖ ≤ ε.

    Parameters
    ----------
    mismatch : float, ε, in the learner's features, whatever is shown and seen; None: as closely as
        the expert does, by the demonstration's error in the learner's features, which is 0 for an
        exact one
    nearest : array [k], feature expectations of a policy: where what is shown has an error and no
        mismatch is given, learners match it as closely as that policy does, not as the expert

    Examples
    --------
    >>> import teachirl as ti
    >>> from teachirl.teaching.matching import Matching
    >>> mdp = ti.worlds.chain(5)
    >>> shown = ti.Demonstration.of_policy(mdp, ti.Policy.uniform(mdp))
    >>> view = ti.Worldview.select(mdp, ["cell 3"])
    >>> Matching().within(view, shown), Matching(0.2).within(view, shown)
    (0.0, 0.2)
    """

    mismatch: float | None = None
    nearest: Floats | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        require(
            self.mismatch is None or (is_number(self.mismatch) and 0.0 <= self.mismatch < math.inf),
            f"mismatch must be non-negative, got {self.mismatch!r}",
        )

    def within(self, view: Worldview, demonstration: Demonstration) -> float:
        """ε for learners who see this and are shown that."""
        if self.mismatch is not None:
            return self.mismatch
        if self.nearest is None or demonstration.error == 0.0:
            return demonstration.error_in(view)
        off = length_at_most(view.matrix @ (self.nearest - demonstration.expectations))
        # Where that is nothing, what both are rounded by is left.
        rounded = MATCHED * view.norm * float(np.linalg.norm(demonstration.expectations))
        return off * (1.0 + SEARCH_TIE) + rounded

    def singly(self, view: Worldview, demonstration: Demonstration) -> Floats | None:
        """array [ℓ], how far those who match the expert are from what is shown in each feature that
        they see; None if that is not known feature by feature, or ε is not the expert's."""
        return demonstration.errors_of(view) if self.keeps(demonstration) else None

    def varies(self, demonstration: Demonstration) -> bool:
        """Whether ε is another in other views."""
        return self.mismatch is None and demonstration.error > 0.0

    def keeps(self, demonstration: Demonstration) -> bool:
        """Whether all that is proved in a view holds in every larger one, though ε is larger there.

        So it is for learners who match the expert: what the expert has of each feature is known up
        to its error, of all of them at once with the stated confidence, so that who matches the
        expert in more features is within ε of what is shown in the fewer as well.
        """
        return self.nearest is None and self.varies(demonstration)

    def grows(self, demonstration: Demonstration) -> bool:
        """Whether all that is proved in a view holds in every larger one, be it that ε is the same
        there: who matches in more features matches in fewer."""
        return not self.varies(demonstration) or self.keeps(demonstration)


__all__ = ["Matching"]
