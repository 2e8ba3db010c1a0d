"""What can stand in a problem file, as a page: rendered from the code that checks it."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, Field
from pydantic_core import PydanticUndefined

from ...files import MAX_NUMBERS, MAX_ROWS
from . import goal_schema, learner_schema, schema
from .files import MAX_BYTES, MAX_FEATURES, MAX_STATES
from .named import NAMED, NamedCall, parameters_model
from .reading import MAX_BYTES as MAX_TOML_BYTES


class BuiltInWorld(BaseModel):
    """A world that teachirl makes; `name` and its parameters, listed below."""

    name: str = Field(description="one of those listed below")


SECTIONS: tuple[tuple[str, type[BaseModel]], ...] = (
    ("At the top", schema.ProblemFile),
    ("`[world]` with a name", BuiltInWorld),
    ("`[world]` with a Gymnasium environment", schema.GymnasiumWorld),
    ("`[world]` from a model file", schema.ModelWorld),
    ("`[world]` from a saved file", schema.SavedWorld),
    ("`[world]` from tables", schema.TableWorld),
    ("`[world]` from a log", schema.LogWorld),
    ("`[reward]`", schema.Reward),
    ("`[learner]`", schema.Learner),
    ("`[[learner.combination]]`", schema.Combination),
    ("`[[learner.answer]]`", learner_schema.Answer),
    ("`[teach]`", schema.Teach),
    ("`[[teach.feature]]`", schema.Teachable),
    ("`[demonstration]`", schema.Demonstration),
    ("`[plan]`", schema.Plan),
    ("`[plan.baseline]`", goal_schema.Baseline),
    ("`[plan.limits]`, for each feature", goal_schema.FeatureLimit),
)
WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false"}


def reference() -> str:
    """All tables and keys of a problem file, in Markdown.

    >>> print(reference().splitlines()[0])
    ## Reference
    """
    lines = ["## Reference", ""]
    for heading, model in SECTIONS:
        about = " ".join((model.__doc__ or "").split())
        lines += [f"### {heading}", "", about, "", *_keys(model), ""]
    for kind, names in NAMED.items():
        lines += [f"### Each {kind} that has a name", ""]
        lines += [f"| {kind} | parameters |", "|---|---|"]
        lines += [f"| `{name}` | {_parameters(each)} |" for name, each in names.items()]
        lines += [""]
    lines += [
        "### Limits",
        "",
        f"A problem file has at most {MAX_TOML_BYTES >> 20} MB, a file that it names at most "
        f"{MAX_BYTES >> 20} MB, a table at most {MAX_ROWS:,} rows, a world at most "
        f"{MAX_STATES:,} states and {MAX_FEATURES:,} features, what is seen or taught at most "
        f"{MAX_FEATURES**2:,} numbers, and no other array more than {MAX_NUMBERS:,}.",
        "",
    ]
    return "\n".join(lines)


def _keys(model: type[BaseModel]) -> list[str]:
    lines = ["| key | what | by default | meaning |", "|---|---|---|---|"]
    for name, field in model.model_fields.items():
        default = "(needed)" if field.is_required() else _default(field.default)
        what = "table" if name == "world" else _type(field.annotation)
        lines.append(f"| `{name}` | {what} | {default} | {field.description} |")
    return lines


def _parameters(function: Callable[..., Any]) -> str:
    fields = parameters_model(function).model_fields
    texts = []
    for key, field in fields.items():
        default = "" if field.is_required() else _default(field.default)
        texts.append(f"`{key}` ({_type(field.annotation)}{default and f', {default}'})")
    return ", ".join(texts) or "(none)"


def _default(value: Any) -> str:
    if value is None or value is PydanticUndefined or value in ("", [], (), {}):
        return ""
    if isinstance(value, NamedCall):
        return f'`"{value.name}"`'
    if isinstance(value, BaseModel) or (isinstance(value, tuple) and hasattr(value[0], "lane")):
        return ""
    if isinstance(value, tuple):
        value = list(value)
    return f"`{str(value).lower() if isinstance(value, bool) else _quoted(value)}`"


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _type(annotation: Any) -> str:
    """A type in words."""
    if annotation in WORDS:
        return WORDS[annotation]
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(inner[0])
    if origin is Literal:
        return " or ".join(f'`"{word}"`' for word in inner)
    if origin in (Union, types.UnionType):
        kinds = [_type(each) for each in inner if each is not type(None)]
        return " or ".join(dict.fromkeys(kinds))
    if origin is list:
        return f"list of {_type(inner[0])}s"
    if origin is dict:
        return "table of numbers" if _type(inner[1]) == "number" else "table"
    if annotation in (NamedCall, goal_schema.Baseline):
        return "text or table"
    if annotation is goal_schema.Loss:
        return "number or text"
    return "table"


__all__ = ["reference"]
