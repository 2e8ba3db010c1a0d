"""How claims are tested, and how the numbers are written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from ...arrays import Floats
from ...figures.records import Verdict

# The level of all tests; each claim is its own question.
LEVEL = 0.01


@dataclass(frozen=True)
class Evidence:
    """A one-sided test: p of what was seen if the claim were not true.

    A claim holds if p is small, fails if p is as close to 1, and is undecided in between: then
    more trials are needed.
    """

    text: str
    p: float

    @property
    def verdict(self) -> Verdict:
        if self.p <= LEVEL:
            return Verdict.HOLDS
        return Verdict.FAILS if self.p >= 1.0 - LEVEL else Verdict.UNDECIDED

    def __str__(self) -> str:
        return f"{self.text}, p {p_text(self.p)}"


def paired(larger: Floats, smaller: Floats) -> Evidence:
    """Whether the first is larger, trial by trial [n]: Wilcoxon's signed-rank test.

    >>> paired(np.arange(1.0, 30.0), np.zeros(29)).verdict
    <Verdict.HOLDS: 'holds'>
    """
    text = f"Wilcoxon signed-rank, {len(larger)} pairs"
    if np.allclose(larger, smaller, rtol=0.0, atol=1e-12):
        return Evidence(text, 0.5)
    p = float(scipy.stats.wilcoxon(larger, smaller, alternative="greater").pvalue)
    return Evidence(text, p)


def more_spread(wide: Floats, narrow: Floats) -> Evidence:
    """Whether the first sample has the larger spread: Brown and Forsythe's test, one-sided."""
    p = float(scipy.stats.levene(wide, narrow, center="median").pvalue)
    # The test compares mean distances from the median, so these tell the side.
    far = [float(np.abs(each - np.median(each)).mean()) for each in (wide, narrow)]
    p = p / 2 if far[0] > far[1] else 1 - p / 2
    return Evidence(f"Brown–Forsythe, {len(wide)} against {len(narrow)}", p)


def mostly(successes: int, trials: int) -> Evidence:
    """Whether more than half of all trials would succeed: binomial test."""
    p = float(scipy.stats.binomtest(successes, trials, 0.5, alternative="greater").pvalue)
    return Evidence(f"binomial, more than half of {trials}", p)


def p_text(p: float) -> str:
    return "< 1e-6" if p < 1e-6 else f"= {p:.2g}"
