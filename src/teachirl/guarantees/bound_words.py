"""What a bound says, in digits that never promise more than is proved, and no loss that there is
none of."""

from __future__ import annotations

import math

from ..figures.digits import at_least, at_most
from ..precision import INVISIBLE
from .bounds import WorstCaseBounds
from .gap_bounds import Bound


def exact_in_words(worst: WorstCaseBounds, scale: float = 0.0) -> str:
    """What the exact worst case says.

    Parameters
    ----------
    worst : WorstCaseBounds, of policies that there are
    scale : float, how far apart rewards can be, which is what digits are for
    """
    least = at_least(worst.lower, scale)
    if not math.isfinite(worst.upper):
        return f"No policy that looks right to the learner earns less than {least}."
    return (
        f"There is a policy that looks right to the learner and earns no more than "
        f"{at_most(worst.upper, scale)}; none that looks right earns less than {least}."
    )


def looser_in_words(
    bound: Bound, gap: float, at_stake: float, scale: float = 0.0, expert: str = "the expert"
) -> str:
    """What Theorem 1 or the width says.

    Parameters
    ----------
    bound : Bound
    gap : float, what it comes to, with all that holds of anybody
    at_stake : float, all that there is to lose
    scale : float, how far apart rewards can be, which is what digits are for
    expert : str, whom losses are counted from
    """
    terms, total = bound.terms, at_most(gap, scale)
    hidden, blur, missed = terms["hidden"], terms["mismatch"], at_most(terms["ε"])
    everything = hidden >= at_stake * (1.0 - INVISIBLE)
    cost = f"{at_most(at_stake, scale)}, all that there is to lose"
    cost = cost if everything else at_most(hidden, scale)
    if bound.name == "width":
        said = "In the part of the reward that the learner cannot see, no policy is further below "
        said += f"{expert} than {cost}"
        where = " in the part that is seen"
    else:
        said = "The teaching risk, of the reward or of what policies can change of it, is "
        said += (
            f"{terms['risk']:.2f}, and policies can be {at_most(terms['diameter'])} apart: that "
        )
        said += f"may cost {cost}"
        where = ""
    # Where the learner matches exactly, what is left of it is rounding.
    if everything or not (terms["ε"] > 0.0 and blur > 0.0):
        return f"{said}."
    if hidden >= gap and bound.name == "width":
        return (
            f"What the learner cannot see of the reward, and a mismatch of {missed} in what it "
            f"sees, may cost {total} in all."
        )
    if hidden + blur > gap * (1.0 + INVISIBLE):
        lost = f"all of it {total} at most"
        if gap >= at_stake * (1.0 - INVISIBLE):
            lost = f"all that there is to lose, {total}"
        return f"{said}, and with a mismatch of {missed}{where} {lost}."
    more = f"{where} a mismatch of {missed} may cost" if where else f" a mismatch of {missed}"
    return f"{said}, and{more} another {at_most(blur, scale)}."


__all__ = ["exact_in_words", "looser_in_words"]
