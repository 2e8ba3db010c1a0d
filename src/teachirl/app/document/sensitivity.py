"""What is left of the guarantee where the learner misses a little, as a section."""

from __future__ import annotations

from collections.abc import Callable

from ...figures.digits import asked, at_most
from ...views.worldview import Worldview
from ..decisions import Assessment, Frontier, TeachingPlan
from ..decisions.misses import episodes_end, frailty, quickly_told
from ..problem import Problem
from .charts import sensitivity_figure
from .elements import Column, Data, Element, Explanation, Section, Sentence, Table
from .expert import baseline_words
from .notes import LEFT_OUT
from .rewards import earned, guaranteed, performance
from .stakes import the_expert

TITLE = "If the learner misses what is shown"
AFTER = ", after the plan"
ABOUT = (
    "No learner matches to the last digit. A mismatch is counted in units of what policies can "
    "change of each of the learner's features: 5 % is a twentieth of the difference between the "
    "policy with the most of a feature and the one with the least, and of several features the "
    'root of the sum of squares. `mismatch = "5 %"` in [plan] asks for guarantees at one of them.'
)
FLATTERED = (
    "Episodes end here: whoever matches exactly sees when they do in any feature that is there all "
    "along, and so the guarantee for an exact match flatters. Trust what is left of it at a "
    "mismatch."
)
FROM_EXPERT = (
    "It is the expert that learners are taken to match, whose sample the recordings are: the "
    "recordings' error is added to each mismatch."
)
FROM_RECORDINGS = (
    "What is guaranteed above is for learners who miss the recordings by up to {} in their "
    "features as they are, as does the policy that comes nearest to them in all features. Here "
    "shares of each feature's range are counted from the same recordings, so that a small one may "
    "guarantee more, or be out of reach."
)
NOBODY = "nobody"
NONE_SO_NEAR = (
    f"Where it says {NOBODY}, no policy comes so near to what is shown, and there is nothing to "
    "guarantee."
)


def how_frail(problem: Problem, found: Assessment | TeachingPlan | Frontier) -> Sentence:
    """How much imprecision the guarantee does not bear, in short; empty if it bears it, or if to
    know that takes long: then the section says it.

    Parameters
    ----------
    problem : Problem
    found : Assessment, TeachingPlan or Frontier

    Returns
    -------
    Sentence
    """
    quick = quickly_told(problem, _view(found))
    return Sentence(_frail(problem, found) if quick else "", "frail")


def _view(found: Assessment | TeachingPlan | Frontier) -> Worldview:
    return found.problem.worldview if isinstance(found, Assessment) else found.view


def _frail(problem: Problem, found: Assessment | TeachingPlan | Frontier) -> str:
    weak = frailty(problem, found.demonstration, found.stakes, found.sensitivity)
    if weak is None:
        return ""
    said = (
        f"That is for learners who match to the last digit: of those who miss what is shown "
        f"by {asked(weak.share)} of what policies can change, "
        f"{guaranteed(problem, weak.reward)} of reward is guaranteed, "
    )
    nothing = f"{baseline_words(weak.idle)} earns ({earned(problem, weak.idle_reward)})"
    if weak.worse_than_nothing:
        return f"{said}less than {nothing}."
    return f"{said}less than half of what {the_expert(problem)} earns beyond what {nothing}."


def _counted_from(problem: Problem, found: Assessment | TeachingPlan, from_expert: bool) -> str:
    """From what mismatches count where episodes were recorded; empty if none were."""
    if from_expert:
        return FROM_EXPERT
    asked_for = problem.mismatch or problem.mismatch_share
    if not found.mismatch or asked_for or found.demonstration.error == 0.0:
        return ""
    return FROM_RECORDINGS.format(at_most(found.mismatch))


def if_the_learner_misses(problem: Problem, found: Assessment | TeachingPlan) -> Section:
    """What is guaranteed at a few mismatches, as things stand or after a plan: a row and a curve.

    Parameters
    ----------
    problem : Problem
    found : Assessment or TeachingPlan

    Returns
    -------
    Section
    """
    known = found.sensitivity
    then = isinstance(found, TeachingPlan) and bool(found.taught)
    title = f"{TITLE}{AFTER if then else ''}"
    if known is None:
        return Section(title, (Sentence(LEFT_OUT),))
    task = problem.task
    shares = [0.0, *known.shares.tolist()]
    from_expert = problem.matching.keeps(found.demonstration)
    exact = from_expert or not found.mismatch
    rewards = [found.stakes.reward if exact else None, *known.rewards.tolist()]
    if from_expert:  # who comes nearer is promised no less, and no more is proved of them
        rewards = [min(each, found.stakes.reward) for each in rewards]
    performances = [None if each is None else task.relative_at_least(each) for each in rewards]
    told = [i for i, each in enumerate(rewards) if each is not None]
    near = [True, *known.attainable.tolist()]

    def cells(said: Callable[[int], str]) -> list[str]:
        return [said(i) if near[i] else NOBODY for i in told]

    rows = (
        ("guaranteed", cells(lambda i: performance(problem, performances[i] or 0.0))),
        ("reward at least", cells(lambda i: guaranteed(problem, rewards[i] or 0.0))),
    )
    headings = ["exact" if i == 0 else asked(shares[i]) for i in told]
    columns = [Column("", "missed by", value=lambda row: row[0])]
    columns += [_column(place, heading) for place, heading in enumerate(headings)]
    points = [(shares[i], performances[i] or 0.0) for i in told if near[i]]
    elements: tuple[Element, ...] = (
        Explanation(ABOUT),
        Sentence("" if quickly_told(problem, _view(found)) else _frail(problem, found)),
        Sentence(_counted_from(problem, found, from_expert)),
        Sentence(FLATTERED if episodes_end(problem) else "", "flattered"),
        Table(
            f"What is guaranteed at a few mismatches{AFTER if then else ''}", tuple(columns), rows
        ),
        *([] if all(near) else [Sentence(NONE_SO_NEAR)]),
        *([sensitivity_figure(problem, points)] if points else []),
        Data(
            "sensitivity",
            lambda: [
                {
                    "share": shares[i],
                    "guaranteed": performances[i],
                    "reward": rewards[i],
                    "attainable": near[i],
                }
                for i in told
            ],
        ),
    )
    return Section(title, elements)


def _column(place: int, heading: str) -> Column:
    return Column("", heading, value=lambda row: row[1][place])


__all__ = ["how_frail", "if_the_learner_misses"]
