"""Numbers for readers, in few digits: what is guaranteed is rounded towards the safe side."""

from __future__ import annotations

import decimal
import math

DIGITS = 4
NOTHING = "–"
# Below this, in units of the last digit shown, a number is on its digit.
SLACK = 1e-6


def number(value: float) -> str:
    """Four significant digits.

    >>> number(12.34567), number(-0.00012346), number(1e-17), number(float("nan"))
    ('12.35', '−0.0001235', '1e−17', '–')
    """
    return _rounded(value, decimal.ROUND_HALF_EVEN)


def at_least(value: float, scale: float = 0.0) -> str:
    """Four digits, never more than the value; nothing for −∞.

    The digits are those of `scale` if that is larger, so that rounding does not look like a number.

    >>> at_least(9.99999), at_least(-9.99999), at_least(3e-12, scale=5.0), at_least(float("-inf"))
    ('9.999', '−10', '0', '–')
    """
    return _rounded(value, decimal.ROUND_FLOOR, scale)


def at_most(value: float, scale: float = 0.0) -> str:
    """The same, never less than the value; nothing for ∞.

    >>> at_most(1.00001), at_most(3e-12, scale=5.0), at_most(float("inf"))
    ('1.001', '0.001', '–')
    """
    return _rounded(value, decimal.ROUND_CEILING, scale)


def small(value: float) -> str:
    """Two digits of what is 0 up to rounding, or should be.

    >>> small(0.01234), small(3e-12), small(0.0)
    ('0.012', '< 1e-9', '< 1e-9')
    """
    return "< 1e-9" if value < 1e-9 else f"{value:.2g}"


def risk(value: float) -> str:
    """A teaching risk, or another share of 1, with three digits after the point.

    >>> risk(0.70710678)
    '0.707'
    """
    return f"{value:.3f}"


def percent(value: float) -> str:
    """A share of 1 in percent, with one digit after the point.

    >>> percent(0.8996), percent(1.0)
    ('90 %', '100 %')
    """
    return NOTHING if math.isnan(value) else f"{_tenths(round(1000 * value))} %"


def asked(value: float) -> str:
    """A share of 1 that someone asked for in percent, not rounded.

    >>> asked(0.9996), asked(0.9)
    ('99.96 %', '90 %')
    """
    return f"{100 * value:.10g} %"


def money(value: float) -> str:
    """What something costs, to the penny.

    >>> money(12999.99), money(120000.0), money(0.1 + 0.2)
    ('12999.99', '120000', '0.3')
    """
    return f"{value:.10g}"


def counted(count: int, noun: str) -> str:
    """So many of something.

    >>> counted(1, "state"), counted(0, "state")
    ('1 state', '0 states')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


def percent_at_least(value: float) -> str:
    """The same, never more than the value: what is guaranteed does not grow by rounding.

    >>> percent_at_least(0.8996), percent_at_least(0.9), percent_at_least(0.29)
    ('89.9 %', '90 %', '29 %')
    """
    return NOTHING if math.isnan(value) else f"{_tenths(math.floor(1000 * value + SLACK))} %"


def percent_at_most(value: float) -> str:
    """The same, never less than the value.

    >>> percent_at_most(0.8991), percent_at_most(0.9), percent_at_most(1.0)
    ('90 %', '90 %', '100 %')
    """
    return NOTHING if math.isnan(value) else f"{_tenths(math.ceil(1000 * value - SLACK))} %"


def _tenths(count: int) -> str:
    whole, rest = divmod(abs(count), 10)
    return f"{'−' if count < 0 else ''}{whole}{f'.{rest}' if rest else ''}"


def _rounded(value: float, direction: str, scale: float = 0.0) -> str:
    if not math.isfinite(value):
        return NOTHING
    exact = decimal.Decimal(repr(float(value)))
    size = max(abs(exact), decimal.Decimal(repr(float(scale))))
    last = decimal.Decimal(1).scaleb(size.adjusted() - DIGITS + 1 if size else 0)
    rounded = float(exact.quantize(last, rounding=direction)) + 0.0
    return f"{rounded:.{DIGITS}g}".replace("-", "−")


__all__ = [
    "NOTHING",
    "asked",
    "at_least",
    "at_most",
    "counted",
    "money",
    "number",
    "percent",
    "percent_at_least",
    "percent_at_most",
    "risk",
    "small",
]
