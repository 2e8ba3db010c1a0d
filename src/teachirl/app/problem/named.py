"""What a problem file can call by name: worlds, teachers and learners, with their parameters.

Which parameters there are, of which type and with which default, is read off the signatures.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, get_args, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from ... import learners, teachers
from ...files import shown
from ...worlds.built_in import BUILT_IN
from .places import listed, meant

# All functions and classes that a file can call, by kind and by name.
NAMED: dict[str, dict[str, Callable[..., Any]]] = {
    "world": {name: each.make for name, each in BUILT_IN.items()},
    "teacher": {
        each.__name__: each
        for each in (
            teachers.GapGreedy,
            teachers.JointGreedy,
            teachers.OptimalSubset,
            teachers.PerfGreedy,
            teachers.Random,
            teachers.TRGreedy,
        )
    },
    "learner": {
        each.__name__: each
        for each in (
            learners.Adversarial,
            learners.Benevolent,
            learners.LinearProgram,
            learners.MaxCausalEntropy,
            learners.MaxMargin,
            learners.MinNormPoint,
            learners.MultiplicativeWeights,
            learners.Projection,
        )
    },
}
# What no file gives: random numbers come from its seed, and PerfGreedy's learner is the plan's.
GIVEN_ELSEWHERE = ("rng", "learner")


class Strict(BaseModel):
    """A table of a problem file: no other keys, no other types, no infinities."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


Text = Annotated[str, Field(min_length=1, max_length=1000)]


class NamedCall(Strict):
    """A name, and the parameters that were given with it."""

    name: str
    parameters: dict[str, Any]


def named_call(kind: str, value: object) -> NamedCall:
    """The checked call that a table, or a name alone, stands for.

    Parameters
    ----------
    kind : ``world``, ``teacher`` or ``learner``
    value : what the file says

    Returns
    -------
    NamedCall; a ValueError says what was expected
    """
    table, names = {"name": value} if isinstance(value, str) else value, NAMED[kind]
    if not isinstance(table, dict):
        raise ValueError(f"expected the name of a {kind}, or a table with it, got {shown(value)}")
    if "name" not in table:
        raise ValueError(f"expected the key name, the name of a {kind}{meant(None, names)}")
    name = table["name"]
    if not isinstance(name, str) or name not in names:
        raise ValueError(f"there is no {kind} {shown(name)}{meant(name, names)}")
    given = {key: each for key, each in table.items() if key != "name"}
    checked = parameters_model(names[name]).model_validate(given)
    # Only what was given: the rest are the function's own defaults.
    values = {key: getattr(checked, key) for key in checked.model_fields_set}
    return NamedCall(name=name, parameters=values)


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


def exactly_one(table: Strict, *keys: str) -> None:
    """Refuse a table that has none of these keys, or more than one."""
    found = [key for key in keys if getattr(table, key) is not None]
    if len(found) != 1:
        wanted = f"expected {'one' if not found else 'only one'} of the keys {listed(keys)}"
        raise ValueError(f"{wanted}, got {listed(found) or 'none'}")


__all__ = ["NAMED", "NamedCall", "Strict", "Text", "exactly_one", "named_call", "parameters_model"]
