"""Numbers for readers, in few digits: what is guaranteed is rounded towards the safe side."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Iterable

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
    """Two amounts to be compared, in four digits each, or in as many more as tell them apart; what
    is rounding beside the other is 0.

    >>> alike(0.15132, 10.2299), alike(18.556, 18.5615), alike(1e-15, 2.0), alike(5.0, 5.0)
    (('0.1513', '10.23'), ('18.556', '18.562'), ('0', '2'), ('5', '5'))
    """
    larger = max(abs(first), abs(second))
    for digits in range(DIGITS, 2 * SURE):
        texts = number(first, larger, digits), number(second, larger, digits)
        if texts[0] != texts[1] or abs(first - second) <= ROUNDING * larger:
            break
    return texts


def steady(value: float, scale: float = 0.0) -> str:
    """An amount that is known, in as few digits, from four on, as are the same when it is rounded
    down: so it reads as what is guaranteed, where that is all of it. If there are none up to six,
    in six, rounded down.

    >>> steady(44.5032), steady(44.497), steady(0.59049), steady(20.0), steady(-17.83333)
    ('44.5', '44.497', '0.59049', '20', '−17.8334')
    """
    for digits in range(DIGITS, SURE + 1):
        text = number(value, scale, digits)
        if text == at_least(value, scale, digits):
            return text
    return at_least(value, scale, SURE)


def steady_loss(value: float, scale: float = 0.0) -> str:
    """A loss, never less than it is, in as few digits, from four on, as are the same to the
    nearest: so it reads as what is lost, where that is all of it. If five will not do, in four, as
    bounds on losses are searched for, and have few more digits than that.

    >>> steady_loss(10.0789), steady_loss(46.1527), steady_loss(3.03034)
    ('10.08', '46.153', '3.031')
    """
    for digits in (DIGITS, DIGITS + 1):
        text = at_most(value, scale, digits)
        if text == number(value, scale, digits):
            return text
    return at_most(value, scale)


def as_known(value: float, known: Iterable[float], scale: float = 0.0) -> str:
    """An amount to the nearest digit or, if it is one that is `known`, as `steady` writes that.

    >>> as_known(0.59049, [0.59049]), as_known(0.59049, [20.0])
    ('0.59049', '0.5905')
    """
    for each in known:
        if abs(value - each) <= ROUNDING * max(abs(each), scale):
            return steady(each, scale)
    return visible(value, scale)


def promised_of(least: float, known: Iterable[float], scale: float = 0.0) -> str:
    """What is guaranteed, never more than it is; where that is an amount that is `known`, up to
    what a search does not tell apart, as `steady` writes that, or in more digits.

    >>> promised_of(44.4969, [44.497]), promised_of(44.496999, [44.497], scale=50.0)
    ('44.49', '44.4969')
    >>> promised_of(44.4976, [44.49762], scale=50.0), steady(44.49762)
    ('44.4976', '44.4976')
    """
    for value in known:
        if abs(value - least) <= ROUNDING * scale:
            return steady(value, scale)
        if abs(value - least) <= 10.0**-SURE * scale:
            every = [at_least(least, scale, digits) for digits in range(DIGITS, SURE + 1)]
            text = steady(value, scale)
            return text if text in every else every[-1]
    return at_least(least, scale)


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
    "as_known",
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
    "promised_of",
    "risk",
    "share_at_least",
    "share_at_most",
    "small",
    "steady",
    "steady_loss",
    "visible",
]
