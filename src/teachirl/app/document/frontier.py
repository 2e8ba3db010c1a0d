"""What a budget buys, as a section."""

from __future__ import annotations

from functools import partial

from ...figures.digits import (
    NOTHING,
    money,
    percent_at_most,
    risk,
)
from ...precision import up
from ...teaching.goal import GoalKind
from ..decisions import Cut, Frontier, Point
from ..decisions.worth import risk_misleads
from ..problem import Problem
from .charts import frontier_figure
from .elements import Column, Data, Fact, Headline, Section, Sentence, Table
from .inferred import other_weights
from .notes import cut_short
from .plausible import asked_under_all
from .rewards import guaranteed, lost_at_most, performance
from .sensitivity import how_frail
from .stakes import (
    all_asked_for,
    goals_elements,
    missed,
    reward_facts,
    stakes_sentence,
    why_out_of_reach,
)
from .worth import told_apart


def frontier_headline(problem: Problem, found: Frontier) -> Headline:
    """The numbers and the sentences that matter most."""
    most, enough, goals = found.points[-1], found.enough, found.stakes.goals
    share = partial(performance, problem)
    short = cut_short(found.cut, found.seconds, kept=True)
    loss = stakes_sentence(problem, found.stakes, "With it")
    frail = how_frail(problem, found)
    others = other_weights(problem, found.doubt, "by it")
    facts = reward_facts(problem, found.stakes, "by it")
    if not goals:
        bought = "most that can be bought" if found.exact else "most that was found"
        return (
            Fact(bought, most.guaranteed, share),
            Fact("for a cost of", most.cost, money),
            *facts,
        ), (loss, frail, others, short)
    broken = [each for each in goals if each.goal in problem.out_of_reach]
    rest = [each for each in goals if enough is None or each not in broken]
    wanted = all_asked_for(rest) if rest else "what can be had"
    why = why_out_of_reach(problem)
    because = f" Why not: {why}." if why else ""
    cost = None if enough is None else enough.cost
    # A cheaper set may be there that was not looked at.
    cheapest = enough is not None and found.enough_at_least == enough.cost
    if enough is None:
        said = (
            f"{_none_found(found)} guarantees {wanted}. {missed(goals)}, by the set that comes "
            f"nearest, for {money(found.told.cost)}: {_set(found.told)}.{because}"
        )
    else:
        known = "" if cheapest and not found.left_out else " found"
        does = f"guarantees {wanted}"
        if broken:
            does = "comes as near as what is shown" + (f" and {does}" if rest else "")
        said = f"The cheapest set{known} that {does} costs {money(enough.cost)}: {_set(enough)}."
        if broken:
            said = f"{missed(broken)}.{because} {said}"
    label = "cheapest that comes as near" if broken else f"cheapest for {wanted}"
    at_most = "" if cheapest else "at most "
    show = Fact(label, cost, lambda x: NOTHING if x is None else f"{at_most}{money(x)}")
    if enough is None and found.told is most:
        facts = (
            Fact("most that was found", most.guaranteed, share),
            *facts,
        )
    else:
        facts = (
            Fact("guaranteed by it", found.told.guaranteed, share),
            *facts,
        )
    under = asked_under_all(problem, found)
    return (show, *facts), (Sentence(said), under, loss, frail, others, short)


def _none_found(found: Frontier) -> str:
    """How it is known that no set does; or why none was found."""
    if found.enough_at_least is None and not found.left_out:
        return "No set of features"
    if found.cut is None:
        return "No set of features that was tried"
    until = "Before Ctrl-C"
    if found.cut is Cut.OUT_OF_TIME:
        until = f"In the {found.seconds:g} seconds that there were"
    return f"{until}, no set of features was found that"


def what_a_budget_buys(problem: Problem, found: Frontier) -> Section:
    """What can be guaranteed for how much."""
    # A risk that is the same for all tells nothing of them; nor does one that a terrible weight
    # stretches.
    tells = len({risk(point.risk) for point in found.points}) > 1 and not risk_misleads(problem)
    table = Table(
        "Sets of features worth their cost",
        (
            Column("cost", "cost", money),
            Column("guaranteed", "guaranteed", partial(performance, problem)),
            Column("at_most", None if found.exact else "at most", percent_at_most),
            Column("reward", "reward", partial(guaranteed, problem)),
            *_loss_column(problem, found),
            Column("risk", "risk" if tells else None, risk),
            Column("features", None),
            Column("", "teach", value=_set),
        ),
        found.points,
        "points",
    )
    return Section(
        "What a budget buys",
        (
            frontier_figure(problem, found),
            table,
            Sentence(_method(problem, found), "method"),
            Sentence(_for_limits(found)),
            *goals_elements(found.stakes),
            Data("exact", lambda: found.exact),
            Data("sets", lambda: found.sets),
            Data("enough_at_least", lambda: found.enough_at_least),
            Data("wanted", lambda: found.wanted),
            Data("enough", lambda: found.enough),
        ),
    )


def _loss_column(problem: Problem, found: Frontier) -> tuple[Column, ...]:
    """How far behind the expert learners may be, if that was asked about."""
    if not any(each.goal.kind is GoalKind.MAX_LOSS for each in found.stakes.goals):
        return ()
    earned = problem.goals.expert_reward
    return (
        Column(
            "",
            "loss at most",
            partial(lost_at_most, problem),
            lambda point: max(up(earned - point.reward), 0.0),
        ),
    )


def _method(problem: Problem, found: Frontier) -> str:
    """What was searched, and what is known of the rest."""
    add = told_apart(problem, found.worth)
    if found.exact:
        return (
            f"Exact: shown the same, no set of features guarantees {add} more for its cost. There "
            f"are {2**found.free}; to know it of all, {found.sets} were tried."
        )
    if found.cut is None:
        return (
            f"Of {found.free + found.left_out} features, all sets of the {found.free} that a "
            f"greedy plan takes first were searched: of these, none guarantees {add} more for its "
            f"cost. Sets with others may."
        )
    said = (
        f"{found.sets} of {2 ** (found.free + found.left_out)} sets of features "
        f"{'was' if found.sets == 1 else 'were'} tried. What is guaranteed is proved. "
        "Another set may guarantee more for its cost, but none more than it says under at most."
    )
    return f"{said} Nothing is known of sets with other features." if found.left_out else said


def _for_limits(found: Frontier) -> str:
    """Why a row guarantees less reward than one that costs no more; empty if none does."""
    told, goals = found.told, found.stakes.goals
    even = [each for each in found.points if each is not told and each.cost <= told.cost]
    more = max(even, key=lambda each: each.reward, default=told)
    limits = [each.goal.name for each in goals if each.goal.kind is GoalKind.LIMIT]
    if more.reward <= told.reward or not limits:
        return ""
    many = len(limits) > 1
    breaks = f"breaks {'one of them' if many else 'it'}"
    if found.enough is None:
        breaks = f"is further from {'them' if many else 'it'}"
    return (
        f"The row for {money(told.cost)} ({_set(told)}) is there for the limit{'s' * many} on "
        f"{' and '.join(limits)}: {_set(more)}, for {money(more.cost)}, guarantees more of the "
        f"reward, and {breaks}."
    )


def _set(point: Point) -> str:
    return ", ".join(point.features) or "(nothing)"


__all__ = ["frontier_headline", "what_a_budget_buys"]
