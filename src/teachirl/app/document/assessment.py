"""How things stand, as sections."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...figures.digits import (
    NOTHING,
    asked,
    at_most,
    counted,
    percent_at_least,
    risk,
    small,
)
from ...guarantees.apparent_optimality import Look
from ...learners import LinearProgram
from ...precision import INVISIBLE
from ..decisions import Assessment, Guarantee, Outcome, Simulated
from ..decisions.worth import risk_misleads
from ..problem import Problem
from .amounts import of_recordings, plain_amounts
from .charts import differences_figure
from .elements import (
    Bullets,
    Column,
    Data,
    Element,
    Explanation,
    Fact,
    Facts,
    Headline,
    Section,
    Sentence,
    Table,
)
from .expert import baseline_words, what_the_expert_does
from .inferred import other_weights
from .notes import LEFT_OUT, cut_short, why_below
from .plausible import asked_under_all
from .rewards import costs, earned, guaranteed, lost_at_most, performance, reward_range
from .sensitivity import how_frail
from .stakes import (
    ALL,
    goals_elements,
    goals_sentence,
    most_lost,
    nothing_lost,
    recorded,
    reward_facts,
    shown_facts,
    stakes_sentence,
    what_is_shown,
    who_earns,
    why_out_of_reach,
)
from .tables import differences_table, policy_rows

REWARDS = ("best", "worst", "expert")
MISTAKEN = "The worst policy that could be mistaken for the expert's"
MISTAKEN_FOR_SHOWN = "The worst policy that could be mistaken for what is shown"
MISTAKEN_FOR_OPTIMAL = "The worst policy that could be mistaken for the optimal one"
RELATIVE = "teaching risk in what policies can change"
EXPLAINED = {
    "Theorem 1": (
        "It multiplies the part of the reward that is hidden from the learner, the teaching risk, "
        "by how far apart two policies can be at all. It is quick and often says little: a low "
        "number here is no bad news, only a reason to read the next lines."
    ),
    "width": (
        "It takes the part of the reward that the learner cannot see and asks how far below the "
        "expert a policy can fall in that part alone. It never promises less than Theorem 1, but "
        "still fears policies that would look wrong to the learner."
    ),
    "exact": (
        "It searches all policies that look right to the learner, to the mismatch allowed, for "
        "the one that earns least. Where the search is complete, no more can be promised of all "
        "such learners: only teaching more, or showing something else, helps."
    ),
}


def assessment_headline(problem: Problem, found: Assessment) -> Headline:
    """The numbers and the sentences that matter most."""
    hidden, tells = Fact("teaching risk", found.risk, risk, "risk"), _risk_tells(found)
    spot, share = found.blind_spot, partial(performance, problem)
    hides = _not_seen(problem, found, spot.sentence if tells else spot.confused)
    return (
        Fact("guaranteed as things stand", found.guaranteed, share, "guaranteed"),
        *reward_facts(problem, found.stakes, "as things stand"),
        *((hidden,) if tells else ()),
    ), (
        Sentence(_of_everyone(found)),
        stakes_sentence(problem, found.stakes, "As things stand"),
        how_frail(problem, found),
        other_weights(problem, found.doubt, "as things stand"),
        Sentence(_goals_now(found)),
        asked_under_all(problem, found),
        cut_short(found.cut, found.patience.seconds, kept=found.unfinished),
        Sentence(hides, "blind_spot"),
    )


def _not_seen(problem: Problem, found: Assessment, said: str) -> str:
    """What the learner cannot see, and that nothing hangs on it, if nothing does."""
    if said and problem.inferred is not None and not problem.inferred.plausible.signs.all():
        said = f"By the weights' estimate, {said[:1].lower()}{said[1:]}"
    if not said or not nothing_lost(problem, found.stakes):
        return said
    so = "All the same" if found.blind_spot.direction.any() else "So"
    return f"{said} {so}, whoever matches what is shown does as well."


def _goals_now(found: Assessment) -> str:
    said, why = goals_sentence(found.stakes.goals), why_out_of_reach(found.problem)
    never = f" Not to be had by teaching: {why}." if why else ""
    return f"As things stand, {said[:1].lower()}{said[1:]}{never}" if said else ""


def _risk_tells(found: Assessment) -> bool:
    """Whether something is guaranteed by the teaching risk alone, and something is at risk; and it
    is not a terrible weight, which the expert may never meet, that it mostly counts."""
    if risk_misleads(found.problem):
        return False
    # By the width, which is never looser than Theorem 1, and known at once.
    room = INVISIBLE * (found.best - found.worst)
    safe = found.stakes.loss <= room and found.risk > INVISIBLE
    return found.proved.width.least > found.worst + room and not safe


def _of_everyone(found: Assessment) -> str:
    """What is proved of all learners, and on which terms."""
    if not found.proved.matchable:
        return "No policy matches what is shown this closely, so that nothing is guaranteed."
    who, share = "matches what is shown", found.problem.mismatch_share
    if share:
        who = f"misses what is shown by {asked(share)} of what policies can change, or less,"
    elif found.mismatch > 0.0:
        who = f"misses what is shown by {at_most(found.mismatch)} or less, in what it sees,"
    least = performance(found.problem, found.guaranteed)
    least = least if least == ALL else f"{least} or more"
    holds = f"As things stand, every learner who {who} reaches {least}, whatever the algorithm"
    sure = _confidence(found)
    if sure < 1.0:
        holds += f", with confidence {percent_at_least(sure)}"
    return f"{holds}."


def _confidence(found: Assessment) -> float:
    """With which that holds: of recordings that are to be matched themselves, whoever was recorded,
    only the log of a world can mislead."""
    problem, model = found.problem, found.problem.world.model
    given = problem.mismatch is not None or problem.mismatch_share is not None
    if recorded(problem) and (given or problem.match == "recordings"):
        return 1.0 if model is None else model.confidence
    return found.confidence


def how_things_stand(problem: Problem, found: Assessment) -> Section:
    """What is known at once: the world, the expert, and the worst that looks the same."""
    mdp, witness, earns = problem.mdp, found.witness, partial(earned, problem)
    base = baseline_words(problem.baseline)
    hidden = Fact("teaching risk", found.risk, risk, "risk")

    return Section(
        "How things stand",
        (
            Sentence(
                f"{counted(mdp.n_states, 'state')}, {counted(mdp.n_pairs, 'state-action pair')}, "
                f"{counted(mdp.n_features, 'feature')} of which the learner sees "
                f"{problem.worldview.rank}, discount {mdp.discount:g}",
                "world",
            ),
            Facts(
                (
                    Fact("the best policy earns", found.best, earns),
                    Fact(who_earns(problem), found.expert, earns),
                    *shown_facts(found.stakes.shown, earns),
                    Fact("the worst policy earns", found.worst, earns),
                    *(() if _risk_tells(found) else (hidden,)),
                    Fact(RELATIVE, found.relative_risk, risk, "relative_risk"),
                )
            ),
            Data("reward", lambda: {name: getattr(found, name) for name in REWARDS}),
            Explanation(
                f"Performance is relative: the best policy has 100 %, {base} 0 %. The teaching "
                "risk says how much of the reward is hidden from the learner, from 0 (nothing) to "
                "1 (all of it)."
            ),
            _weights(problem, found),
            what_the_expert_does(found.account),
            *goals_elements(found.stakes),
            Data("mismatch", lambda: found.mismatch),
            Data("confidence", lambda: found.confidence),
            Data("worst_policy", lambda: policy_rows(witness)),
            _could_go_wrong(problem, found),
            plain_amounts(
                problem,
                {
                    "recorded": of_recordings(problem),
                    "expert": found.demonstration.policy,
                    "worst": found.witness,
                },
                "as things stand",
                found.patience,
                _column_of_shown(problem),
            ),
        ),
    )


def _weights(problem: Problem, found: Assessment) -> Table:
    """The features that count; in the JSON alone, unless the weights are inferred."""
    inferred = None if problem.inferred is None else problem.inferred.plausible
    counts = found.weights if inferred is None else np.ones(len(found.weights))
    ends = inferred if inferred is not None and inferred.experts else None
    return Table(
        "The reward",
        (
            Column("name", None, value=problem.mdp.feature_name),
            Column("weight", None, value=lambda i: float(found.weights[i])),
            Column("lower", None, value=lambda i: ends and float(ends.lower[i])),
            Column("upper", None, value=lambda i: ends and float(ends.upper[i])),
        ),
        tuple(int(i) for i in np.flatnonzero(counts)),
        "weights",
    )


def what_is_guaranteed(problem: Problem, found: Assessment) -> Section:
    """What is proved of the learner before anything is taught, from loose to exact."""
    proved, scale = found.certificate, reward_range(problem)
    share = partial(performance, problem)
    bounds = {each.name: each for each in proved.bounds}
    expert = what_is_shown(problem)
    said = {name: proved.in_words(each, scale, expert) for name, each in bounds.items()}

    def explained(each: Guarantee) -> Section:
        here = f"Here: {said[each.name][:1].lower()}{said[each.name][1:]}"
        title = each.name[:1].upper() + each.name[1:]
        return Section(title, (Explanation(EXPLAINED[each.name]), Explanation(here, aside=True)))

    table = Table(
        "Certificates, from loose to exact",
        (
            Column("name", "by"),
            Column("reward", "reward at least", partial(guaranteed, problem)),
            Column("performance", "performance", share),
            Column("behind", f"behind {expert} at most", partial(lost_at_most, problem)),
            Column("sentence", None, value=lambda each: said[each.name]),
            Column("assumes", None, value=lambda each: bounds[each.name].assumes),
        ),
        found.guarantees,
        "guarantees",
    )
    missing = f"Theorem 1: {_left_out(problem)}"
    if proved.theorem_1 is not None:
        missing = _for_the_recordings(found, "Theorem 1 allows")
    elements: tuple[Element, ...] = table, Sentence(missing), *map(explained, found.guarantees)
    return Section("What is guaranteed", elements)


def _could_go_wrong(problem: Problem, found: Assessment) -> Section:
    """The worst policy that looks the same, feature by feature."""
    whose, title = "recorded" if recorded(problem) else _column_of_shown(problem), MISTAKEN
    called = ""
    if problem.chosen is not None:
        title, called = MISTAKEN_FOR_SHOWN, "in what is shown"
    elif problem.guessed:
        title = MISTAKEN_FOR_OPTIMAL
    table = differences_table(
        "How the worst policy differs",
        found.differences,
        (whose, "worst", "reward lost"),
        partial(costs, problem, whole=found.stakes.loss),
    )
    elements: tuple[Element, ...] = (table,)
    if found.differences:
        figure = differences_figure(found.differences, (what_is_shown(problem), "the worst"))
        worst = found.differences[0]
        said = most_lost(problem, worst, found.stakes, whose=called) if worst.lost > 0.0 else ""
        elements = (Sentence(said), figure, table)
    elif found.witness is not None:
        elements = (Sentence(f"It has as much of each feature as {what_is_shown(problem)}."), table)
    return Section(title, elements)


def _column_of_shown(problem: Problem) -> str:
    """What a column of the policy that is shown is called."""
    if problem.chosen is not None:
        return "shown"
    return "optimal" if problem.guessed else "expert"


def what_learners_do(problem: Problem, found: Assessment) -> Section:
    """What learners would do."""
    transitions, rows = problem.mdp.dynamics.transitions.nnz, problem.worldview.n_rows
    table = Table(
        "Learners, simulated",
        (
            Column("name", "learner"),
            Column(
                "performance",
                "performance",
                lambda x: NOTHING if x is None else performance(problem, x),
            ),
            Column("mismatch", "mismatch", lambda x: NOTHING if x is None else small(x)),
            Column("ended", "how it ended", value=lambda each: _ended(each, transitions, rows)),
        ),
        found.learners,
        "learners",
    )
    below = "" if found.below is None else why_below(found.below, found.guaranteed)
    return Section("What learners would do", (table, Sentence(below, "below")))


def _ended(each: Simulated, transitions: int, rows: int) -> str:
    program = f"a linear program of {counted(transitions, 'transition')} takes too long"
    factors = f"{counted(rows, 'feature')} of the learner's would take too long"
    said = {
        Outcome.LEARNED: str(each.status),
        Outcome.WORST_CASE: "the worst that matches, by the exact worst case",
        Outcome.OUT_OF_STEPS: (
            f"stopped after {counted(each.steps or 0, 'step')}, all that there are in a world of "
            "this size"
        ),
        Outcome.TOO_LARGE: (
            f"not simulated: {program if each.name == LinearProgram.__name__ else factors}"
        ),
        Outcome.REFUSED: f"not simulated: {each.error}",
        Outcome.CUT: "not simulated: cut short, as the time for it was up",
        Outcome.INTERRUPTED: "not simulated, as it was interrupted",
    }
    return said[each.outcome]


def _left_out(problem: Problem) -> str:
    """Why the theorems are not there."""
    return LEFT_OUT if problem.world.model is None else "It needs a world that is known."


def how_the_expert_looks(problem: Problem, found: Assessment) -> Section:
    """Whether the expert can look optimal to the learner."""
    proved = found.certificate
    said: tuple[Sentence, ...] = (Sentence(_left_out(problem)),)
    if proved.theorem_2 is not None and proved.look is not None:
        said = Sentence(proved.theorem_2.sentence), Sentence(_look(proved.look))
        allowed = _for_the_recordings(found, "Both allow")
        said += (Sentence(f"{allowed} It is no sign of missing features."),) if allowed else ()
    expert, does = what_is_shown(problem), "does" if problem.chosen is None else "is"
    about = (
        "Theorem 2 of the paper and the exact answer ask the other way round: is there a reward in "
        f"the learner's own features under which {expert} {does} the best there is? If not, "
        f"a learner who looks for such a reward will do something else than {expert}, and may say "
        f"that {expert} makes mistakes."
    )
    own = not problem.guessed and problem.chosen is None
    who = "the expert's behaviour" if own else expert
    title = f"Can {who} look optimal to the learner?"
    return Section(title, (Explanation(about), Bullets(said, "looks")))


def _for_the_recordings(found: Assessment, allows: str) -> str:
    """By what more episodes would tighten what is said; nothing if nothing was recorded."""
    if found.demonstration.error == 0.0:
        return ""
    off = at_most(found.demonstration.error)
    error = f"an error of the recordings of {off} in all features"
    return f"{allows} for {error}, which may be most of it."


def _look(look: Look) -> str:
    """Whether the expert can look optimal, without the digits of rounding."""
    if look.vacuous or look.share > INVISIBLE:
        return look.sentence
    return (
        "There is a reward in the learner's features under which the demonstrated policy is "
        "optimal, up to rounding."
    )


__all__ = [
    "assessment_headline",
    "how_the_expert_looks",
    "how_things_stand",
    "what_is_guaranteed",
    "what_learners_do",
]
