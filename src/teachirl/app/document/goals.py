"""Amounts of goals, in words: what is asked for, what is guaranteed, and what is shown has."""

from __future__ import annotations

from collections.abc import Callable

from ...figures.digits import (
    DIGITS,
    ROUNDING,
    asked,
    at_least,
    at_most,
    compared,
    exactly,
    number,
    percent_at_least,
    promised_of,
    steady,
    steady_loss,
)
from ...precision import ROUNDED, SEARCH_TIE
from ...teaching.goal import Goal, GoalKind
from ..decisions import GoalResult
from .rewards import rounding_of


def asked_for(goal: Goal, *amounts: float) -> str:
    """What a goal asks for, so that the amounts of it that stand beside compare as they do."""
    wanted = _wanted(goal, *amounts)
    return {
        GoalKind.GUARANTEE: asked(goal.wanted),
        GoalKind.MAX_LOSS: f"a loss of at most {wanted}",
        GoalKind.AT_LEAST: f"a reward of at least {wanted}",
        GoalKind.LIMIT: f"{goal.name} at {'most' if goal.most else 'least'} {wanted}",
    }[goal.kind]


def _wanted(goal: Goal, *amounts: float) -> str:
    """The amount that is asked for, as it was said; one that was computed in few digits, never
    looser than it is, and in more where these would not compare with other amounts as it does."""
    if not goal.computed:
        return exactly(goal.wanted)

    def shown(value: float, digits: int = DIGITS) -> str:
        return (at_least if goal.most else at_most)(value, goal.told_by, digits)

    apart = [amount for amount in amounts if not _is_wanted(goal, amount)]
    said = (compared(goal.wanted, each, not goal.most, shown, goal.told_by) for each in apart)
    return max((shown(goal.wanted), *said), key=len)


def _is_wanted(goal: Goal, amount: float) -> bool:
    """Whether an amount is what a goal asks for, up to rounding."""
    return abs(amount - goal.wanted) <= ROUNDING * max(goal.told_by, abs(goal.wanted))


def amount_of(goal: Goal, amount: float) -> str:
    """An amount that is guaranteed of a goal, rounded towards the safe side, in as many digits as
    tell whether it is met."""
    if goal.kind is GoalKind.MAX_LOSS:
        return beside(goal, amount, _loss)
    return beside(goal, amount, at_most if goal.most else at_least)


def beside(goal: Goal, amount: float, rounded: Callable[[float, float, int], str]) -> str:
    """An amount of what a goal is about, so that it compares with what was asked for as it does."""
    if goal.kind is GoalKind.GUARANTEE:
        amount = 1.0 if 1.0 - amount <= ROUNDED * goal.scale else amount
        share = compared(
            100.0 * amount,
            100.0 * goal.wanted,
            goal.most,
            lambda value, digits: percent_at_least(value / 100.0, digits - 3).removesuffix(" %"),
            100.0 * goal.scale,
        )
        return f"{share} %"
    if _is_wanted(goal, amount):
        return _wanted(goal)
    if abs(amount) <= rounding_of(goal.scale, goal.told_by):
        return "0"
    return compared(
        amount,
        goal.wanted,
        goal.most,
        lambda value, digits: rounded(value, goal.told_by, digits),
        goal.told_by,
    )


def amount_in(result: GoalResult) -> str:
    """What is guaranteed of a goal: as what is shown has it, where a search tells no other."""
    goal = result.goal
    if not _is_own(result):
        return amount_of(goal, result.amount)

    def shown(value: float, scale: float, digits: int) -> str:
        if digits > DIGITS:
            return (at_most if goal.most else at_least)(value, scale, digits)
        if goal.most:
            return _negative(promised_of(-value, (-result.own,), scale))
        return promised_of(value, (result.own,), scale)

    return beside(goal, result.amount, shown)


def _is_own(result: GoalResult) -> bool:
    """Whether as much of a feature is guaranteed as what is shown has, as far as a search
    tells."""
    goal = result.goal
    same = abs(result.amount - result.own) <= SEARCH_TIE * goal.told_by
    return goal.feature is not None and same


def _negative(text: str) -> str:
    return text.removeprefix("−") if text.startswith("−") or text == "0" else f"−{text}"


def own_of(each: GoalResult) -> str:
    """What is shown has of a goal: of a feature it is known, and of the reward, as all say it."""
    shown: Callable[[float, float, int], str] = number
    if each.goal.kind is GoalKind.MAX_LOSS:
        shown = _loss
    elif each.goal.feature is None:
        shown = _steady
    elif _is_own(each):
        shown = _steady_most if each.goal.most else _steady
    return beside(each.goal, each.own, shown)


def _loss(value: float, scale: float, digits: int) -> str:
    return steady_loss(value, scale) if digits == DIGITS else at_most(value, scale, digits)


def _steady(value: float, scale: float, digits: int) -> str:
    return steady(value, scale) if digits == DIGITS else number(value, scale, digits)


def never_less(value: float, scale: float, digits: int) -> str:
    """An amount that is known, never less than it is, in as many digits as are about the same to
    the nearest: it reads as the amount itself."""
    return _steady_most(value, scale, digits) if digits == DIGITS else at_most(value, scale, digits)


def _steady_most(value: float, scale: float, digits: int) -> str:
    return _negative(_steady(-value, scale, digits))


__all__ = ["amount_in", "amount_of", "asked_for", "beside", "never_less", "own_of"]
