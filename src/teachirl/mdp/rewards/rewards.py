"""Several plausible rewards: a list, samples, or a convex set of weights.

A reward is ⟨w, φ⟩, and its weights w may be any of a set W:

- *listed*: one of n, each with a chance;
- *sampled*: anything that a law gives of which n samples are known, such as a posterior; what is
  said of it holds with a confidence;
- *polytope*: any mean of n vertices;
- *box*: w₀ + Lz with |z_i| ≤ 1, such as weights within 20 % of some;
- *ellipsoid*: w₀ + Lz with ‖z‖ ≤ 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Floats, as_floats, at, check_finite, frozen
from ...errors import InvalidInputError, require
from ...figures.digits import counted
from ..estimated import AnyMDP
from .boxes import box_sentence
from .checks import RewardsKind, Samples, check_count, checked_chances, checked_row, checked_rows
from .preferences import Outcome, drawn, half_spaces, vertices_of


@dataclass(frozen=True, eq=False)
class Rewards:
    """Weights that are plausible; made by one of the constructors below.

    Wherever `weights` say what the expert is after, this will do: `worst_case`, `certify`,
    `teaching_risk`, `best_demonstration`, `Task`.

    Attributes
    ----------
    kind : RewardsKind
    mean : array [k], the mean of those listed or sampled, or the middle: what to plan with
    points : array [n, k], those listed or sampled, or the vertices; none of a box or an ellipsoid
    chances : array [n], of those listed; even if nobody says otherwise
    root : array [k, r], L of a box or an ellipsoid

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> opinions = ti.Rewards.listed([[-2, -1, 0, 1, 2], [0, 0, 0, 0, 1]])
    >>> opinions
    Rewards(any of 2 rewards)
    >>> best = ti.optimal_policy(mdp, opinions.mean).policy
    >>> view = ti.Worldview.select(mdp, ["cell 1", "cell 5"])
    >>> round(ti.certify(mdp, view, opinions, best).guaranteed, 6)
    1.0
    """

    kind: RewardsKind
    mean: Floats
    points: Floats
    chances: Floats
    root: Floats

    @classmethod
    def listed(cls, weights: ArrayLike, chances: ArrayLike | None = None) -> Rewards:
        """One of these, each with a chance.

        Parameters
        ----------
        weights : array [n, k]
        chances : array [n], non-negative, with sum 1; all alike by default

        Returns
        -------
        Rewards

        Examples
        --------
        >>> import teachirl as ti
        >>> ti.Rewards.listed([[1, 0], [0, 1]], chances=[0.25, 0.75]).mean
        array([0.25, 0.75])
        """
        points = checked_rows("weights", weights)
        shares = np.full(len(points), 1.0 / len(points))
        if chances is not None:
            shares = checked_chances(chances, len(points))
        return cls._of(RewardsKind.LISTED, shares @ points, points, shares)

    @classmethod
    def sampled(cls, weights: ArrayLike) -> Rewards:
        """Whatever a law gives that these were drawn from, independently.

        Parameters
        ----------
        weights : array [n, k]

        Returns
        -------
        Rewards

        Examples
        --------
        >>> import numpy as np, teachirl as ti
        >>> ti.Rewards.sampled(np.random.default_rng(0).normal(size=(200, 3)))
        Rewards(200 sampled rewards)
        """
        points = checked_rows("weights", weights)
        shares = np.full(len(points), 1.0 / len(points))
        return cls._of(RewardsKind.SAMPLED, shares @ points, points, shares)

    @classmethod
    def posterior(cls, inferred: Samples, n: int, *, rng: np.random.Generator) -> Rewards:
        """What an expert may be after whose weights were inferred: samples of the plausible ones.

        Parameters
        ----------
        inferred : InferredWeights, or whatever else has a method ``sample(rng, n)``
        n : int, how many samples
        rng : numpy.random.Generator

        Returns
        -------
        Rewards

        Examples
        --------
        >>> import numpy as np, teachirl as ti
        >>> mdp, rng = ti.worlds.chain(3), np.random.default_rng(0)
        >>> right = ti.Policy.deterministic(mdp, [1, 1, 0])
        >>> seen = ti.sample_trajectories(mdp, right, episodes=20, horizon=10, rng=rng)
        >>> ti.Rewards.posterior(ti.infer_weights(mdp, seen), 20, rng=rng)
        Rewards(20 sampled rewards)
        """
        require(
            isinstance(inferred, Samples),
            f"inferred must be what infer_weights returns, got {type(inferred).__name__}",
        )
        check_count("n", n)
        return cls.sampled(inferred.sample(rng, int(n)))

    @classmethod
    def polytope(cls, vertices: ArrayLike) -> Rewards:
        """Any mean of these.

        Parameters
        ----------
        vertices : array [n, k]

        Returns
        -------
        Rewards

        Examples
        --------
        >>> import teachirl as ti
        >>> ti.Rewards.polytope([[1, 0], [0, 1]])
        Rewards(any mean of 2 rewards)
        """
        points = checked_rows("vertices", vertices)
        return cls._of(RewardsKind.POLYTOPE, points.mean(axis=0), points)

    @classmethod
    def box(cls, lower: ArrayLike, upper: ArrayLike) -> Rewards:
        """Each weight by itself anything between two.

        Parameters
        ----------
        lower, upper : array [k]

        Returns
        -------
        Rewards

        Examples
        --------
        >>> import teachirl as ti
        >>> ti.Rewards.box([0, 1], [1, 1])
        Rewards(any reward of a box, 1 of 2 weights in doubt)
        """
        low, high = checked_row("lower", lower), checked_row("upper", upper)
        require(low.shape == high.shape, f"lower and upper differ: {low.shape}, {high.shape}")
        bad = np.argwhere(low > high)
        require(len(bad) == 0, f"lower must not be above upper, got {at(low, bad)}")
        return cls._around(RewardsKind.BOX, 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low)

    @classmethod
    def within(cls, weights: ArrayLike, share: ArrayLike) -> Rewards:
        """Each weight by itself up to a share of its size more or less.

        Parameters
        ----------
        weights : array [k]
        share : float, or array [k]; 0.2 for 20 %

        Returns
        -------
        Rewards, a box

        Examples
        --------
        >>> import teachirl as ti
        >>> ti.Rewards.within([1, -2, 0], 0.2)
        Rewards(any reward with each of 2 weights off by up to 20 %)
        """
        middle, shares = checked_row("weights", weights), as_floats("share", share)
        fits = shares.ndim == 0 or shares.shape == middle.shape
        require(fits, f"share must be a number or one for each of {len(middle)} weights")
        bad = np.argwhere(~(np.atleast_1d(shares) >= 0.0) | ~np.isfinite(np.atleast_1d(shares)))
        require(
            len(bad) == 0,
            f"share must be non-negative and finite, got {at(np.atleast_1d(shares), bad)}",
        )
        return cls._around(RewardsKind.BOX, middle, np.abs(middle) * shares)

    @classmethod
    def ellipsoid(cls, weights: ArrayLike, root: ArrayLike) -> Rewards:
        """Weights + root · z for any z with ‖z‖ ≤ 1.

        Parameters
        ----------
        weights : array [k], the middle
        root : array [k, r]; as a region of confidence, a root of the covariance times its quantile

        Returns
        -------
        Rewards

        Examples
        --------
        >>> import numpy as np, teachirl as ti
        >>> ti.Rewards.ellipsoid([1, 0, 0], 0.1 * np.eye(3))
        Rewards(any reward of an ellipsoid with 3 axes)
        """
        middle, axes = checked_row("weights", weights), np.array(as_floats("root", root))
        fits = axes.ndim == 2 and axes.shape[0] == len(middle)
        require(fits, f"root must have shape ({len(middle)}, r), got {axes.shape}")
        check_finite("root", axes)
        return cls._of(RewardsKind.ELLIPSOID, middle, root=axes)

    @classmethod
    def preferring(
        cls,
        preferences: Sequence[tuple[ArrayLike | Outcome, ArrayLike | Outcome]],
        *,
        lower: ArrayLike = -1.0,
        upper: ArrayLike = 1.0,
        samples: int | None = None,
        rng: np.random.Generator | None = None,
    ) -> Rewards:
        """All weights of a box under which the first of each two is at least as good.

        Where the vertices are few enough to be found, and no samples are asked for, it is the whole
        set, by its vertices; otherwise samples, spread evenly over it.

        Parameters
        ----------
        preferences : sequence of pairs (better, worse), each an array [k] of features, or whatever
            has `expectations`, such as ``Demonstration.from_trajectories(mdp, episodes)``
        lower, upper : floats or arrays [k], between which each weight lies
        samples : int, how many to draw; by default the vertices
        rng : numpy.random.Generator, for the samples

        Returns
        -------
        Rewards, a polytope or samples

        Examples
        --------
        >>> import teachirl as ti
        >>> first = ti.Rewards.preferring([([1, 0], [0, 1])])  # the first feature is worth more
        >>> first.points.tolist()
        [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0]]
        """
        rows = half_spaces(preferences)
        k = rows.shape[1]
        low, high = (
            np.broadcast_to(as_floats(name, bound), (k,)).copy()
            for name, bound in (("lower", lower), ("upper", upper))
        )
        cls.box(low, high)  # refuses what is none
        if samples is None:
            points = vertices_of(rows, low, high)
            require(
                points is not None,
                f"{counted(len(rows), 'preference')} between {counted(k, 'feature')} have too many "
                "vertices to list; give samples and rng",
            )
            assert points is not None
            return cls.polytope(points)
        require(
            isinstance(rng, np.random.Generator),
            f"rng must be a numpy.random.Generator, got {type(rng).__name__}",
        )
        check_count("samples", samples)
        assert rng is not None
        return cls.sampled(drawn(rows, low, high, int(samples), rng))

    @classmethod
    def _around(cls, kind: RewardsKind, middle: Floats, reach: Floats) -> Rewards:
        return cls._of(kind, middle, root=np.diag(reach)[:, reach > 0.0])

    @classmethod
    def _of(
        cls,
        kind: RewardsKind,
        mean: Floats,
        points: Floats | None = None,
        chances: Floats | None = None,
        root: Floats | None = None,
    ) -> Rewards:
        k = len(mean)
        return cls(
            kind,
            frozen(np.array(mean)),
            frozen(np.empty((0, k)) if points is None else points),
            frozen(np.empty(0) if chances is None else chances),
            frozen(np.empty((k, 0)) if root is None else root),
        )

    @property
    def n_features(self) -> int:
        """k"""
        return len(self.mean)

    @property
    def convex(self) -> bool:
        """Whether all means of plausible rewards are plausible, too."""
        return self.kind not in (RewardsKind.LISTED, RewardsKind.SAMPLED)

    @property
    def sentence(self) -> str:
        """str, what they are, in a few words."""
        n, r = len(self.points), self.root.shape[1]
        axes = "1 axis" if r == 1 else f"{r} axes"
        return {
            RewardsKind.LISTED: f"any of {counted(n, 'reward')}",
            RewardsKind.SAMPLED: f"{counted(n, 'sampled reward')}",
            RewardsKind.POLYTOPE: f"any mean of {counted(n, 'reward')}",
            RewardsKind.BOX: box_sentence(self.mean, self.root),
            RewardsKind.ELLIPSOID: f"any reward of an ellipsoid with {axes}",
        }[self.kind]

    def draw(self, rng: np.random.Generator, n: int) -> Floats:
        """Some of them: of those listed by their chances, of samples any, of a convex set evenly
        (of a polytope by random shares of its vertices).

        Parameters
        ----------
        rng : numpy.random.Generator
        n : int, how many

        Returns
        -------
        array [n, k]
        """
        if len(self.chances):
            return self.points[rng.choice(len(self.points), n, p=self.chances)]
        if self.kind is RewardsKind.POLYTOPE:
            return np.asarray(rng.dirichlet(np.ones(len(self.points)), n) @ self.points)
        r = self.root.shape[1]
        z = rng.uniform(-1.0, 1.0, (n, r))
        if self.kind is RewardsKind.ELLIPSOID:
            z = rng.standard_normal((n, r))
            z *= (rng.random(n) ** (1.0 / max(r, 1)) / np.linalg.norm(z, axis=1))[:, None]
        return np.asarray(self.mean + z @ self.root.T)

    def check(self, mdp: AnyMDP) -> None:
        """Refuse rewards of another number of features than an MDP has.

        Parameters
        ----------
        mdp : MDP or EstimatedMDP
        """
        require(
            self.n_features == mdp.n_features,
            f"rewards must have {mdp.n_features} weights, one a feature, got {self.n_features}",
        )

    if not TYPE_CHECKING:  # for a type checker, there is no array

        def __array__(self, *_: Any, **__: Any) -> NoReturn:
            raise InvalidInputError("several are plausible, and one is needed; their `mean` is one")

    def __repr__(self) -> str:
        return f"Rewards({self.sentence})"


def refuse_rewards(weights: Any, why: str) -> None:
    """Refuse plausible rewards where there can be one only.

    >>> refuse_rewards([1, 0], "one is needed")
    """
    require(
        not isinstance(weights, Rewards),
        f"weights must be one reward, got several plausible ones: {why}; their `mean` is one",
    )


__all__ = ["Rewards", "RewardsKind", "refuse_rewards"]
