"""Numbers for readers, in few digits: what is guaranteed is rounded towards the safe side."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable

DIGITS = 4
NOTHING = "–"
# Below this, in units of the last digit shown, a number is on its digit.
SLACK = 1e-6
# What is less than this share of a scale is rounding, to a reader.
ROUNDING = 1e-9
# Digits of a scale that a number can be told from rounding by: bounds are searched to one in 10⁶.
SURE = 6


def number(value: float, scale: float = 0.0, digits: int = DIGITS) -> str:
    """Four significant digits; what is too small to be told from rounding on this `scale` is 0.

    >>> number(12.34567), number(-0.00012346), number(1e-17), number(float("nan"))
    ('12.35', '−0.0001235', '1e−17', '–')
    >>> number(1e-17, scale=5.0), number(-14237.5), number(1.42375e9)
    ('0', '−14240', '1.424e+09')
    """
    return _rounded(value, decimal.ROUND_HALF_EVEN, scale, digits)


def visible(value: float, scale: float) -> str:
    """Four significant digits; what is rounding beside a `scale` is 0, and all else has its digits.

    >>> visible(-8.882e-16, scale=3.0), visible(0.0000011324, scale=3.0)
    ('0', '0.000001132')
    """
    return number(value if abs(value) > ROUNDING * scale else 0.0)


def alike(first: float, second: float) -> tuple[str, str]:
    """Two amounts to be compared, both to the last of the four digits of the larger; what would
    be 0 by that, and is not, to its first.

    >>> alike(0.000001132, 0.6121), alike(17.3, 0.0437), alike(1e-15, 2.0)
    (('0.000001', '0.6121'), ('17.3', '0.04'), ('0', '2'))
    """
    larger = max(abs(first), abs(second))
    size = _exact(larger)
    last = size.adjusted() - DIGITS + 1 if size else 0

    def shown(value: float) -> str:
        rounded = round(value, -last) + 0.0
        if rounded:
            return number(rounded)
        return "0" if number(value, larger) == "0" else number(value, digits=1)

    return shown(first), shown(second)


def promised_all(value: float, least: float, scale: float = 0.0) -> tuple[str, str]:
    """An amount to the nearest digit, and what is guaranteed of it, never more than that, where
    both are the same up to rounding: in as few digits as say so, from four on.

    >>> promised_all(5.51962, 5.51961), promised_all(8.0784, 8.0784)
    (('5.5196', '5.5196'), ('8.078', '8.078'))
    """
    texts = number(value, scale), at_least(least, scale)
    for digits in range(DIGITS, SURE):
        more = number(value, scale, digits), at_least(least, scale, digits)
        if more[0] == more[1]:
            return more
    return texts


def at_least(value: float, scale: float = 0.0, digits: int = DIGITS) -> str:
    """Four digits, never more than the value; nothing for −∞.

    There are no digits that cannot be told from rounding on this `scale`.

    >>> at_least(9.99999), at_least(-9.99999), at_least(3e-12, scale=5.0), at_least(float("-inf"))
    ('9.999', '−10', '0', '–')
    >>> at_least(-9.7332, scale=5000.0), at_most(0.2668, scale=5000.0)
    ('−9.734', '0.267')
    >>> at_least(20.0 - 4e-14)
    '20'
    """
    return _rounded(value, decimal.ROUND_FLOOR, scale, digits)


def at_most(value: float, scale: float = 0.0, digits: int = DIGITS) -> str:
    """The same, never less than the value; nothing for ∞.

    >>> at_most(1.00001), at_most(3e-12, scale=5.0), at_most(float("inf"))
    ('1.001', '0.000001', '–')
    """
    return _rounded(value, decimal.ROUND_CEILING, scale, digits)


def compared(
    value: float, wanted: float, most: bool, shown: Callable[[float, int], str], scale: float = 0.0
) -> str:
    """A number beside what is wanted, with more digits where fewer would not compare as they do.

    Parameters
    ----------
    value : float
    wanted : float, as it is shown
    most : bool, whether the number may not be more than that; else it may not be less
    shown : how to show the number, in so many digits
    scale : float, beside which what is small is rounding

    >>> compared(1.05441, 1.0545, True, lambda value, digits: at_most(value, digits=digits))
    '1.0545'
    >>> compared(0.15132, 0.1513, True, lambda value, digits: number(value, digits=digits))
    '0.15132'
    """
    sign = 1.0 if most else -1.0
    room = ROUNDING * max(scale, abs(wanted))
    if abs(value - wanted) <= room:
        return exactly(wanted)
    kept = sign * (value - wanted) <= 0.0
    for digits in range(DIGITS, 2 * SURE):
        text = shown(value, digits)
        said = float(text.replace("−", "-")) if text != NOTHING else value
        if (sign * (said - wanted) <= 0.0) == kept:
            break
    return text


def exactly(value: float) -> str:
    """A number that someone asked for, not rounded.

    >>> exactly(-0.1513), exactly(20.0)
    ('−0.1513', '20')
    """
    return f"{value:.10g}".replace("-", "−")


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
    return NOTHING if math.isnan(value) else f"{value:.3f}"


def counted(count: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "step"), counted(2, "step")
    ('1 step', '2 steps')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


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


def percent_at_least(value: float, digits: int = 1) -> str:
    """A performance in percent, never more than the value: what is guaranteed does not grow by
    rounding, and who does just that does not look better.

    >>> percent_at_least(0.8996), percent_at_least(0.9), percent_at_least(0.29)
    ('89.9 %', '90 %', '29 %')
    """
    if math.isnan(value):
        return NOTHING
    return f"{_tenths(math.floor(100 * 10**digits * value + SLACK), digits)} %"


def percent_at_most(value: float) -> str:
    """The same, never less than the value.

    >>> percent_at_most(0.8991), percent_at_most(0.9), percent_at_most(1.0)
    ('90 %', '90 %', '100 %')
    """
    return NOTHING if math.isnan(value) else f"{_tenths(math.ceil(1000 * value - SLACK))} %"


def share_at_least(value: float, places: int = 3) -> str:
    """A share of 1, or another amount, with so many digits after the point, never more than it is.

    >>> share_at_least(0.0059), share_at_least(0.9), share_at_least(1.0)
    ('0.005', '0.900', '1.000')
    """
    if not math.isfinite(value):
        return NOTHING
    return f"{math.floor(10**places * value + SLACK) / 10**places:.{places}f}"


def share_at_most(value: float, places: int = 3) -> str:
    """The same, never less than it is.

    >>> share_at_most(0.0051), share_at_most(11.83771, 4), share_at_most(1.0)
    ('0.006', '11.8378', '1.000')
    """
    if not math.isfinite(value):
        return NOTHING
    return f"{math.ceil(10**places * value - SLACK) / 10**places:.{places}f}"


def percents_apart(low: float, high: float) -> tuple[str, str]:
    """Two performances with as many digits as tell them apart, up to five.

    >>> percents_apart(0.8191, 0.8196), percents_apart(0.5, 0.8196)
    (('81.91 %', '81.96 %'), ('50 %', '81.9 %'))
    """
    for digits in range(1, 6):
        texts = percent_at_least(low, digits), percent_at_least(high, digits)
        if texts[0] != texts[1]:
            break
    return texts


def _tenths(count: int, digits: int = 1) -> str:
    whole, rest = divmod(abs(count), 10**digits)
    part = f"{rest:0{digits}}".rstrip("0")
    return f"{'−' if count < 0 else ''}{whole}{f'.{part}' if part else ''}"


def _exact(value: float) -> decimal.Decimal:
    """The digits of a number, be it Python's or NumPy's."""
    return decimal.Decimal(repr(float(value)))


def _rounded(value: float, direction: str, scale: float = 0.0, digits: int = DIGITS) -> str:
    if not math.isfinite(value):
        return NOTHING
    exact, whole = _exact(value), _exact(scale)
    last = exact.adjusted() - digits + 1 if exact else 0
    if whole:
        last = max(last, whole.adjusted() - SURE - digits + DIGITS)
    unit = decimal.Decimal(1).scaleb(last)
    rounded = exact.quantize(unit)
    if abs(exact - rounded) > _exact(SLACK) * unit:
        rounded = exact.quantize(unit, rounding=direction)
    text = f"{float(rounded) + 0.0:.{digits}g}"
    if "e" in text and rounded and -SURE - 1 <= rounded.adjusted() <= SURE:
        text = f"{rounded:f}"
    return text.replace("-", "−")


__all__ = [
    "NOTHING",
    "alike",
    "asked",
    "at_least",
    "at_most",
    "compared",
    "counted",
    "exactly",
    "money",
    "number",
    "percent",
    "percent_at_least",
    "percent_at_most",
    "percents_apart",
    "promised_all",
    "risk",
    "share_at_least",
    "share_at_most",
    "small",
    "visible",
]
