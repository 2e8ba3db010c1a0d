"""Performance against features taught, condition by condition, with bands and a test.

People are the units, not episodes: of each, the mean of a block (or of all blocks with as many
features taught) counts once. Bands are intervals
of Student's t for the mean of the people; the test permutes people among the conditions and
compares how far apart the conditions' means are in the last block, so that it assumes nothing but
that people were assigned at random, which the study did.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from scipy import stats

from ...arrays import Floats
from ...errors import FileFormatError
from ...figures.digits import percent, percent_at_least
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

# Performance, features taught and guarantee of each trial, by condition and place, and by person.
Trials: TypeAlias = "defaultdict[tuple[str, int], dict[str, list[tuple[float, float, float]]]]"
DRAWS = 10_000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Mean:
    """How people of a condition do in a block, or with as many features taught.

    Attributes
    ----------
    condition : its name
    at : the block, or how many features are taught by then
    people : how many
    taught : features taught by then, on average
    mean, low, high : performance, and between which its mean over people lies; NaN if one only
    guaranteed : what was guaranteed to all who match
    """

    condition: str
    at: int
    people: int
    taught: float
    mean: float
    low: float
    high: float
    guaranteed: float


@dataclass(frozen=True)
class Analysis:
    """What trials say.

    Attributes
    ----------
    blocks : Mean, by condition and block
    taught : Mean, by condition and number of features taught
    spread : the variance of the conditions' means in the last block, weighted by people
    p_value : of a spread as large, were conditions all the same; 1 if there is only one
    people : how many finished the last block
    """

    blocks: tuple[Mean, ...]
    taught: tuple[Mean, ...]
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
    by_block: Trials = defaultdict(lambda: defaultdict(list))
    by_taught: Trials = defaultdict(lambda: defaultdict(list))
    for line, row in enumerate(_rows(path), start=2):
        try:
            who, condition, taught = row["participant"], row["condition"], int(row["taught"])
            numbers = float(row["performance"]), float(taught), float(row["guaranteed"])
            by_block[condition, int(row["block"])][who].append(numbers)
            by_taught[condition, taught][who].append(numbers)
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"{path}, line {line}: expected a trial: {error}") from None
    if not by_block:
        raise FileFormatError(f"{path}: there are no trials")
    last = max(block for _, block in by_block)
    groups = [
        _of_people(found)[:, 0] for (_, block), found in sorted(by_block.items()) if block == last
    ]
    spread, p = _permuted(groups, np.random.default_rng(seed))
    return Analysis(_means(by_block), _means(by_taught), spread, p, sum(map(len, groups)))


def _means(trials: Trials) -> tuple[Mean, ...]:
    found = []
    for (condition, at), people in sorted(trials.items()):
        each = _of_people(people)
        _, taught, guaranteed = each.mean(axis=0).tolist()
        found.append(Mean(condition, at, len(each), taught, *_band(each[:, 0]), guaranteed))
    return tuple(found)


def _of_people(trials: dict[str, list[tuple[float, float, float]]]) -> Floats:
    """array [people, 3], the means of performance, features taught and guarantee of each."""
    return np.array([np.mean(each, axis=0) for each in trials.values()])


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


def _curves(found: tuple[Mean, ...], most: int) -> tuple[tuple[Curve, ...], str]:
    """A curve a condition, and the same in words; one that has a single point is a level."""
    marks, words = [], []
    for condition in dict.fromkeys(each.condition for each in found):
        own = [each for each in found if each.condition == condition]
        words.append(f"{condition}: " + ", ".join(f"{each.mean:.0%} at {each.at}" for each in own))
        x = [each.at for each in own]
        if len(own) == 1:
            own, x = own * 2, [own[0].at, max(most, own[0].at + 1)]
        mean, low, high = (
            100 * np.array([getattr(each, name) for each in own])
            for name in ("mean", "low", "high")
        )
        known = bool(np.isfinite(low).all())
        band = (low, high) if known else (None, None)
        marks.append(Curve(condition, np.array(x, dtype=float), mean, *band))
    return tuple(marks), "; ".join(words)


def analysis_document(found: Analysis, title: str) -> Document:
    """The analysis in words, a table and a figure."""
    last = max(each.at for each in found.blocks)
    conditions = {each.condition for each in found.blocks if each.at == last}
    panels, alts = [], []
    for name, across, means in (
        ("Against features taught", "features taught", found.taught),
        ("Over time", "block", found.blocks),
    ):
        marks, words = _curves(means, max(each.at for each in means))
        panels.append(Panel(name, across, "performance (%)", marks))
        alts.append(f"{name}. {words}")
    table = Table(
        "Means over people",
        (
            Column("condition", "condition"),
            Column("at", "block", str),
            Column("taught", "taught by then", lambda x: f"{x:g}"),
            Column("people", "people", str),
            Column("mean", "performance", percent),
            Column("low", "from", percent),
            Column("high", "to", percent),
            Column("guaranteed", "guaranteed", percent_at_least),
        ),
        found.blocks,
        "means",
    )
    said = (
        f"In the last block, {found.people} people of {len(conditions)} conditions: were all "
        f"conditions the same, means as far apart would come with p = {found.p_value:.2g} "
        f"(permutation of people among conditions, {DRAWS} draws)."
    )
    if len(conditions) < 2:
        said = "In the last block there is one condition alone, and nothing to compare it with."
    facts = Facts(
        (
            Fact("people", found.people, str, "people"),
            Fact("p-value", found.p_value, lambda p: f"{p:.2g}", "p_value"),
        )
    )
    figure = Figure(
        "performance",
        "The mean over people, and its 95 % interval. Who is taught nothing is a level.",
        tuple(panels),
        tuple(alts),
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
