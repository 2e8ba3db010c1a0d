"""Which pairs of a world that is known from a log cost the guarantee most.

Let θ prove a bound, V be the values in the world that is worst for it, and x how often each pair is
visited there. Were the row of one pair known to be p̂, the bound would rise by about

    x(s, a) · Σ_j (p̂_j − p_j) (r_j + γV_j),

which is not negative, as p is the worst of its set; of a policy that is shown, once more in the
world that is worst for what it shows. To first order these add up to what the doubt costs in all.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from ..mdp.estimated import EstimatedMDP
from ..mdp.policy import Policy
from ..mdp.robust_planning import Response, chain_in, respond
from ..views.worldview import Worldview


def doubt_costs(
    model: EstimatedMDP,
    view: Worldview,
    weights: Floats,
    theta: Floats,
    policy: Policy | None = None,
) -> Floats:
    """How much of the guaranteed reward the doubt about each pair costs, to first order.

    Parameters
    ----------
    model : EstimatedMDP
    view : Worldview
    weights : array [k]
    theta : array [ℓ], what proves the guarantee, as `WorstCaseBounds` has it
    policy : Policy that is shown; None if what is shown was recorded

    Returns
    -------
    array [P], none negative but for rounding

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> from teachirl.guarantees.doubt_costs import doubt_costs
    >>> model = ti.estimate_mdp(np.array([[[6, 4]], [[0, 9]]]), np.eye(2), discount=0.9)
    >>> costs = doubt_costs(model, ti.Worldview(np.eye(2)[:1]), np.array([1.0, 0.0]), np.zeros(1))
    >>> bool(costs[0] > costs[1] >= 0.0)  # the way back is open, but was never seen
    True
    """
    seen = view.matrix.T @ theta
    costs = _costs(model, weights - seen, respond(model, seen - weights, nature=1))
    if policy is not None:
        costs = costs + _costs(model, seen, respond(model, -seen, nature=1, policy=policy))
    return costs


def _costs(model: EstimatedMDP, weights: Floats, found: Response) -> Floats:
    """Of one of the two, for −weights; where the values are."""
    sets = model.sets
    _, outcomes = model.rewards_of_pairs(-weights[None])
    worth = model.discount * found.values[sets.indices]
    if len(outcomes):
        worth = worth + outcomes[:, 0]
    gain = np.add.reduceat((found.rows - sets.nominal) * worth, sets.indptr[:-1])
    chain = chain_in(model, found.chances, found.rows)
    visits = np.maximum(chain.visits(np.asarray(model.start)[:, None]).x[:, 0], 0.0)
    x = visits[model.nominal.dynamics.pair_states] * found.chances
    return np.where(x > 0.0, x * np.maximum(gain, 0.0), 0.0)


__all__ = ["doubt_costs"]
