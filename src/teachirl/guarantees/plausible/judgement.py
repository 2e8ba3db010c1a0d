"""What is asked of a guarantee over several rewards: which number, and of which of them."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from ...errors import require


class Criterion(enum.StrEnum):
    """What is guaranteed of a learner: performance, or what is lost.

    Examples
    --------
    >>> import teachirl as ti
    >>> [criterion.value for criterion in ti.Criterion]
    ['performance', 'gap', 'regret', 'reward']
    """

    PERFORMANCE = "performance"
    GAP = "gap"
    REGRET = "regret"
    REWARD = "reward"

    @property
    def sign(self) -> int:
        """1 if more is better, −1 if less is."""
        return -1 if self in (Criterion.GAP, Criterion.REGRET) else 1


class Measure(enum.StrEnum):
    """What of several rewards counts: the worst, a quantile, or the mean of a tail.

    Examples
    --------
    >>> import teachirl as ti
    >>> list(ti.Measure)[0]
    <Measure.LEAST: 'least'>
    """

    LEAST = "least"
    QUANTILE = "quantile"
    CVAR = "cvar"


@dataclass(frozen=True)
class Judgement:
    """What counts if several rewards are plausible.

    Attributes
    ----------
    criterion : Criterion or str: ``performance``, ``gap`` (behind what is shown), ``regret``
        (behind the best policy) or ``reward``
    tail : float in (0, 1), of rewards with chances the worst share that is left out, or whose mean
        is meant; by default the worst reward counts
    measure : Measure or str, ``quantile`` or ``cvar``, the mean of the tail; without a tail
        ``least``
    confidence : float, with which samples are to speak for all plausible rewards

    Examples
    --------
    >>> import teachirl as ti
    >>> ti.Judgement("gap", tail=0.1).measure
    <Measure.QUANTILE: 'quantile'>
    """

    criterion: Criterion | str = Criterion.PERFORMANCE
    tail: float | None = None
    measure: Measure | str | None = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        measure = self.measure
        if measure is None:
            measure = Measure.LEAST if self.tail is None else Measure.QUANTILE
        for name, kind, value in (
            ("criterion", Criterion, self.criterion),
            ("measure", Measure, measure),
        ):
            choices = [each.value for each in kind]
            require(value in choices, f"{name} must be one of {', '.join(choices)}, got {value!r}")
            object.__setattr__(self, name, kind(value))
        for name in ("tail", "confidence"):
            share = getattr(self, name)
            number = isinstance(share, (int, float, np.floating)) and bool(0.0 < share < 1.0)
            require(
                number or (name == "tail" and share is None),
                f"{name} must lie strictly between 0 and 1, got {share!r}",
            )
        require(
            (self.tail is None) == (self.measure is Measure.LEAST),
            f"tail is needed for a quantile or the mean of a tail, and for nothing else; got "
            f"{self.tail!r} with measure {str(self.measure)!r}",
        )


__all__ = ["Criterion", "Judgement", "Measure"]
