"""Performance against features taught, condition by condition, with bands and a test.

People are the units, not episodes: of each, the mean of a block counts once. Bands are intervals
of Student's t for the mean of the people; the test permutes people among the conditions and
compares how far apart the conditions' means are in the last block, so that it assumes nothing but
that people were assigned at random, which the study did.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from ...arrays import Floats
from ...errors import FileFormatError
from ...figures.records import Curve, Panel
from ..document.elements import (
    Column,
    Data,
    Document,
    Explanation,
    Fact,
    Facts,
    Figure,
    Section,
    Sentence,
    Table,
)

DRAWS = 10_000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Mean:
    """How people of a condition do in a block.

    Attributes
    ----------
    condition, block, taught : where
    people : how many
    mean, low, high : performance, and between which its mean over people lies; NaN if one only
    guaranteed : what was guaranteed to all who match
    """

    condition: str
    block: int
    taught: float
    people: int
    mean: float
    low: float
    high: float
    guaranteed: float


@dataclass(frozen=True)
class Analysis:
    """What trials say.

    Attributes
    ----------
    means : Mean, by condition and block
    spread : the variance of the conditions' means in the last block, weighted by people
    p_value : of a spread as large, were conditions all the same; 1 if there is only one
    people : how many finished the last block
    """

    means: tuple[Mean, ...]
    spread: float
    p_value: float
    people: int


def analyse(path: Path, *, seed: int = 0) -> Analysis:
    """Analyse trials.

    Parameters
    ----------
    path : trials.csv, as `teachirl lesson export` writes it
    seed : of the permutations

    Returns
    -------
    Analysis
    """
    values: dict[tuple[str, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    about: dict[tuple[str, int], list[tuple[float, float]]] = defaultdict(list)
    for line, row in enumerate(_rows(path), start=2):
        try:
            key = row["condition"], int(row["block"])
            values[key][row["participant"]].append(float(row["performance"]))
            about[key].append((float(row["taught"]), float(row["guaranteed"])))
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"{path}, line {line}: expected a trial: {error}") from None
    if not values:
        raise FileFormatError(f"{path}: there are no trials")
    means = []
    for condition, block in sorted(values):
        each = np.array([np.mean(trials) for trials in values[condition, block].values()])
        taught, guaranteed = np.mean(about[condition, block], axis=0)
        means.append(
            Mean(condition, block, float(taught), len(each), *_band(each), float(guaranteed))
        )
    last = max(block for _, block in values)
    groups = [
        np.array([np.mean(trials) for trials in found.values()])
        for (_, block), found in sorted(values.items())
        if block == last
    ]
    spread, p = _permuted(groups, np.random.default_rng(seed))
    return Analysis(tuple(means), spread, p, sum(map(len, groups)))


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return list(csv.DictReader(file))
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileFormatError(f"{path}: expected a CSV file in UTF-8: {error}") from None


def _band(values: Floats) -> tuple[float, float, float]:
    mean = float(values.mean())
    if len(values) < 2:
        return mean, float("nan"), float("nan")
    width = float(stats.t.ppf(0.5 + CONFIDENCE / 2, len(values) - 1)) * float(stats.sem(values))
    return mean, mean - width, mean + width


def _permuted(groups: list[Floats], rng: np.random.Generator) -> tuple[float, float]:
    """How far apart means are, and how often they would be by chance: a permutation test, in which
    what is observed counts as one of the draws, so that no p-value is 0."""
    pooled, sizes = np.concatenate(groups), [len(each) for each in groups]
    places = np.cumsum([0, *sizes[:-1]])

    def spread(values: Floats) -> Floats:
        sums = np.add.reduceat(values, places, axis=-1)
        return np.asarray(
            (sums**2 / np.array(sizes)).sum(axis=-1) / len(pooled) - pooled.mean() ** 2
        )

    seen = float(spread(pooled))
    if len(groups) < 2:
        return 0.0, 1.0
    drawn = spread(rng.permuted(np.tile(pooled, (DRAWS, 1)), axis=1))
    # Ties up to rounding count against the finding.
    as_large = int(np.count_nonzero(drawn >= seen - 1e-12))
    return seen, (1 + as_large) / (1 + DRAWS)


def analysis_document(found: Analysis, title: str) -> Document:
    """The analysis in words, a table and a figure."""
    conditions = list(dict.fromkeys(each.condition for each in found.means))
    marks, alts = [], []
    for condition in conditions:
        own = [each for each in found.means if each.condition == condition]
        block = np.array([float(each.block) for each in own])
        low, high = (
            100 * np.array([getattr(each, end) for each in own]) for end in ("low", "high")
        )
        known = bool(np.isfinite(low).all())
        mean = 100 * np.array([each.mean for each in own])
        marks.append(Curve(condition, block, mean, low if known else None, high if known else None))
        alts.append(f"{condition}: " + ", ".join(f"{each.mean:.0%}" for each in own))
    across = "block: one feature more each, with a teacher"
    panel = Panel("Performance", across, "performance (%)", tuple(marks))
    table = Table(
        "Means over people",
        (
            Column("condition", "condition"),
            Column("block", "block", str),
            Column("taught", "taught by then", lambda x: f"{x:g}"),
            Column("people", "people", str),
            Column("mean", "performance", lambda x: f"{x:.1%}"),
            Column("low", "from", lambda x: "" if x != x else f"{x:.1%}"),
            Column("high", "to", lambda x: "" if x != x else f"{x:.1%}"),
            Column("guaranteed", "guaranteed", lambda x: f"{x:.1%}"),
        ),
        found.means,
        "means",
    )
    said = (
        f"In the last block, {found.people} people of {len(conditions)} conditions: were all "
        f"conditions the same, means as far apart would come with p = {found.p_value:.2g} "
        f"(permutation of people among conditions, {DRAWS} draws)."
    )
    if len(conditions) < 2:
        said = f"{found.people} people in one condition: there is nothing to compare."
    facts = Facts(
        (
            Fact("people", found.people, str, "people"),
            Fact("p-value", found.p_value, lambda p: f"{p:.2g}", "p_value"),
        )
    )
    figure = Figure(
        "performance", "The mean over people, and its 95 % interval.", (panel,), ("; ".join(alts),)
    )
    why = Explanation(
        "The expert's expected return within as many steps is 100 %, that of the worst policy 0 %. "
        "Intervals are Student's for the mean of people; a person counts once, whatever the "
        "number of episodes."
    )
    return Document(
        "lesson",
        title,
        [
            Section("In short", (facts, Sentence(said, "test"))),
            Section(
                "Performance against features taught",
                (figure, table, why, Data("spread", lambda: found.spread)),
            ),
        ],
    )


__all__ = ["Analysis", "Mean", "analyse", "analysis_document"]
