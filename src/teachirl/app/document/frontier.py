"""What a budget buys, as a section."""

from __future__ import annotations

from ...figures.digits import NOTHING, asked, money, percent_at_least, risk
from ..decisions import Frontier, Point, Search
from ..problem import Problem
from .charts import frontier_figure
from .elements import Column, Data, Fact, Headline, Section, Sentence, Table


def frontier_headline(problem: Problem, found: Frontier) -> Headline:
    """The numbers and the sentences that matter most."""
    most, enough = found.points[-1], found.enough
    if found.wanted is None:
        return (
            Fact("most that can be bought", most.guaranteed, percent_at_least),
            Fact("for a cost of", most.cost, money),
        ), ()
    wanted = asked(found.wanted)
    cost = None if enough is None else enough.cost
    said = f"No set of features that was tried guarantees {wanted}."
    if enough is not None:
        said = (
            f"The cheapest set found that guarantees {wanted} costs {money(enough.cost)}: "
            f"{_set(enough)}."
        )
    label = f"cheapest for {wanted}"
    return (Fact(label, cost, lambda x: NOTHING if x is None else money(x)),), (Sentence(said),)


def what_a_budget_buys(problem: Problem, found: Frontier) -> Section:
    """What can be guaranteed for how much."""
    table = Table(
        "Sets of features worth their cost",
        (
            Column("cost", "cost", money),
            Column("guaranteed", "guaranteed", percent_at_least),
            Column("risk", "risk", risk),
            Column("features", None),
            Column("", "teach", value=_set),
        ),
        found.points,
        "points",
    )
    return Section(
        "What a budget buys",
        (
            frontier_figure(found),
            table,
            Sentence(_method(found), "method"),
            Data("exact", lambda: found.exact),
            Data("sets", lambda: found.sets),
            Data("wanted", lambda: found.wanted),
            Data("enough", lambda: found.enough),
        ),
    )


def _method(found: Frontier) -> str:
    """How the sets were found."""
    return {
        Search.ALL: (
            f"Exact: shown the same, no set of features guarantees more for its cost. There are "
            f"{2**found.free}; to know it of all, {found.sets} were tried."
        ),
        Search.GREEDY: (
            f"Greedy: all sets that {found.plans} greedy plans lead through were tried, and those "
            f"with a feature less, {found.sets} in all. Others may guarantee more for their cost."
        ),
        Search.OUT_OF_TIME: (
            f"Stopped after {found.seconds:g} seconds, having tried {found.sets} of the sets of "
            "features: what is shown is proved, but others may guarantee more for their cost. "
            "`--seconds` gives it more time."
        ),
    }[found.search]


def _set(point: Point) -> str:
    return ", ".join(point.features) or "(nothing)"


__all__ = ["frontier_headline", "what_a_budget_buys"]
