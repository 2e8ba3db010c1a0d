"""The tables and keys of a problem file: their names, types, limits and meaning.

What stands here is what `docs/problem_file.md` documents.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, PlainValidator, TypeAdapter, model_validator

from .named import NamedCall, Strict, named_call
from .places import listed, meant, shown

Discount = Annotated[float, Field(gt=0.0, lt=1.0)]
Weights = Annotated[dict[str, float], Field(min_length=1)]
Text = Annotated[str, Field(min_length=1, max_length=1000)]
Count = Annotated[int, Field(ge=0, lt=2**31)]


def _argument(value: object) -> object:
    for each in value if isinstance(value, list) else [value]:
        if not isinstance(each, (bool, int, float, str)) or (
            isinstance(each, float) and not math.isfinite(each)
        ):
            raise ValueError(
                "expected a text, a finite number, true or false, or a list of these, got "
                f"{shown(each)}"
            )
    return value


Argument = Annotated[Any, PlainValidator(_argument)]


class GymnasiumWorld(Strict):
    """An environment of Gymnasium that exposes its transition table."""

    gymnasium: Text = Field(description="its id, such as Taxi-v4; needs the extra `gym`")
    arguments: dict[str, Argument] = Field(
        default={},
        description="what to make it with, such as `{ is_slippery = false }`; none by default",
    )
    discount: Discount = Field(description="between 0 and 1")


class SavedWorld(Strict):
    """An MDP that `MDP.save` wrote."""

    file: Text = Field(description="the .npz file")


class TableWorld(Strict):
    """An MDP in tables, each CSV (.csv) or Parquet (.parquet, needs the extra `parquet`)."""

    transitions: Text = Field(
        description="columns state, action, next_state, probability; where next_state is empty, "
        "the episode ends"
    )
    features: Text = Field(
        description="columns state and one a feature, a row a state; or state, action and one a "
        "feature, a row for each action of each state"
    )
    start: Text | None = Field(
        default=None,
        description="columns state, probability; without it all states are equally likely",
    )
    discount: Discount = Field(description="between 0 and 1")


KINDS: dict[str, type[Strict]] = {
    "gymnasium": GymnasiumWorld,
    "file": SavedWorld,
    "transitions": TableWorld,
}


def _world(value: object) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"expected a table, got {shown(value)}")
    keys = ("name", *KINDS)
    found = [key for key in keys if key in value]
    if not found:
        near = next(filter(None, (meant(key, keys, also=False) for key in value)), "")
        raise ValueError(
            f"expected one of the keys {listed(keys)}, got {listed(value) or 'none'}{near}"
        )
    if len(found) > 1:
        raise ValueError(f"expected only one of the keys {listed(keys)}, got {listed(found)}")
    return (
        named_call("world", value) if found == ["name"] else KINDS[found[0]].model_validate(value)
    )


class Reward(Strict):
    """Exactly one of `weights`, `trajectories` and `rewards`. Worlds with rewards of their own
    (driving, obstacles, those of Gymnasium) need no such table."""

    weights: Weights | None = Field(
        default=None,
        description="the weight of each feature, by name; those not named have weight 0",
    )
    trajectories: Text | None = Field(
        default=None,
        description="an expert's episodes (.jsonl, .csv, .parquet, or the folder of a Minari "
        "dataset), from which the weights are inferred",
    )
    rewards: Text | None = Field(
        default=None,
        description="columns state, reward, or state, action, reward; projected on the features",
    )
    max_residual: float = Field(
        default=1e-9,
        ge=0.0,
        le=1.0,
        description="the share of `rewards` (in length, over all rows) that the features may fail "
        "to express; a reward that they do not express is refused unless this allows it",
    )

    @model_validator(mode="after")
    def _one(self) -> Reward:
        _exactly_one(self, "weights", "trajectories", "rewards")
        if self.rewards is None and "max_residual" in self.model_fields_set:
            raise ValueError("max_residual is for rewards only")
        return self


class Combination(Strict):
    """A feature of the learner's that mixes true ones."""

    name: Text = Field(description="what to call it")
    weights: Weights = Field(description="the weight of each true feature in it, by name")


class Learner(Strict):
    """What the learner sees: the rows of all of these together; `sees = []` if that is nothing."""

    sees: list[Text] | None = Field(
        default=None, description="names of features that the learner sees as they are"
    )
    combination: list[Combination] | None = Field(
        default=None, description="combinations of features that the learner sees"
    )
    matrix: Text | None = Field(
        default=None,
        description="a table with a column a feature and a row a combination (a column called "
        "name may name them; features without a column have weight 0), or a .npy array "
        "[rows, features]",
    )

    @model_validator(mode="after")
    def _something(self) -> Learner:
        if not self.model_fields_set:
            raise ValueError("expected one of the keys sees, combination, matrix, got none")
        return self


class Teachable(Strict):
    """A feature that could be taught."""

    name: Text = Field(description="of a true feature; with `weights`, what to call it")
    cost: float | None = Field(
        default=None,
        gt=0.0,
        description="what teaching it costs; the world's price, or 1, by default",
    )
    weights: Weights | None = Field(
        default=None, description="if it is a combination of true features"
    )


class Teach(Strict):
    """What could be taught; without this table, nothing."""

    features: Literal["listed", "all"] = Field(
        default="listed",
        description='"all" for every true feature that `learner.sees` does not name, beside those '
        "listed; Gymnasium's `reward` is left out",
    )
    feature: list[Teachable] = Field(default=[], description="those that are listed")
    required: list[Text] = Field(default=[], description="names of features that must be taught")
    forbidden: list[Text] = Field(default=[], description="names of those that must not be taught")


class Demonstration(Strict):
    """What is shown: at most one of `show`, `policy` and `trajectories`."""

    show: Literal["optimal", "choose"] | None = Field(
        default=None,
        description='"optimal" (the default) for an optimal policy, "choose" for the policy that '
        "guarantees most",
    )
    policy: Text | None = Field(
        default=None,
        description="columns state, action and, unless each state has one row, probability; states "
        "with one action may be left out",
    )
    trajectories: Text | None = Field(
        default=None,
        description="recorded episodes (.jsonl, .csv, .parquet, or the folder of a Minari dataset)",
    )
    confidence: float = Field(
        default=0.95,
        gt=0.0,
        lt=1.0,
        description="of recorded episodes: how sure to be of what they say about the expert",
    )

    @model_validator(mode="after")
    def _one(self) -> Demonstration:
        if {"show", "policy", "trajectories"} & self.model_fields_set:
            _exactly_one(self, "show", "policy", "trajectories")
        if self.trajectories is None and "confidence" in self.model_fields_set:
            raise ValueError("confidence is for trajectories only")
        return self


def _teacher(value: object) -> NamedCall:
    return named_call("teacher", value)


def _learner(value: object) -> NamedCall:
    return named_call("learner", value)


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


def _limits(value: object) -> dict[str, FeatureLimit]:
    if not isinstance(value, dict):
        raise ValueError(f"expected a table of features and their limits, got {shown(value)}")
    tables = {
        name: each if isinstance(each, dict) else {"at_most": each} for name, each in value.items()
    }
    return TypeAdapter(dict[str, FeatureLimit]).validate_python(tables)


class Loss(Strict):
    """A loss of reward: an amount, or a share of the expert's."""

    amount: float | None = None
    share: float | None = None


def _loss(value: Any) -> Loss:
    """A number, or a text such as "10 %"."""
    wanted = 'expected a reward from 0 on, or a share of the expert\'s such as "10 %"'
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
        _exactly_one(self, "of", "action", "policy")
        return self


def _baseline(value: object) -> Baseline:
    words = get_args(BaselineWord)
    if isinstance(value, str) and value not in words:
        wanted = f"expected {', '.join(words)}, or a table with one of the keys action, policy"
        raise ValueError(f"{wanted}, got {shown(value)}{meant(value, words, also=False)}")
    return Baseline.model_validate({"of": value} if isinstance(value, str) else value)


class Plan(Strict):
    """How to teach, and when to stop: once all goals (`guarantee`, `max_loss`, `at_least`,
    `limits`) are guaranteed that are given."""

    teacher: Annotated[NamedCall, PlainValidator(_teacher)] = Field(
        default=NamedCall(name="GapGreedy", parameters={}),
        description="the name of a strategy, or a table of its name and parameters",
    )
    learner: Annotated[NamedCall, PlainValidator(_learner)] = Field(
        default=NamedCall(name="MinNormPoint", parameters={}),
        description="whom to simulate: a name, or a table of a name and parameters",
    )
    budget: Count | None = Field(
        default=None, description="how many features may be taught; all of them by default"
    )
    max_cost: float | None = Field(
        default=None, ge=0.0, description="what they may cost in all; any amount by default"
    )
    guarantee: float | None = Field(
        default=None,
        ge=0.0,
        le=1.0,
        description="stop once this relative performance is guaranteed",
    )
    max_loss: Annotated[Loss | None, PlainValidator(_loss)] = Field(
        default=None,
        description="how much less than the expert a learner may be guaranteed: a reward, or a "
        'share of the expert\'s, such as "10 %"',
    )
    at_least: float | None = Field(default=None, description="the reward that must be guaranteed")
    baseline: Annotated[Baseline | None, PlainValidator(_baseline)] = Field(
        default=None,
        description='whose relative performance is 0: "worst" (the default), "uniform", '
        '"nothing", or a table, see below',
    )
    limits: Annotated[dict[str, FeatureLimit], PlainValidator(_limits)] = Field(
        default={},
        description="how much there may be of single features, discounted: at most a number, or a "
        "table, see below",
    )
    mismatch: float | None = Field(
        default=None,
        ge=0.0,
        description="how closely the learner is taken to match what is shown, in the learner's "
        "features, for what is guaranteed; by default exactly, and recorded episodes as closely as "
        "the expert does",
    )


class ProblemFile(Strict):
    """The whole file."""

    title: str = Field(
        default="", max_length=200, description="what to call the problem; by default as the file"
    )
    seed: int = Field(default=0, ge=0, lt=2**63, description="of all that is left to chance")
    allow_outside: bool = Field(
        default=False, description="whether files may lie outside of this file's folder"
    )
    world: Annotated[Any, PlainValidator(_world)] = Field(
        description="where all of this happens, see below"
    )
    reward: Reward | None = Field(default=None, description="what the expert is after")
    learner: Learner = Field(description="what the learner sees")
    teach: Teach = Field(default=Teach(), description="what could be taught")
    demonstration: Demonstration = Field(default=Demonstration(), description="what is shown")
    plan: Plan = Field(default=Plan(), description="how to teach, and when to stop")


def _exactly_one(table: Strict, *keys: str) -> None:
    found = [key for key in keys if getattr(table, key) is not None]
    if len(found) != 1:
        wanted = f"expected {'one' if not found else 'only one'} of the keys {listed(keys)}"
        raise ValueError(f"{wanted}, got {listed(found) or 'none'}")


__all__ = [
    "KINDS",
    "Baseline",
    "Combination",
    "Demonstration",
    "FeatureLimit",
    "GymnasiumWorld",
    "Learner",
    "Loss",
    "Plan",
    "ProblemFile",
    "Reward",
    "SavedWorld",
    "TableWorld",
    "Teach",
    "Teachable",
]
