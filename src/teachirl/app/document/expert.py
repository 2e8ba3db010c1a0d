"""What the expert does, and what is odd about it, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ...figures.digits import NOTHING, ROUNDING, as_known, number, steady
from ..decisions import Collected, ExpertAccount, Instead, Record
from ..problem import Baseline
from .elements import Column, Section, Sentence, Table
from .notes import LEFT_OUT

# Of more features the first are named, and the others counted.
NAMED = 5


def baseline_words(baseline: Baseline) -> str:
    """Who has a performance of 0 %."""
    return {
        "worst": "the worst policy",
        "uniform": "acting at random",
        "nothing": f"doing nothing ({baseline.name})",
        "action": f"always {baseline.name}",
        "policy": f"the policy of {baseline.name}",
    }[baseline.kind]


def what_the_expert_does(account: ExpertAccount) -> Section:
    """How much the expert has of every feature that counts, and what that earns."""
    ends = [each.weight * x for each in account.collected for x in (each.least, each.most)]
    ends += [each.earned for each in account.collected]
    scale = max((abs(end) for end in ends if math.isfinite(end)), default=0.0)
    who, known = _who(account), (account.reward, account.idle_reward)

    def shown(reward: float) -> str:
        return as_known(reward, known, scale)

    whose, title = "recorded" if account.estimated else "amount", "What the expert does"
    taped: tuple[Column, ...] = ()
    if account.record is not None:
        whose, title = "optimal", "What was recorded, and what an optimal policy does"
        taped = (
            Column("", "recorded", value=lambda each: number(each.recorded, _scale(each))),
            Column("recorded", None),
            Column("recorded_earned", "earns", shown),
        )
    chosen: tuple[Column, ...] = ()
    if account.instead is not None:
        title = "What the expert does, and what is shown"
        chosen = (
            Column("", "shown", value=lambda each: number(each.shown, _scale(each))),
            Column("shown", None),
            Column("shown_earned", "earns", shown),
        )
    table = Table(
        f"The features that count: how much {who} has of each, and what that earns",
        (
            Column("name", "feature"),
            Column("weight", "weight", number),
            *taped,
            Column("", whose, value=lambda each: as_known(each.amount, known, _scale(each))),
            Column("amount", None),
            Column("earned", "earns", shown),
            *chosen,
            Column("", "policies have", value=lambda each: _range(each, known)),
            Column("least", None),
            Column("most", None),
        ),
        account.collected,
        "expert",
        brief=12,
    )
    idle = f"{_capital(baseline_words(account.idle))} earns {shown(account.idle_reward)}."
    if math.isnan(account.idle_reward):
        idle = f"What {baseline_words(account.idle)} earns: {LEFT_OUT}"
    left = "" if account.tell_left_lying else _left_lying(account)
    return Section(title, (table, Sentence(idle), Sentence(left)))


def warnings(account: ExpertAccount) -> tuple[Sentence, ...]:
    """What is odd about the expert; nothing if all seems well."""
    return tuple(map(Sentence, _warnings(account)))


def _left_lying(account: ExpertAccount) -> str:
    """What is hardly ever collected, and little beside all else; empty if there is none."""
    where, left = "in what was recorded " if account.estimated else "", account.left_lying
    if not left:
        return ""
    return f"{_capital(where + _who(account))} {_how_often(left)} collects {_earning(left)}."


def _how_often(features: Sequence[Collected]) -> str:
    return "never" if all(each.never_collected for each in features) else "hardly ever"


def _who(account: ExpertAccount) -> str:
    return "the expert" if account.record is None else "an optimal policy for the estimate"


def _of_the_record(account: ExpertAccount, record: Record) -> Iterator[str]:
    """What is odd about the recordings that the weights were inferred from."""
    earned = f"by the weights' estimate the recordings earn {steady(record.reward)} in the mean"
    waiting, idle = baseline_words(account.idle), steady(account.idle_reward)
    best = f"an optimal policy for the estimate {steady(account.reward)}"
    if record.hardly_better:
        worse = record.at_most < account.idle_reward - ROUNDING * account.turnover
        yield (
            f"Look at the expert first: {earned}, {'less' if worse else 'hardly better'} than "
            f"{waiting} ({idle}); {best}. Guarantees are for learners who are shown the latter: of "
            "those who imitate the recordings they say nothing."
        )
    elif record.far:
        yield (
            f"Look at the expert first: {earned}, {waiting} {idle}, {best}: the expert is "
            "far from optimal, or wants something else. Guarantees are for learners who are shown "
            "an optimal policy: of those who imitate the recordings they say nothing."
        )


def _warnings(account: ExpertAccount) -> Iterator[str]:
    if account.instead is not None and account.instead.doubtful:
        yield (
            "Look at what is shown first: the policy that was chosen for this learner "
            f"{of_little_use(account.instead, _who(account))}. "
            f'show = "optimal" in [demonstration] shows what {_who(account)} does.'
        )
    seen = "in what was recorded " if account.estimated else ""
    first, it = "Look at the expert first", "it"
    if account.record is not None:
        yield from _of_the_record(account, account.record)
        first, it = "Look at the estimate first", _who(account)
    if account.passed_over:
        yield (
            f"{first}: {seen}{it} {_how_often(account.passed_over)} collects "
            f"{_earning(account.passed_over)}. Is the reward what you mean?"
        )
    if account.never_avoided:
        yield (
            f"{first}: {seen}{it} has as much of {_names(account.never_avoided)} as "
            f"there can be, though that costs {number(account.cost_unavoided)} and could be "
            "avoided. Is that the price of what it earns, or is the reward not what you mean?"
        )
    if account.hardly_better:
        worse = account.reward < account.idle_reward - ROUNDING * account.turnover
        yield (
            f"{first}: {seen}{it} earns {steady(account.reward)}, "
            f"{'less' if worse else 'hardly better'} than {baseline_words(account.idle)} "
            f"({steady(account.idle_reward)}). What is guaranteed of those who imitate it is worth "
            "little."
        )
    if account.tell_left_lying:
        yield f"{_left_lying(account)} Is that meant?"


def of_little_use(shown: Instead, expert: str) -> str:
    """What a policy that is shown in the expert's place does not do."""
    said = f"earns {steady(shown.reward, shown.expert)}"
    if shown.hardly_better:
        worse = shown.reward < shown.idle_reward - ROUNDING * abs(shown.expert)
        said += (
            f", {'less' if worse else 'hardly better'} than {baseline_words(shown.idle)} "
            f"({steady(shown.idle_reward, shown.expert)})"
        )
    said += f", where {expert} earns {steady(shown.expert)}"
    if shown.uncollected:
        worth = number(shown.worth)
        said += f"; it never collects {few(shown.uncollected)}, which earns {worth} there"
    return said


def _earning(features: Sequence[Collected]) -> str:
    """Features, and what they could earn."""
    most = max(each.could_earn for each in features)
    if math.isnan(most):
        return f"{_names(features)}, which would earn"
    return f"{_names(features)}, which could earn up to {number(most)}"


def _names(features: Sequence[Collected]) -> str:
    return few([each.name for each in features])


def few(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - NAMED
    return f"{', '.join(names[:NAMED])}{f' and {more} more' if more > 0 else ''}"


def _range(each: Collected, known: tuple[float, ...]) -> str:
    if math.isnan(each.most):
        return NOTHING
    least, most = (as_known(x, known, _scale(each)) for x in (each.least, each.most))
    return f"{least} … {most}"


def _scale(each: Collected) -> float:
    return 0.0 if math.isnan(each.most) else max(abs(each.least), abs(each.most))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


__all__ = ["baseline_words", "few", "of_little_use", "warnings", "what_the_expert_does"]
