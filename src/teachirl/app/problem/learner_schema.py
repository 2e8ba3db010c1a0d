"""The table [learner] of a problem file: what the learner sees, or how to find it out."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .named import Strict, Text, exactly_one

Weights = Annotated[dict[str, float], Field(min_length=1)]
KNOWN = ("sees", "combination", "matrix", "table", "buckets")
UNKNOWN = ("library", "taught", "mismatch", "confidence", "answer")


class Combination(Strict):
    """A feature of the learner's that mixes true ones."""

    name: Text = Field(description="what to call it")
    weights: Weights = Field(description="the weight of each true feature in it, by name")


class Answer(Strict):
    """What a learner whose worldview is unknown made of a demonstration: one of `policy` and
    `trajectories`."""

    shown: Text = Field(
        description="what it was shown: the file of a probe (.json, made by `teachirl probe`), or "
        "a policy (.csv, .parquet)"
    )
    policy: Text | None = Field(
        default=None, description="the learner's policy, with the columns of `demonstration.policy`"
    )
    trajectories: Text | None = Field(
        default=None,
        description="independent episodes of the learner (.jsonl, .csv, .parquet, or the folder of "
        "a Minari dataset)",
    )

    @model_validator(mode="after")
    def _one(self) -> Answer:
        exactly_one(self, "policy", "trajectories")
        return self


class Learner(Strict):
    """What the learner sees: `sees`, `combination`, `matrix`, `table` and `buckets` together, and
    `sees = []` if that is nothing. Or `unknown = true`, and what is known of it."""

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
    table: Text | None = Field(
        default=None,
        description="columns state, perhaps action, and one a reading of the learner's own, which "
        "need be no combination of features; where episodes have ended, 0",
    )
    buckets: dict[Text, list[float]] | None = Field(
        default=None,
        description="features of which the learner sees only between which numbers they are, as in "
        "`{ position = [0.2, 0.5] }`: where buckets begin, rising",
    )
    unknown: bool = Field(
        default=False,
        description="whether nobody knows what the learner sees; the keys that follow are for this",
    )
    library: Literal["all"] | list[Text] = Field(
        default="all",
        description="names of the features that the learner may see; Gymnasium's `reward` is left "
        "out of all",
    )
    taught: list[Text] = Field(
        default=[],
        description="names of those that the learner has been given since; a probe that was made "
        "without one of them must have been answered before",
    )
    mismatch: float = Field(
        default=0.0,
        ge=0.0,
        lt=1.0,
        description="how closely the learner matches each of its features, as a share of what "
        "policies can change of it",
    )
    confidence: float = Field(
        default=0.95, gt=0.0, lt=1.0, description="how sure to be of what the learner sees"
    )
    answer: list[Answer] = Field(
        default=[], description="what the learner made of what it was shown, in that order"
    )

    @model_validator(mode="after")
    def _something(self) -> Learner:
        given = [key for key in KNOWN if key in self.model_fields_set]
        asked = [key for key in UNKNOWN if key in self.model_fields_set]
        if self.unknown and given:
            raise ValueError(f"{given[0]} is for a learner who is not unknown")
        if not self.unknown and asked:
            raise ValueError(f"{asked[0]} is for unknown = true only")
        if not self.unknown and not given:
            raise ValueError(
                "expected one of the keys sees, combination, matrix, table, buckets, or "
                "unknown = true, got none"
            )
        return self


__all__ = ["Answer", "Combination", "Learner"]
