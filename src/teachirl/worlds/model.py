"""Worlds that are written as Python: a model is asked for all that can happen."""

from __future__ import annotations

import math

from ..errors import require
from ..mdp.model import MDP
from .exploration import Explored, Model, Progress


def from_model(
    model: Model,
    discount: float,
    *,
    max_states: int = 2_000_000,
    max_seconds: float = math.inf,
    progress: Progress = False,
) -> MDP:
    """The MDP of a model that is written in Python, explored from its start.

    Parameters
    ----------
    model : Model, an object with `start`, `actions`, `outcomes` and `features`
    discount : float, γ in (0, 1)
    max_states : int, a model with more states is refused once so many were met
    max_seconds : float, one that takes longer likewise
    progress : bool, whether to tell how far it is, in a line on stderr for who looks on; or
        Callable, called now and then with how many states were explored, and how many met

    Returns
    -------
    MDP, with features per pair, and states, actions and features called as the model calls them

    Examples
    --------
    >>> import teachirl as ti
    >>> class Stairs:
    ...     def start(self):
    ...         return [(1.0, ("floor", 0))]
    ...     def actions(self, state):
    ...         return ["up", "down"]
    ...     def outcomes(self, state, action):
    ...         floor = state[1] + (1 if action == "up" else -1)
    ...         return [(1.0, ("floor", min(max(floor, 0), 9)))]
    ...     def features(self, state, action):
    ...         return {"height": state[1]}
    >>> mdp = ti.worlds.from_model(Stairs(), discount=0.95)
    >>> mdp.n_states, mdp.feature_names
    (10, ('height',))
    """
    for method in ("start", "actions", "outcomes", "features"):
        require(
            callable(getattr(model, method, None)),
            f"model must have a method {method}, {type(model).__name__} has none",
        )
    explored = Explored(model, max_states, max_seconds)
    explored.begin()
    explored.run(progress)
    return explored.mdp(discount)


__all__ = ["Model", "from_model"]
