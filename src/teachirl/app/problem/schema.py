"""The tables and keys of a problem file: their names, types, limits and meaning.

What stands here is what `docs/problem_file.md` documents.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, model_validator

from ...files import shown
from .goal_schema import (
    Baseline,
    FeatureLimit,
    Loss,
    read_baseline,
    read_limits,
    read_loss,
    read_mismatch,
)
from .learner_schema import Combination, Learner
from .named import NamedCall, Strict, Text, exactly_one, named_call
from .places import listed, meant
from .reward_schema import Reward, Weights

Discount = Annotated[float, Field(gt=0.0, lt=1.0)]
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


def _constant(value: object) -> object:
    finite = isinstance(value, float) and math.isfinite(value)
    if not (finite or isinstance(value, (bool, int))):
        raise ValueError(f"expected a finite number, or true or false, got {shown(value)}")
    return value


Constant = Annotated[Any, PlainValidator(_constant)]


class GymnasiumWorld(Strict):
    """An environment of Gymnasium that exposes its transition table, or one of MiniGrid's, which is
    explored: the level is that of the file's `seed`."""

    gymnasium: Text = Field(
        description="its id, such as Taxi-v4 (needs the extra `gym`) or MiniGrid-DoorKey-5x5-v0 "
        "(needs the extra `minigrid`)"
    )
    arguments: dict[str, Argument] = Field(
        default={},
        description="what to make it with, such as `{ is_slippery = false }`; none by default",
    )
    discount: Discount = Field(description="between 0 and 1")


MAP = (
    "where states lie, so that the report can draw them: columns state, x and y, whole numbers to "
    "the right and downwards, and perhaps text, what to write there"
)


class SavedWorld(Strict):
    """An MDP that `MDP.save` wrote."""

    file: Text = Field(description="the .npz file")
    map: Text | None = Field(default=None, description=MAP)


class TableWorld(Strict):
    """An MDP in tables, each CSV (.csv) or Parquet (.parquet, needs the extra `parquet`)."""

    transitions: Text = Field(
        description="columns state, action, next_state, probability; where next_state is empty, "
        "the episode ends"
    )
    features: Text = Field(
        description="columns state and one a feature, a row a state; or state, action and one a "
        "feature, a row for each action of each state; of the first kind, x and y are no features "
        "but say where a state lies, unless `map` does"
    )
    start: Text | None = Field(
        default=None,
        description="columns state, probability; without it all states are equally likely",
    )
    normalize: bool = Field(
        default=False,
        description="whether probabilities whose sum misses 1 by 0.001 at most, as after rounding, "
        "are divided by it",
    )
    discount: Discount = Field(description="between 0 and 1")
    map: Text | None = Field(default=None, description=MAP)


class ModelWorld(Strict):
    """A model of a verification tool. Its labels, rewards and named actions are features, and each
    value of the variables that are named."""

    model: Text = Field(
        description="the file: UMB (.umb), or PRISM (.prism, .nm, .pm) or JANI (.jani), which need "
        "the extra `storm`"
    )
    constants: dict[str, Constant] = Field(
        default={}, description="what a PRISM or JANI model leaves open, such as `{ N = 3 }`"
    )
    variables: list[Text] = Field(
        default=[], description="variables of the model, each a feature for each value, `x=3`"
    )
    discount: Discount = Field(description="between 0 and 1")
    map: Text | None = Field(default=None, description=MAP)


class LogWorld(Strict):
    """A world that is known from a log, in tables as those above: what is guaranteed then holds in
    every world that the log allows."""

    log: Text = Field(
        description="columns state, action, next_state and perhaps count, how often; or recorded "
        "episodes (.jsonl, .csv, .parquet, or the folder of a Minari dataset)"
    )
    successors: Text | None = Field(
        default=None,
        description="columns state, action, next_state: all that may follow, seen or not, and so "
        "which actions there are; where next_state is empty, the episode ends. Without it any "
        "state may follow what the log tried, and little is guaranteed",
    )
    features: Text = Field(
        description="columns state and one a feature; or state, action and one a feature; or "
        "state, action, next_state and one a feature, for what depends on what follows; of the "
        "first kind, x and y are no features but say where a state lies, unless `map` does"
    )
    start: Text | None = Field(
        default=None,
        description="columns state, probability; without it all states are equally likely",
    )
    skip: Literal["impossible"] | None = Field(
        default=None,
        description='of episodes: "impossible" to leave out steps that `successors` do not allow, '
        "and what follows them in their episode; by default they are refused",
    )
    confidence: float = Field(
        default=0.95,
        gt=0.0,
        lt=1.0,
        description="how sure to be that the true world is one of those",
    )
    discount: Discount = Field(description="between 0 and 1")
    map: Text | None = Field(default=None, description=MAP)


KINDS: dict[str, type[Strict]] = {
    "gymnasium": GymnasiumWorld,
    "model": ModelWorld,
    "file": SavedWorld,
    "transitions": TableWorld,
    "log": LogWorld,
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
    skip: Literal["impossible"] | None = Field(
        default=None,
        description='of trajectories: "impossible" to leave out steps that the world cannot have '
        "taken, and what follows them in their episode; by default they are refused",
    )
    confidence: float = Field(
        default=0.95,
        gt=0.0,
        lt=1.0,
        description="of recorded episodes: how sure to be of what they say about the expert",
    )
    match: Literal["recordings", "expert"] = Field(
        default="recordings",
        description='of recorded episodes: "recordings" if the learner matches them as closely as '
        'a policy can, "expert" if it matches the expert whose sample they are',
    )

    @model_validator(mode="after")
    def _one(self) -> Demonstration:
        if {"show", "policy", "trajectories"} & self.model_fields_set:
            exactly_one(self, "show", "policy", "trajectories")
        if self.trajectories is None and "confidence" in self.model_fields_set:
            raise ValueError("confidence is for trajectories only")
        if self.trajectories is None and self.skip is not None:
            raise ValueError("skip is for trajectories only")
        return self


def _teacher(value: object) -> NamedCall:
    return named_call("teacher", value)


def _learner(value: object) -> NamedCall:
    return named_call("learner", value)


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
    max_loss: Annotated[Loss | None, PlainValidator(read_loss)] = Field(
        default=None,
        description="how much less than the expert a learner may be guaranteed: a reward, or a "
        'share of the expert\'s, such as "10 %"',
    )
    at_least: float | None = Field(default=None, description="the reward that must be guaranteed")
    baseline: Annotated[Baseline | None, PlainValidator(read_baseline)] = Field(
        default=None,
        description='whose relative performance is 0: "worst" (the default), "uniform", '
        '"nothing", or a table, see below',
    )
    limits: Annotated[dict[str, FeatureLimit], PlainValidator(read_limits)] = Field(
        default={},
        description="how much there may be of single features, discounted: at most a number, or a "
        "table, see below",
    )
    mismatch: Annotated[Loss | None, PlainValidator(read_mismatch)] = Field(
        default=None,
        description="how closely the learner is taken to match what is shown, for what is "
        "guaranteed: a number in the learner's features, or a share of what policies can change of "
        'each, such as "5 %"; by default exactly, and recorded episodes as `match` of '
        "`[demonstration]` says",
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


__all__ = [
    "KINDS",
    "Combination",
    "Demonstration",
    "GymnasiumWorld",
    "Learner",
    "LogWorld",
    "ModelWorld",
    "Plan",
    "ProblemFile",
    "Reward",
    "SavedWorld",
    "TableWorld",
    "Teach",
    "Teachable",
]
