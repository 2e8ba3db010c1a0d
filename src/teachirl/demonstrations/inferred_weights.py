"""What an expert is after: weights estimated from recorded episodes, and how sure that is.

The estimate is the direction of the θ whose soft policy π_θ explains the choices best (`soft_fit`):
its length says how consistent the expert is. Directions that cannot tell policies apart cannot be
estimated: they are projected out of θ.

That the expert is soft is an assumption, and standard errors that rest on it say too little of an
expert who is not. An expert who never errs is optimal for a whole cone of weights, and the estimate
is one of them. What is sure of the weights, whether the expert is optimal, slips now and then or is
soft, is the region of `plausible_weights`: it has the expert's weights with the stated confidence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Floats, frozen
from ..errors import require
from ..mdp.model import MDP, check_is_mdp
from ..mdp.policy import Policy
from ..precision import SOLVED
from ..views.potential_shaping import indistinct_directions
from .demonstration import Demonstration
from .forecasts import forecast
from .optimal_cone import OptimalCone, habits
from .plausible_weights import NONE_FOUND, Evidence, Experts, PlausibleWeights, plausible_weights
from .soft_fit import InferStatus, SoftFit
from .trajectories import Trajectories, check_trajectories

# Of all choices, the share that are slips of an expert who hardly ever errs.
RARELY = 0.01
# How much better than a random action an expert's may be expected to be, in nats.
CHOOSINESS = 10.0


@dataclass(frozen=True, eq=False)
class InferredWeights:
    """The weights that explain an expert's episodes, and how far they may be off.

    Attributes
    ----------
    weights : array [k] of length 1, orthogonal to `unidentified`; zeros if nothing is known
    scale : float, ‖θ‖, the inverse temperature at which the expert follows them; 0 if nothing is
        known
    root : array [k, r], a root of the covariance of θ = scale · weights, if the expert is soft
    unidentified : array [d, k], orthonormal directions that no episodes say anything about
    log_likelihood : float, L(θ), of all steps together
    steps : int, how many steps the episodes have
    policy : Policy, the soft policy of θ: what the expert is taken to do
    status : InferStatus
    mdp : MDP, in which the episodes were recorded
    episodes : Trajectories
    confidence : float, of `plausible`

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp, rng = ti.worlds.chain(3), np.random.default_rng(0)
    >>> right = ti.Policy.deterministic(mdp, [1, 1, 0])
    >>> seen = ti.sample_trajectories(mdp, right, episodes=20, horizon=10, rng=rng)
    >>> found = ti.infer_weights(mdp, seen)
    >>> found.steps, found.sample(rng, 4).shape
    (200, (4, 3))
    """

    weights: Floats
    scale: float
    root: Floats
    unidentified: Floats
    log_likelihood: float
    steps: int
    policy: Policy
    status: InferStatus
    mdp: MDP
    episodes: Trajectories
    confidence: float

    def __repr__(self) -> str:
        return f"InferredWeights({len(self.weights)} features, {self.status!r}, {self.steps} steps)"

    @cached_property
    def covariance(self) -> Floats:
        """array [k, k], the mean of (w − weights)(w − weights)ᵀ over plausible w of length 1, if
        the expert is soft and episodes are many.

        Errors across the weights turn them and make θ longer; both are counted.
        """
        across = self.root - np.outer(self.weights, self.weights @ self.root)
        length = math.hypot(self.scale, float(np.linalg.norm(across))) or 1.0
        short = 1.0 - self.scale / length
        turned = across @ across.T / length**2
        return frozen(turned + short**2 * np.outer(self.weights, self.weights))

    @cached_property
    def spread(self) -> Floats:
        """array [k], the standard errors of the weights, if the expert is soft and episodes are
        many; `plausible` needs neither."""
        return frozen(np.sqrt(np.diagonal(self.covariance)))

    @cached_property
    def plausible(self) -> PlausibleWeights:
        """PlausibleWeights, all that the expert's weights may be; found when it is asked for."""
        fit = SoftFit(self.mdp, CHOOSINESS)
        told = forecast(self.mdp, self.episodes.pairs, fit.refit)
        enough = told + math.log(1.0 - self.confidence)
        evidence = Evidence(self.mdp, self.episodes.pairs, self.scale, enough)
        cone = OptimalCone(self.mdp, habits(self.mdp, self.episodes.pairs), self.unidentified)
        return plausible_weights(evidence, cone, self.unidentified, self.weights, self.confidence)

    def sample(self, rng: np.random.Generator, n: int) -> Floats:
        """Plausible weights of length 1, spread evenly over `plausible`.

        Parameters
        ----------
        rng : numpy.random.Generator
        n : int, how many

        Returns
        -------
        array [n, k]
        """
        return self.plausible.sample(rng, n)

    @property
    def summary(self) -> str:
        """str, what is known of the weights, in a few sentences."""
        if self.scale == 0.0:
            return "The episodes say nothing about the weights."
        found = self.plausible
        sure = f"confidence {100 * found.confidence:g} %"
        if not found.experts:
            return (
                f"The weights are not identified: {NONE_FOUND}. So nothing is known of how far the "
                "estimate is off."
            )
        who = "The expert may be optimal but for slips, or soft"
        if Experts.SOFT not in found.experts:
            slips = f"{100 * found.slips:.2g} % of all choices" if found.slips else "none was seen"
            who = f"The expert acts as one who is optimal but for slips ({slips})"
        elif Experts.OPTIMAL not in found.experts:
            who = "The expert acts as one who is soft, taking better actions more often"
        if found.degrees > 90.0:
            return (
                f"{who}: the weights are not identified, as plausible ones point up to "
                f"{math.ceil(found.degrees)} degrees away from the estimate ({sure})."
            )
        said = (
            f"{who}: the direction of the weights is known to within {math.ceil(found.degrees)} "
            f"degrees of the estimate ({sure})."
        )
        if found.slips <= RARELY and Experts.OPTIMAL in found.experts:
            said += (
                " An expert who hardly ever errs is optimal for many weights, and more episodes "
                "of the same kind do not tell which."
            )
        return said


def infer_weights(
    mdp: MDP,
    demonstrations: Trajectories | Demonstration,
    *,
    choosiness: float = CHOOSINESS,
    confidence: float = 0.95,
    tolerance: float = 1e-3,
    max_steps: int = 1000,
) -> InferredWeights:
    """Estimate the weights of the reward that an expert follows.

    Parameters
    ----------
    mdp : MDP with the full features
    demonstrations : Trajectories, or a Demonstration that has them: independent episodes
    choosiness : float, how much better than a random action an expert's may be expected to be, in
        nats (at 10, a random action is taken e^10 times less often): a weak prior, for experts who
        never err
    confidence : float in (0, 1), with which the expert's weights are in the region `plausible`
    tolerance : float, how far the estimate may be from the maximum, in standard errors
    max_steps : int, stop after so many steps

    Returns
    -------
    InferredWeights

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp, rng = ti.worlds.chain(5), np.random.default_rng(0)
    >>> expert = ti.soft_policy(mdp, [0, 0, 0, 0, 1]).policy
    >>> seen = ti.sample_trajectories(mdp, expert, episodes=500, horizon=20, rng=rng)
    >>> found = ti.infer_weights(mdp, seen)
    >>> found.status, len(found.unidentified)  # all cells, and cells of equal parity, count alike
    (CONVERGED, 2)
    >>> true = np.array([-1, 0, -1, 0, 2]) / np.sqrt(6)  # without those directions
    >>> found.plausible.contains(true), found.plausible.contains(-true)
    (True, False)
    """
    check_is_mdp(mdp)
    episodes = _episodes(mdp, demonstrations)
    require(
        0.0 < choosiness < math.inf, f"choosiness must be positive and finite, got {choosiness!r}"
    )
    require(
        isinstance(confidence, (int, float, np.floating)) and 0.0 < confidence < 1.0,
        f"confidence must lie strictly between 0 and 1, got {confidence!r}",
    )
    require(0.0 < tolerance < math.inf, f"tolerance must be positive and finite, got {tolerance!r}")
    require(
        isinstance(max_steps, (int, np.integer)) and max_steps >= 1,
        f"max_steps must be a whole number from 1 on, got {max_steps!r}",
    )
    fit, never = SoftFit(mdp, choosiness), indistinct_directions(mdp)
    theta, point, root, status = fit.run(episodes, tolerance, max_steps)
    theta = never.project(theta)
    scale = float(np.linalg.norm(theta))
    spread = never.project(root.T).T if root.size else root
    # A θ that is nothing beside its own error is rounding, and has no direction.
    if scale <= SOLVED * float(np.linalg.norm(spread)):
        theta, scale = np.zeros_like(theta), 0.0
    return InferredWeights(
        weights=frozen(theta / (scale or 1.0)),
        scale=scale,
        root=frozen(np.ascontiguousarray(spread)),
        unidentified=never.basis,
        log_likelihood=fit.likelihood(point),
        steps=episodes.n_steps,
        policy=Policy(mdp.dynamics, chances=point.chances),
        status=status,
        mdp=mdp,
        episodes=episodes,
        confidence=float(confidence),
    )


def _episodes(mdp: MDP, demonstrations: Trajectories | Demonstration) -> Trajectories:
    episodes: object = demonstrations
    if isinstance(demonstrations, Demonstration):
        episodes = demonstrations.trajectories
        require(
            episodes is not None,
            "demonstrations must have episodes: a Demonstration of feature expectations alone "
            "does not; sample some, or read them from a file",
        )
    if not isinstance(episodes, Trajectories):
        kind = type(demonstrations).__name__
        require(False, f"demonstrations must be Trajectories or a Demonstration, got {kind}")
    assert isinstance(episodes, Trajectories)
    check_trajectories(mdp, episodes)
    return episodes


__all__ = ["InferStatus", "InferredWeights", "infer_weights"]
