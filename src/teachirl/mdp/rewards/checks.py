"""Kinds of sets of rewards, and checks of what they are made of."""

from __future__ import annotations

import enum
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...arrays import ROW_SUM_TOLERANCE, Floats, as_floats, at, check_finite
from ...errors import require


class RewardsKind(enum.StrEnum):
    """What kind of set plausible rewards are.

    Examples
    --------
    >>> import teachirl as ti
    >>> ti.Rewards.within([1, -2], 0.1).kind
    <RewardsKind.BOX: 'box'>
    """

    LISTED = "listed"
    SAMPLED = "sampled"
    POLYTOPE = "polytope"
    BOX = "box"
    ELLIPSOID = "ellipsoid"


@runtime_checkable
class Samples(Protocol):
    """What weights can be drawn from, such as the answer of `infer_weights`."""

    def sample(self, rng: np.random.Generator, n: int) -> Floats: ...


def checked_row(name: str, values: Any) -> Floats:
    row = np.array(as_floats(name, values))
    require(row.ndim == 1 and len(row) > 0, f"{name} must have shape (k,), got {row.shape}")
    check_finite(name, row)
    return row


def checked_rows(name: str, values: Any) -> Floats:
    rows = np.array(as_floats(name, values))
    require(
        rows.ndim == 2 and rows.size > 0,
        f"{name} must have shape (n, k), a row a reward, got {rows.shape}",
    )
    check_finite(name, rows)
    return rows


def checked_chances(values: Any, n: int) -> Floats:
    chances = np.array(as_floats("chances", values))
    require(
        chances.shape == (n,),
        f"chances must have one entry for each of {n} rewards, got shape {chances.shape}",
    )
    bad = np.argwhere(~(chances >= 0.0) | ~np.isfinite(chances))
    require(len(bad) == 0, f"chances must be non-negative, got {at(chances, bad)}")
    total = float(chances.sum())
    require(abs(total - 1.0) <= ROW_SUM_TOLERANCE, f"chances must sum to 1, got {total:.12g}")
    return chances


def check_count(name: str, n: object) -> None:
    whole = isinstance(n, (int, np.integer)) and not isinstance(n, bool)
    require(whole and int(n) >= 1, f"{name} must be a whole number from 1 on, got {n!r}")  # type: ignore[call-overload]
