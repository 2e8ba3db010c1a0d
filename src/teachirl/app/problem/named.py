"""What a problem file can call by name: worlds, teachers and learners, with their parameters.

Which parameters there are, of which type and with which default, is read off the signatures.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, get_args, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, create_model

from ... import learners, teachers, worlds
from .places import meant, shown

WORLDS = ("chain", "driving", "garnet", "gridworld", "obstacles")
TEACHERS = ("GapGreedy", "JointGreedy", "OptimalSubset", "PerfGreedy", "Random", "TRGreedy")
LEARNERS = (
    "Adversarial",
    "Benevolent",
    "LinearProgram",
    "MaxCausalEntropy",
    "MaxMargin",
    "MinNormPoint",
    "MultiplicativeWeights",
    "Projection",
)
# What no file gives: random numbers come from its seed, and PerfGreedy's learner is the plan's.
GIVEN_ELSEWHERE = ("rng", "learner")


class Strict(BaseModel):
    """A table of a problem file: no other keys, no other types, no infinities."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class Called(Strict):
    """A name, and the parameters that were given with it."""

    name: str
    parameters: dict[str, Any]


def options(kind: str) -> tuple[str, ...]:
    """The names there are of a kind, ``world``, ``teacher`` or ``learner``."""
    return {"world": WORLDS, "teacher": TEACHERS, "learner": LEARNERS}[kind]


def find(kind: str, name: str) -> Callable[..., Any]:
    """The function or class of that name."""
    module = {"world": worlds, "teacher": teachers, "learner": learners}[kind]
    found: Callable[..., Any] = getattr(module, name)
    return found


def called(kind: str, value: object) -> Called:
    """The checked call that a table, or a name alone, stands for."""
    table = {"name": value} if isinstance(value, str) else value
    if not isinstance(table, dict):
        raise ValueError(f"expected the name of a {kind}, or a table with it, got {shown(value)}")
    if "name" not in table:
        raise ValueError(f"expected the key name, the name of a {kind}{meant(None, options(kind))}")
    name = table["name"]
    if name not in options(kind):
        raise ValueError(f"there is no {kind} {shown(name)}{meant(name, options(kind))}")
    given = {key: each for key, each in table.items() if key != "name"}
    checked = parameters_model(find(kind, name)).model_validate(given)
    # Only what was given: the rest are the function's own defaults.
    values = {key: getattr(checked, key) for key in checked.model_fields_set}
    return Called(name=name, parameters=values)


@cache
def parameters_model(function: Callable[..., Any]) -> type[Strict]:
    """The table of a function's, or a class's, parameters.

    >>> import teachirl as ti
    >>> sorted(parameters_model(ti.worlds.chain).model_fields)
    ['cells', 'discount']
    """
    hints = get_type_hints(function)
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in GIVEN_ELSEWHERE:
            needed = parameter.default is inspect.Parameter.empty
            fields[name] = (_type_of(hints[name]), ... if needed else parameter.default)
    model: type[Strict] = create_model(function.__name__, __base__=Strict, **fields)
    return model


def _type_of(hint: Any) -> Any:
    """What TOML has for a parameter's type: a text, a number, true or false, or a list."""
    if hint in (str, int, float, bool):
        return hint
    inner = [each for each in get_args(hint) if isinstance(each, type)]
    for entry in inner:
        if dataclasses.is_dataclass(entry):
            return list[_table_of(entry)]  # type: ignore[misc]  # a type made at run time
    return list[int] if inner == [int] else list[float]


def _table_of(entry: Callable[..., Any]) -> Any:
    return Annotated[parameters_model(entry), AfterValidator(lambda row: entry(**dict(row)))]


__all__ = [
    "LEARNERS",
    "TEACHERS",
    "WORLDS",
    "Called",
    "Strict",
    "called",
    "find",
    "options",
    "parameters_model",
]
