"""Which pairs of a world that is known from a log cost the guarantee most.

Let θ prove the bound, V be the values that are least for it, and x how often the witness, who is as
bad as that, visits each pair in a world p of its own. Were the row of one pair known to be p̂, the
bound would rise by about

    x(s, a) · Σ_j (p̂_j − p_j) (r_j + γV_j),

which is not negative, as p is the worst of its set; of a policy that is shown, once more in the
world that is worst for what it shows. To first order these add up to what the doubt costs in all.
At the best θ several policies are equally bad, and the witness is a mixture of them: one alone need
not go where the doubt is.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from ..mdp.estimated import EstimatedMDP
from ..mdp.model import MDP
from ..mdp.policy import Policy
from ..mdp.robust_planning import Response, chain_in, respond
from ..views.worldview import Worldview
from .bounds import WorstCaseBounds


def doubt_costs(
    model: EstimatedMDP,
    view: Worldview,
    weights: Floats,
    found: WorstCaseBounds,
    policy: Policy | None = None,
) -> Floats:
    """How much of the guaranteed reward the doubt about each pair costs, to first order.

    Parameters
    ----------
    model : EstimatedMDP
    view : Worldview
    weights : array [k]
    found : WorstCaseBounds, the worst case
    policy : Policy that is shown; None if what is shown was recorded

    Returns
    -------
    array [P], none negative but for rounding

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> from teachirl.guarantees.doubt_costs import doubt_costs
    >>> model = ti.estimate_mdp(np.array([[[6, 4]], [[0, 9]]]), np.eye(2), discount=0.9)
    >>> view, w = ti.Worldview(np.empty((0, 2))), np.array([1.0, 0.0])
    >>> found = ti.worst_case(model, view, w, ti.Policy.uniform(model.nominal))
    >>> costs = doubt_costs(model, view, w, found)
    >>> bool(costs[0] > costs[1])  # nobody was seen to come back, and the worst is that nobody does
    True
    """
    seen = view.matrix.T @ found.theta
    mine = respond(model, seen - weights, nature=1)
    x, rows = _visits(model, mine), mine.rows
    if found.world is not None and found.occupancy is not None:
        x, rows = np.asarray(found.occupancy), _rows_of(model, found.world)
    costs = _costs(model, weights - seen, mine.values, x, rows)
    if policy is not None:
        shown = respond(model, -seen, nature=1, policy=policy)
        costs = costs + _costs(model, seen, shown.values, _visits(model, shown), shown.rows)
    return costs


def _costs(model: EstimatedMDP, weights: Floats, values: Floats, x: Floats, rows: Floats) -> Floats:
    """Of one of the two, for −weights; where the values are."""
    sets = model.sets
    _, outcomes = model.rewards_of_pairs(-weights[None])
    worth = model.discount * values[sets.indices]
    if len(outcomes):
        worth = worth + outcomes[:, 0]
    gain = np.add.reduceat((rows - sets.nominal) * worth, sets.indptr[:-1])
    return np.where(x > 0.0, x * np.maximum(gain, 0.0), 0.0)


def _visits(model: EstimatedMDP, found: Response) -> Floats:
    """How often each pair is visited, [P]."""
    chain = chain_in(model, found.chances, found.rows)
    visits = np.maximum(chain.visits(np.asarray(model.start)[:, None]).x[:, 0], 0.0)
    return np.asarray(visits[model.nominal.dynamics.pair_states] * found.chances)


def _rows_of(model: EstimatedMDP, world: MDP) -> Floats:
    """The probabilities [n] of all that may follow, in a world of the sets."""
    at = model.owners, model.sets.indices.astype(np.int64)
    return np.asarray(world.dynamics.transitions[at]).ravel()


__all__ = ["doubt_costs"]
