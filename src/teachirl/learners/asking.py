"""How learners are asked: with what they see of a demonstration, and of its episodes if they look.

Whoever has a learner learn does it here, so that all learners get the same, and what they answer is
looked at before it is used.
"""

from __future__ import annotations

import inspect
from typing import Any

from ..arrays import Floats
from ..demonstrations.observations import Observations
from ..demonstrations.trajectories import Trajectories
from ..errors import InvalidInputError, require
from ..mdp.model import MDP
from ..mdp.policy import Policy, check_policy
from .learner import Learned, Learner


def watches(learner: object) -> bool:
    """Whether a learner's `learn` takes the argument ``observations``.

    >>> import teachirl as ti
    >>> watches(ti.learners.Projection())
    False
    """
    learn = getattr(learner, "learn", None)
    return callable(learn) and "observations" in inspect.signature(learn).parameters


def learned_by(
    learner: Learner,
    seen: MDP,
    target: Floats,
    start: Policy | None = None,
    episodes: Trajectories | None = None,
) -> Learned:
    """What a learner makes of a demonstration.

    Parameters
    ----------
    learner : Learner
    seen : MDP with the learner's features
    target : array [ℓ], what was shown in these features
    start : Policy to begin with
    episodes : Trajectories that were shown, of which a learner who looks at them gets what it sees

    Returns
    -------
    Learned
    """
    more: dict[str, Any] = {}
    if episodes is not None and watches(learner):
        more["observations"] = Observations.of(seen, episodes)
    _check_takes(learner, more)
    learned = learner.learn(seen, target, start, **more)
    require(
        isinstance(learned, Learned),
        f"{type(learner).__name__}.learn must return a Learned, as Assignment(…).report makes it, "
        f"got {type(learned).__name__}",
    )
    check_policy(seen, learned.policy)
    return learned


def _check_takes(learner: Learner, more: dict[str, Any]) -> None:
    """Refuse a learner whose `learn` does not take what it is called with."""
    signature = inspect.signature(learner.learn)
    try:
        signature.bind(None, None, None, **more)
    except TypeError as error:
        name = type(learner).__name__
        raise InvalidInputError(
            f"{name}.learn must take the MDP with the learner's features, what was shown in them, "
            "and the policy to begin with, as learn(self, seen, target, start=None) does: "
            f"{name}.learn{signature} does not ({error})"
        ) from None


__all__ = ["learned_by", "watches"]
