"""What a problem is made of, as sections."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ...figures.digits import NOTHING, as_known, money, number, percent, visible
from ..decisions import Check, Notice, Oddity
from ..problem import Problem
from ..problem.places import listed
from .elements import Bullets, Column, Data, Fact, Facts, Headline, Section, Sentence, Table
from .expert import what_the_expert_does
from .rewards import earned, reward_range
from .stakes import impossible_goals, recorded, shown_facts, the_expert, who_earns

# Letters that are read at a glance.
GLANCE = 120


def check_headline(problem: Problem, found: Check) -> Headline:
    """The numbers and the sentences that matter most."""
    mdp = problem.mdp
    # What is odd about the expert stands above.
    told = found.account.doubtful or found.account.tell_left_lying
    said = "Beside that, no mistake was found" if told else "No mistake was found"
    if found.notices:
        said += f", but look at {_counted(len(found.notices), 'thing')} below"
    return (
        Fact("states", mdp.n_states, str, "states"),
        Fact("state-action pairs", mdp.n_pairs, str, "pairs"),
        Fact("features", mdp.n_features, str),
        Fact("of which the learner sees", problem.worldview.rank, str, "seen"),
        Fact("that could be taught", len(problem.teachables.names), str, "teachable"),
    ), (Sentence(f"{said}."),)


def what_looks_odd(problem: Problem, found: Check) -> Section:
    """Warnings: what may be as it is, but looks like a mistake."""
    hopeless = impossible_goals(problem)
    said = tuple(Sentence(_notice(each, hopeless)) for each in found.notices)
    kinds = [{"kind": each.kind, "names": each.names} for each in found.notices]
    return Section("To look at", (Bullets(said, "warnings"), Data("oddities", lambda: kinds)))


def what_there_is(problem: Problem, found: Check) -> Section:
    """All features, and what the expert does with them."""
    per = None if found.undiscounted is None else f"per {found.undiscounted.per}"
    unit = "pairs" if problem.mdp.features_per_pair else "states"
    earns = partial(earned, problem)
    most = max(abs(each.expert) for each in found.features)
    parts = partial(as_known, known=(found.reward,), scale=reward_range(problem))
    collected = partial(as_known, known=(found.reward,), scale=most)
    plain = partial(visible, scale=max(abs(each.undiscounted or 0.0) for each in found.features))
    account, instead = found.account, found.account.instead
    both = account.record is not None or instead is not None
    seen, whose = recorded(problem), "optimal" if problem.guessed else "expert"
    title = f"Features, and what {'was recorded' if seen else f'{the_expert(problem)} does'}"
    table = Table(
        title,
        (
            Column("name", "feature"),
            Column("weight", "weight", number),
            Column("seen", "seen", lambda seen: "yes" if seen else ""),
            Column("price", "price", lambda price: "" if price is None else money(price)),
            Column("least", "least", number),
            Column("most", "most", number),
            Column("share", f"{unit} with it", percent),
            Column("expert", "recorded" if seen else whose, collected),
            Column("undiscounted", per, lambda x: NOTHING if x is None else plain(x)),
            Column("earned", "earns", parts),
        ),
        found.features,
        "features",
    )
    combinations = Table(
        "Combinations that could be taught",
        (
            Column("name", "combination"),
            Column("price", "price", money),
            Column("", "of", listed, lambda each: [f"{number(w)} {n}" for n, w in each.weights]),
            Column("weights", None, value=lambda each: dict(each.weights)),
        ),
        found.combinations,
        "combinations",
    )
    amounts = f"Amounts of {the_expert(problem)} are"
    if seen:
        amounts = "Recorded amounts are means of episodes,"
    about = (
        f"Least and most are those of states that one can get to. {amounts} "
        f"discounted by {problem.mdp.discount:g} a step"
        f"{f'; those {per} are not' if per else ''}."
    )
    return Section(
        title,
        (
            Facts(
                (
                    Fact(who_earns(problem), found.reward, earns, "reward"),
                    *shown_facts(
                        None if instead is None else instead.reward, earns, "shown_reward"
                    ),
                )
            ),
            table,
            Sentence(about),
            combinations,
            *((what_the_expert_does(found.account),) if both else ()),
            Data("undiscounted_per", lambda: found.undiscounted and found.undiscounted.per),
        ),
    )


def _notice(notice: Notice, hopeless: str = "") -> str:
    names = _few(notice.names)
    many = len(notice.names) != 1
    is_, it, has = ("are", "them", "have") if many else ("is", "it", "has")
    return {
        Oddity.NEVER: (
            f"{names} {is_} 0 wherever one can get: no policy has any of {it}, and to see {it} "
            "shows nothing."
        ),
        Oddity.CONSTANT: (
            f"{names} {has} the same value wherever one can get: no policy can change {it}, and to "
            f"see {it} shows nothing."
        ),
        Oddity.UNCHANGEABLE: (
            f"All policies have the same amount of {names}, so that the weight says nothing: does "
            "any action lead there?"
        ),
        Oddity.SAME: f"{names} are equal wherever one can get: who sees one of them sees all.",
        Oddity.MULTIPLES: (
            f"{names} are multiples of each other wherever one can get: who sees one of them sees "
            "all."
        ),
        Oddity.SEEN: (
            f"{names} could be taught, but what the learner sees already says as much: that would "
            "be paid for in vain."
        ),
        Oddity.UNREACHED: (
            f"{_counted(len(notice.names), 'state')} {is_} never reached from the start, whatever "
            f"one does: {names}."
        ),
        Oddity.TOO_DEAR: "plan.max_cost buys nothing: all that could be taught costs more.",
        Oddity.BROKEN_LIMIT: (
            f"What is shown does not keep the limit on {names} itself: whatever is taught, who "
            "does just that looks right."
        ),
        Oddity.MISSED_GOAL: (
            f"What is shown misses {names} of [plan] itself: whatever is taught, who does just "
            "that looks right."
        ),
        Oddity.IMPOSSIBLE: f"Asked for in [plan]: {hopeless}.",
        Oddity.NOTHING_TO_TEACH: "There is nothing that could be taught; [teach] says what could.",
    }[notice.kind]


def _few(names: Sequence[str]) -> str:
    """The first six names or, if those are long, as many as are read at a glance; never a part."""
    told = list(map(repr, names[:6]))
    while len(told) > 1 and sum(map(len, told)) > GLANCE:
        told.pop()
    more = f", … ({len(names)} in all; --json lists them)" if len(names) > len(told) else ""
    return ", ".join(told) + more


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


__all__ = ["check_headline", "what_looks_odd", "what_there_is"]
