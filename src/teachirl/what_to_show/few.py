"""A handful of episodes that stand for an expectation, for those who watch and do not integrate.

What an episode τ of a policy shows within H steps, in the learner's features, is

    x(τ) = Σ_{t<H} γᵗ Aφ(s_t, a_t),    and    E x(τ) = b = A μ_H

is what all of them show together. As a mean, b lies in the convex hull of the x(τ), so that by
Carathéodory ℓ + 1 episodes, shown in the right shares, have exactly the mean b. Here they are
sought among episodes that were drawn, or recorded: the nearest point to b of their hull is a
non-negative least-squares problem (Lawson and Hanson's method keeps the columns in use independent,
so that there are ℓ + 1 at most), and its residual x̄ − b = d·q, ‖q‖ = 1, proves that no shares do
better: all of the hull is at least min ⟨q, x(τ) − b⟩ away.

Where episodes are shown a whole number of times, n in all, they are chosen by herding, each to make
up best for those before, and from rounded shares; then one is exchanged for another as long as that
helps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its parts are loaded when they are used
import scipy.sparse as sp

from ..arrays import Floats, Ints, frozen
from ..demonstrations.demonstration import Demonstration, Shows, as_demonstration
from ..demonstrations.sampling import sample_trajectories
from ..demonstrations.trajectories import Trajectories
from ..errors import Status, require
from ..figures.digits import at_least, at_most
from ..mdp.model import MDP
from ..mdp.policy import Policy
from ..precision import (
    EPS,
    INVISIBLE,
    MATCHED,
    down,
    first_largest,
    length_at_least,
    length_at_most,
    up,
)
from ..views.worldview import Worldview, check_worldview


class FewStatus(Status):
    """How near a few episodes come; the text says what to do about it.

    Examples
    --------
    >>> import teachirl as ti
    >>> [status.name for status in ti.FewStatus]
    ['MATCHED', 'NEAREST', 'COUNTED']
    """

    MATCHED = "they have the mean of all, up to rounding"
    NEAREST = "no shares of the episodes that were drawn come nearer; raise drawn for others"
    COUNTED = "whole numbers of showings come no nearer, as far as was found; raise showings"


@dataclass(frozen=True, eq=False)
class FewDemonstrations:
    """A few episodes to show, how often each, and how near their mean comes.

    Attributes
    ----------
    trajectories : Trajectories, the episodes, all different; what is shown most comes first
    shares : array [m], how much of all that is shown each of them is; they add up to 1
    times : int array [m], how often each is shown; None if only shares were asked for
    seen : array [ℓ], their mean in the learner's features, discounted
    target : array [ℓ], what all episodes show within as many steps
    distance : float, ‖seen − target‖ is at most this; rounding is counted
    at_least : float, no shares of the episodes that were drawn come nearer than this; proved
    beyond : float, what is left out because episodes are cut off: the target is at most this far
        from what the demonstration says
    drawn : int, how many different episodes they were chosen from
    status : FewStatus

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp, rng = ti.worlds.chain(3), np.random.default_rng(0)
    >>> view = ti.Worldview.select(mdp, ["cell 3"])
    >>> few = ti.few_demonstrations(mdp, view, ti.Policy.uniform(mdp), horizon=20, rng=rng)
    >>> len(few.trajectories), few.status
    (2, MATCHED)
    """

    trajectories: Trajectories
    shares: Floats
    times: Ints | None
    seen: Floats
    target: Floats
    distance: float
    at_least: float
    beyond: float
    drawn: int
    status: FewStatus

    def __post_init__(self) -> None:
        for field in (self.shares, self.seen, self.target):
            frozen(field)

    @property
    def sentence(self) -> str:
        """str, how near they come, in one sentence."""
        count = len(self.shares)
        return (
            f"{count} episode{'' if count == 1 else 's'} of {self.drawn}: within "
            f"{at_most(self.distance)} of what all show; none can come nearer than "
            f"{at_least(self.at_least)}."
        )

    def __repr__(self) -> str:
        count = len(self.shares)
        return (
            f"FewDemonstrations({count} episode{'' if count == 1 else 's'}, at most "
            f"{at_most(self.distance)} off, {self.status!r})"
        )


def few_demonstrations(
    mdp: MDP,
    view: Worldview,
    demonstration: Demonstration | Policy | Shows,
    *,
    horizon: int,
    rng: np.random.Generator,
    showings: int | None = None,
    drawn: int = 1000,
) -> FewDemonstrations:
    """A few episodes whose mean, in the learner's features, is nearest to what is to be shown.

    They are chosen from episodes of the demonstrated policy or, where none is known, from those
    that were recorded, as they are. In shares, at most ℓ + 1 of them are needed.

    Parameters
    ----------
    mdp : MDP
    view : Worldview of the one who watches
    demonstration : Demonstration or Policy, what is to be shown; with a policy or with episodes
    horizon : int, after how many steps an episode ends that has not ended by itself
    rng : numpy.random.Generator, of the episodes that are drawn
    showings : int, how many episodes are watched in all, some of them several times; None for
        shares
    drawn : int, how many episodes of the policy are drawn to choose from

    Returns
    -------
    FewDemonstrations

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp, rng = ti.worlds.gridworld(4, slip=0.3), np.random.default_rng(0)
    >>> view = ti.Worldview.select(mdp, [12, 15])
    >>> best = ti.optimal_policy(mdp, np.eye(16)[15]).policy
    >>> few = ti.few_demonstrations(mdp, view, best, horizon=40, rng=rng)
    >>> len(few.shares), few.distance < 1e-9
    (3, True)
    >>> few = ti.few_demonstrations(mdp, view, best, horizon=40, rng=rng, showings=6)
    >>> int(few.times.sum()), few.distance < 0.05
    (6, True)
    """
    check_worldview(view, mdp)
    shown = as_demonstration(mdp, demonstration)
    for name, value in (("horizon", horizon), ("drawn", drawn), ("showings", showings)):
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        fine = (value is None and name == "showings") or (whole and value is not None)
        require(fine and (value is None or value >= 1), f"{name} must be at least 1, got {value!r}")
    require(
        shown.policy is not None or shown.trajectories is not None,
        "demonstration must have a policy or episodes: of expectations alone there is none to show",
    )
    if shown.policy is not None:
        episodes = sample_trajectories(mdp, shown.policy, episodes=drawn, horizon=horizon, rng=rng)
        mu, steps = expectations_within(mdp, shown.policy, horizon), int(horizon)
    else:
        assert shown.trajectories is not None
        episodes, mu = shown.trajectories, shown.expectations
        steps = int(episodes.lengths.max())
    episodes = _different(episodes)
    pool = _Pool(mdp, view, episodes, view.matrix @ mu, steps)
    shares, floor = pool.nearest()
    times = None
    if showings is not None:
        times = pool.counted(shares, showings)
        shares = times / showings
    return _few(pool, episodes, shares, times, floor, view.matrix @ (shown.expectations - mu))


def _few(
    pool: _Pool,
    episodes: Trajectories,
    shares: Floats,
    times: Ints | None,
    floor: float,
    missing: Floats,
) -> FewDemonstrations:
    order = np.argsort(-shares, kind="stable")
    order = order[shares[order] > 0.0]
    off = shares[order] @ pool.points[order]
    distance = pool.scale * up(length_at_most(off) + pool.blur)
    status = FewStatus.NEAREST if times is None else FewStatus.COUNTED
    if distance <= MATCHED * pool.scale:
        status = FewStatus.MATCHED
    return FewDemonstrations(
        trajectories=_taken(episodes, order),
        shares=shares[order],
        times=None if times is None else times[order],
        seen=pool.target + pool.scale * off,
        target=pool.target,
        distance=distance,
        at_least=min(pool.scale * floor, distance),
        beyond=up(length_at_most(missing) + pool.scale * pool.blur),
        drawn=len(episodes),
        status=status,
    )


class _Pool:
    """Episodes to choose from, as points (x(τ) − b)/scale; b is a sum over so many steps."""

    def __init__(
        self, mdp: MDP, view: Worldview, episodes: Trajectories, target: Floats, summed: int
    ) -> None:
        self.target: Floats = np.asarray(target, dtype=float)
        phi: Any = view.observe(mdp).features
        rows = episodes.pairs if mdp.features_per_pair else episodes.states
        lengths, offsets = episodes.lengths, episodes.offsets
        steps = np.arange(len(rows)) - np.repeat(offsets[:-1], lengths)
        discounts = mdp.discount ** steps.astype(float)
        which = sp.csr_array((discounts, rows, offsets), shape=(len(episodes), phi.shape[0]))
        seen = which @ phi
        points = np.asarray(seen if isinstance(seen, np.ndarray) else seen.todense(), dtype=float)
        # What a step can add at most, in any of the learner's features, times all steps.
        sizes = np.abs(view.matrix) @ mdp.largest_entries
        span = length_at_most(sizes) / (1.0 - mdp.discount)
        self.scale = span or 1.0
        self.points: Floats = (points - self.target) / self.scale
        # Each number is a sum of so many products, each right to a few eps of its share of `span`:
        # steps, also after all that were drawn have ended, the flow into a state at each of them,
        # and the learner's features.
        into = int(np.bincount(mdp.dynamics.transitions.indices).max())
        terms = summed * (into + 4) + len(rows) + mdp.n_pairs + mdp.n_features + 16
        self.blur = terms * EPS

    def nearest(self) -> tuple[Floats, float]:
        """Shares [m] whose mean is nearest to 0, and what no shares come nearer than."""
        count, width = self.points.shape
        if width == 0 or count == 1:
            shares = np.eye(1, count)[0]
        else:
            # min ‖λP‖² + (Σλ − 1)² over λ ≥ 0 has, up to its sum, the nearest point's shares.
            rows = np.vstack([self.points.T, np.ones(count)])
            found, _ = scipy.optimize.nnls(rows, np.append(np.zeros(width), 1.0))
            shares = found / found.sum()
        off = shares @ self.points
        length = float(np.linalg.norm(off))
        if length <= self.blur:
            return shares, 0.0
        q = off / length_at_most(off)  # not longer than 1
        least = float((self.points @ q).min()) - (width + 4) * EPS
        return shares, max(down(least - self.blur), 0.0)

    def counted(self, shares: Floats, showings: int) -> Ints:
        """How often to show each [m], so that the mean is near 0."""
        best, least = self._herded(showings), np.inf
        for start in (self._rounded(shares, showings), best):
            times, off = self._exchanged(start)
            if off < least - INVISIBLE:
                best, least = times, off
        return best

    def _rounded(self, shares: Floats, showings: int) -> Ints:
        """The shares as whole numbers: rounded down, and up where most is cut off."""
        wanted = shares * showings
        times = np.floor(wanted + INVISIBLE).astype(np.int64)
        rest = np.round(wanted - times, 9)
        for each in np.argsort(-rest, kind="stable")[: showings - int(times.sum())]:
            times[each] += 1
        return times

    def _herded(self, showings: int) -> Ints:
        """Each showing is the one that makes up best for those before."""
        times, total = np.zeros(len(self.points), dtype=np.int64), np.zeros(self.points.shape[1])
        for _ in range(showings):
            off = np.linalg.norm(total + self.points, axis=1)
            each = first_largest(-off, INVISIBLE)
            times[each] += 1
            total += self.points[each]
        return times

    def _exchanged(self, start: Ints) -> tuple[Ints, float]:
        """Exchange one showing for another as long as that helps; the times, and how far off."""
        times = start.copy()
        while True:
            total = times @ self.points
            now = float(np.linalg.norm(total))
            used = np.flatnonzero(times)
            off = np.linalg.norm(
                (total - self.points[used])[:, None, :] + self.points[None], axis=2
            )
            out, into = divmod(first_largest(-off.ravel(), INVISIBLE), len(self.points))
            if off[out, into] >= now - INVISIBLE:
                return times, float(length_at_least(total))
            times[used[out]] -= 1
            times[into] += 1


def expectations_within(mdp: MDP, policy: Policy, horizon: int) -> Floats:
    """array [k], E Σ_{t<H} γᵗ φ: what a policy does within so many steps.

    Parameters
    ----------
    mdp : MDP
    policy : Policy
    horizon : int, H

    Returns
    -------
    array [k]

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(3)
    >>> expectations_within(mdp, ti.Policy.uniform(mdp), 2).round(3).tolist()
    [0.483, 0.933, 0.483]
    """
    dynamics = mdp.dynamics
    pairs = np.arange(mdp.n_pairs)
    chosen = sp.csr_array(
        (policy.probabilities, (dynamics.pair_states, pairs)), shape=(mdp.n_states, mdp.n_pairs)
    )
    inflow = sp.csr_array((chosen @ dynamics.transitions).T)
    now, visits = np.array(mdp.start, dtype=float), np.zeros(mdp.n_states)
    for step in range(horizon):
        visits += mdp.discount**step * now
        now = inflow @ now
    taken = visits
    if mdp.features_per_pair:
        taken = visits[dynamics.pair_states] * policy.probabilities
    return np.asarray(mdp.features.T @ taken, dtype=float)


def _different(episodes: Trajectories) -> Trajectories:
    """Each episode once, in the order in which they came."""
    first: dict[bytes, int] = {}
    for i in range(len(episodes)):
        steps = episodes.pairs[episodes.offsets[i] : episodes.offsets[i + 1]]
        first.setdefault(steps.tobytes() + episodes.terminated[i].tobytes(), i)
    return _taken(episodes, np.array(list(first.values())))


def _taken(episodes: Trajectories, chosen: Ints) -> Trajectories:
    """Some of the episodes, in this order."""
    spans = [slice(episodes.offsets[i], episodes.offsets[i + 1]) for i in chosen]
    return Trajectories(
        np.concatenate([episodes.states[span] for span in spans]),
        np.concatenate([episodes.pairs[span] for span in spans]),
        np.concatenate([[0], np.cumsum(episodes.lengths[chosen])]),
        episodes.terminated[chosen],
    )


__all__ = ["FewDemonstrations", "FewStatus", "expectations_within", "few_demonstrations"]
