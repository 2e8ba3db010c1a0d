"""What a file can ask for, beside a relative performance: amounts, and what counts as 0."""

from __future__ import annotations

import re
from typing import Any, Literal, get_args

from pydantic import Field, TypeAdapter, model_validator

from ...files import shown
from .named import Strict, Text, exactly_one
from .places import meant


class FeatureLimit(Strict):
    """How much of a feature there may be, discounted, whatever the learner does that looks right.
    A number alone is `at_most`."""

    at_most: float | None = Field(default=None, description="no more than this")
    at_least: float | None = Field(default=None, description="no less than this")

    @model_validator(mode="after")
    def _something(self) -> FeatureLimit:
        if self.at_most is None and self.at_least is None:
            raise ValueError("expected one of the keys at_most, at_least, got none")
        return self


def read_limits(value: object) -> dict[str, FeatureLimit]:
    """The limits by the names of their features."""
    if not isinstance(value, dict):
        raise ValueError(f"expected a table of features and their limits, got {shown(value)}")
    tables = {
        name: each if isinstance(each, dict) else {"at_most": each} for name, each in value.items()
    }
    return TypeAdapter(dict[str, FeatureLimit]).validate_python(tables)


class Loss(Strict):
    """A loss of reward, or what is missed: an amount, or a share of what there is."""

    amount: float | None = None
    share: float | None = None


def read_loss(value: Any) -> Loss:
    """A number, or a text such as "10 %"."""
    return _amount_or_share(
        value, 'expected a reward from 0 on, or a share of the expert\'s such as "10 %"'
    )


def read_mismatch(value: Any) -> Loss:
    """A number, or a text such as "5 %"."""
    return _amount_or_share(
        value, 'expected a number from 0 on, or a share of what policies can change such as "5 %"'
    )


def _amount_or_share(value: Any, wanted: str) -> Loss:
    if isinstance(value, str):
        number = value.removesuffix("%").strip()
        if value.endswith("%") and re.fullmatch(r"\d{1,9}(\.\d{1,9})?", number, re.ASCII):
            return Loss(share=float(number) / 100.0)
    elif type(value) in (int, float) and 0.0 <= value < 1e300:
        return Loss(amount=float(value))
    raise ValueError(f"{wanted}, got {shown(value)}")


BaselineWord = Literal["worst", "uniform", "nothing"]


class Baseline(Strict):
    """The policy whose relative performance is 0: at most one of these. A word is `of`."""

    of: BaselineWord | None = Field(
        default=None,
        description='"worst" (the default) for the worst policy there is, "uniform" for one that '
        'acts at random, "nothing" for one that waits, if there is an action for that',
    )
    action: Text | None = Field(
        default=None, description="the policy that always takes the action of this name"
    )
    policy: Text | None = Field(
        default=None, description="a table of a policy, as `demonstration.policy`"
    )

    @model_validator(mode="after")
    def _one(self) -> Baseline:
        exactly_one(self, "of", "action", "policy")
        return self


def read_baseline(value: object) -> Baseline:
    """A word, or a table."""
    words = get_args(BaselineWord)
    if isinstance(value, str) and value not in words:
        wanted = f"expected {', '.join(words)}, or a table with one of the keys action, policy"
        raise ValueError(f"{wanted}, got {shown(value)}{meant(value, words, also=False)}")
    return Baseline.model_validate({"of": value} if isinstance(value, str) else value)


__all__ = [
    "Baseline",
    "FeatureLimit",
    "Loss",
    "read_baseline",
    "read_limits",
    "read_loss",
    "read_mismatch",
]
