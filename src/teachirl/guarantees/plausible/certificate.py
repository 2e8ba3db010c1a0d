"""What is proved of every learner who matches, if the reward is any of several."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...arrays import Floats, frozen
from ...errors import Status, require
from ...figures.cards import card
from ...figures.digits import at_least, at_most, percent_at_least, percent_at_most
from ...mdp import clock
from ...mdp.estimated import EstimatedMDP
from ...mdp.policy import Policy
from ...mdp.rewards.checks import RewardsKind
from ...mdp.rewards.rewards import Rewards
from ...views.potential_shaping import Indistinct
from ..bounds import WorstCaseBounds, check_limits, check_sizes
from .judgement import Criterion, Judgement, Measure
from .race import Posed, Race
from .sets import Found, least_over
from .tails import Tail, share_below

# Up to so many rewards, their mean is not solved first.
FEW = 4


class RewardsStatus(Status):
    """How well the answer over several rewards is known; the text says what to do about it.

    Examples
    --------
    >>> import teachirl as ti
    >>> [status.name for status in ti.RewardsStatus]
    ['OPTIMAL', 'INTERVAL', 'IN_DOUBT', 'INFEASIBLE', 'OUT_OF_BUDGET']
    """

    OPTIMAL = "the bounds are as close as asked"
    INTERVAL = "the bounds hold and stay apart; list rewards, or doubt fewer weights, to know more"
    IN_DOUBT = "as close as what is known of the world allows; a longer log says more"
    INFEASIBLE = "no policy matches the demonstration this closely; raise mismatch"
    OUT_OF_BUDGET = "stopped early with valid bounds; allow more seconds"


@dataclass(frozen=True, eq=False)
class RewardsCertificate:
    """What every learner who matches reaches, if the reward is any of these.

    Attributes
    ----------
    rewards : Rewards
    criterion : Criterion, what is bounded
    tail : Tail, which number of many: the least, a quantile, or the mean of a tail
    lower, upper : floats around that number. Of a performance or a reward `lower` is proved, of a
        gap or a regret `upper`; the other end is reached under `weights` by the witness. If no
        policy matches, nothing is: a performance is 0 to 0
    weights : array [k], plausible ones under which it is about that bad
    worst : WorstCaseBounds, the worst case under these
    each : array [n, 2], between which the criterion lies under each reward that is listed, sampled
        or a vertex; of a box or an ellipsoid [0, 2]
    beyond : float, the share of plausible rewards that the guarantee leaves out
    confidence : float, with which all of it holds
    solved : int, how many rewards' worst cases were solved, some of them roughly
    solves : int, how many MDPs were
    status : RewardsStatus

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> rewards = ti.Rewards.within([-2, -1, 0, 1, 2], 0.2)
    >>> best = ti.optimal_policy(mdp, rewards.mean).policy
    >>> view = ti.Worldview.select(mdp, ["cell 1", "cell 5"])
    >>> found = ti.certify(mdp, view, rewards, best, judgement=ti.Judgement("gap"))
    >>> found.status, found.worst.witness is not None
    (OPTIMAL, True)
    """

    rewards: Rewards
    criterion: Criterion
    tail: Tail
    lower: float
    upper: float
    weights: Floats
    worst: WorstCaseBounds
    each: Floats
    beyond: float
    confidence: float
    solved: int
    solves: int
    status: RewardsStatus

    @property
    def guaranteed(self) -> float:
        """The end that is proved: `lower` of a performance or a reward, else `upper`."""
        return self.lower if self.criterion.sign > 0 else self.upper

    @property
    def witness(self) -> Policy | None:
        """Policy that looks right and is that bad under `weights`; None if none was found."""
        return self.worst.witness

    @property
    def matchable(self) -> bool:
        """False if it is proved that no policy matches the demonstration this closely."""
        return self.status is not RewardsStatus.INFEASIBLE

    @property
    def sentence(self) -> str:
        """str, what is proved and what it rests on, in one sentence."""
        if not self.matchable:
            return "Nothing is guaranteed: no policy matches the demonstration."
        what = {
            Criterion.PERFORMANCE: f"reaches {percent_at_least(self.lower)} or more",
            Criterion.GAP: f"earns at most {at_most(self.upper)} less than what is shown",
            Criterion.REGRET: f"earns at most {at_most(self.upper)} less than the best policy",
            Criterion.REWARD: f"earns {at_least(self.lower)} or more",
        }[self.criterion]
        sure = ""
        if self.confidence < 1.0:
            sure = f", with confidence {percent_at_least(self.confidence)}"
        return f"Every learner who matches {what}{_whatever(self)}{sure}."

    def __repr__(self) -> str:
        bounds = f"{at_least(self.lower)} to {at_most(self.upper)}"
        return f"RewardsCertificate({self.criterion.value} {bounds}, {self.status!r})"

    def _repr_html_(self) -> str:
        facts = (
            (f"{self.criterion.value} at least", at_least(self.lower)),
            ("at most", at_most(self.upper)),
            ("worst cases solved", f"{self.solved}"),
            ("status", str(self.status)),
        )
        return card("If the reward is any of these", facts, notes=[self.sentence])

    def __str__(self) -> str:
        return self.sentence


def _whatever(found: RewardsCertificate) -> str:
    """Under which of the rewards."""
    kind, share = found.rewards.kind, percent_at_most(found.beyond)
    if found.tail.measure is Measure.CVAR:
        of = "samples" if kind is RewardsKind.SAMPLED else "rewards"
        return f" in the mean of the worst {share} of the {of}"
    if found.beyond > 0.0:
        if kind is RewardsKind.SAMPLED:
            return f" under all but {share} of plausible rewards"
        return f" under rewards that have {percent_at_least(1.0 - found.beyond)} of the chances"
    return f" under {found.rewards.sentence}"


def over_rewards(
    posed: Posed,
    rewards: Rewards,
    judgement: Judgement,
    *,
    tolerance: float,
    max_seconds: float,
    indistinct: Indistinct | None = None,
) -> RewardsCertificate:
    """What is proved if the reward is any of these; `certify` is the way in."""
    rewards.check(posed.mdp)
    check_limits(tolerance, max_seconds)
    rows = rewards.points if len(rewards.points) else rewards.mean[None]
    check_sizes("the rewards", np.vstack([rows, rewards.root.T]))
    what, meant = Criterion(judgement.criterion), _tail(rewards, judgement)
    span = None
    if what is Criterion.PERFORMANCE:
        require(
            bool(rewards.mean.any()) or not rewards.convex,
            "the middle of the rewards must not be zero: nothing is guaranteed if both a reward "
            "and its opposite are plausible",
        )
        require(bool(rows.any()), "rewards must not be all zero: every policy then earns the same")
        span = posed.ground.range_between(rewards.mean) if rewards.convex else None
    race = Race(posed, what, tolerance, clock.seconds() + max_seconds, span)
    each = np.empty((0, 2))
    if rewards.convex:
        found = least_over(race, rewards, indistinct)
    else:
        found, numbers = _finite(race, rewards, meant)
        part = slice(numbers.start, numbers.stop)
        each = np.stack([race.low[part], race.reached(numbers)], 1)
    return _certificate(race, rewards, meant, found, each)


def _finite(race: Race, rewards: Rewards, tail: Tail) -> tuple[Found, range]:
    """Rewards that are listed or sampled; and which numbers they have in the race."""
    numbers = race.add(rewards.points)
    if len(numbers) > FEW:
        [reference] = race.add(rewards.mean[None])
        race.solve(reference)
        race.prove_others(math.inf)
    while True:
        timely = race.run(numbers, rewards.chances, tail)
        worst = _that_bad(race, numbers, rewards, tail, timely)
        if worst in race.cases:
            break
        # What others say of it was enough; who is that bad, its own worst case says.
        race.solve(worst)
    part = slice(numbers.start, numbers.stop)
    low, high = (tail.of(each[part], rewards.chances) for each in (race.low, race.high))
    settled = not race.matchable or high - low <= race.asked
    return Found(low, high, worst, settled, timely), numbers


def _that_bad(race: Race, numbers: range, rewards: Rewards, tail: Tail, timely: bool) -> int:
    """The reward that has what is meant; of the mean of a tail, or out of time, the one that comes
    nearest of those that were solved."""
    meant = tail.of(race.high[numbers.start : numbers.stop], rewards.chances)
    solved = [number for number in numbers if number in race.cases]
    of_one = timely and tail.measure is not Measure.CVAR
    among = numbers if of_one or not solved else solved
    return min((_off(race, number, meant), number) for number in among)[1]


def _off(race: Race, number: int, meant: float) -> tuple[float, bool, float]:
    """How far a reward is from what is meant; of those that are close enough, solved ones first."""
    high = float(race.high[number])
    off = 0.0 if high == meant else abs(high - meant)
    return max(off - race.asked, 0.0), number not in race.cases, off


def _certificate(
    race: Race, rewards: Rewards, tail: Tail, found: Found, each: Floats
) -> RewardsCertificate:
    worst, reached = race.cases.get(found.worst) or race.solve(found.worst), found.high
    if race.matchable and isinstance(race.posed.mdp, EstimatedMDP):
        # What the witness does in its world; of a tail, what is known of all rewards.
        least = tail.measure is Measure.LEAST
        reached = float(race.reached([found.worst])[0])
        reached = max(reached if least else tail.of(each[:, 1], rewards.chances), found.low)
    status = RewardsStatus.OPTIMAL if found.settled else RewardsStatus.INTERVAL
    if found.settled and reached - found.low > max(race.asked, found.high - found.low):
        status = RewardsStatus.IN_DOUBT
    status = status if found.timely else RewardsStatus.OUT_OF_BUDGET
    ends = np.vstack([[found.low, reached], each])
    if not race.matchable:
        status = RewardsStatus.INFEASIBLE
        nothing = 0.0 if race.criterion is Criterion.PERFORMANCE else math.inf
        ends = np.full_like(ends, nothing)
    elif race.criterion.sign < 0:
        ends = -ends[:, ::-1] + 0.0
    sure, beyond = tail.confidence, tail.share
    if sure < 1.0 and tail.measure is Measure.LEAST:
        beyond = share_below(len(rewards.points), sure)
    return RewardsCertificate(
        rewards=rewards,
        criterion=race.criterion,
        tail=tail,
        lower=float(ends[0, 0]),
        upper=float(ends[0, 1]),
        weights=frozen(race.points[found.worst].copy()),
        worst=worst,
        each=frozen(ends[1:]),
        beyond=beyond,
        confidence=max(race.posed.confidence + sure - 1.0, 0.0),
        solved=race.solved,
        solves=race.solves,
        status=status,
    )


def _tail(rewards: Rewards, judgement: Judgement) -> Tail:
    require(
        judgement.tail is None or not rewards.convex,
        f"tail needs chances, which {rewards.sentence} has not; list rewards, or sample them",
    )
    # The mean of a tail is that of the samples, and no more is said of their law.
    sampled = rewards.kind is RewardsKind.SAMPLED and judgement.measure is not Measure.CVAR
    sure = float(judgement.confidence) if sampled else 1.0
    return Tail(Measure(str(judgement.measure)), float(judgement.tail or 0.0), sure)


__all__ = ["RewardsCertificate", "RewardsStatus", "over_rewards"]
