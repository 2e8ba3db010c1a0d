"""The table [reward] of a problem file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .named import Strict, Text, exactly_one

Weights = Annotated[dict[str, float], Field(min_length=1)]


class Reward(Strict):
    """Exactly one of `weights`, `trajectories`, `rewards` and `plausible`. Worlds with rewards of
    their own (driving, obstacles, those of Gymnasium) need no such table."""

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
    plausible: Text | None = Field(
        default=None,
        description="several rewards, a row each: a column a feature, 0 for those that have none, "
        "and perhaps chance; what is taught is planned for their mean",
    )
    within: float | None = Field(
        default=None,
        gt=0.0,
        description="of weights: by which share of its size each may be off, such as 0.2",
    )
    posterior: int | None = Field(
        default=None,
        ge=1,
        lt=2**31,
        description="of trajectories: how many of the plausible weights to certify for, such as "
        "200, drawn at random",
    )
    tail: float | None = Field(
        default=None,
        gt=0.0,
        lt=1.0,
        description="of plausible or posterior: the share of the rewards, the worst ones, for "
        "which nothing need hold",
    )
    skip: Literal["impossible"] | None = Field(
        default=None,
        description='of trajectories: "impossible" to leave out steps that the world cannot have '
        "taken, and what follows them in their episode; by default they are refused",
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
        exactly_one(self, "weights", "trajectories", "rewards", "plausible")
        if self.weights is None and self.within is not None:
            raise ValueError("within is for weights only")
        if self.trajectories is None and self.posterior is not None:
            raise ValueError("posterior is for trajectories only")
        if self.plausible is None and self.posterior is None and self.tail is not None:
            raise ValueError("tail is for plausible or posterior only")
        if self.rewards is None and "max_residual" in self.model_fields_set:
            raise ValueError("max_residual is for rewards only")
        if self.trajectories is None and "match" in self.model_fields_set:
            raise ValueError("match is for trajectories only")
        if self.trajectories is None and self.skip is not None:
            raise ValueError("skip is for trajectories only")
        return self


__all__ = ["Reward", "Weights"]
