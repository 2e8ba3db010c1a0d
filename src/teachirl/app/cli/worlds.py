"""`teachirl worlds`: what a problem file can name."""

from __future__ import annotations

import inspect
import json
from dataclasses import asdict, is_dataclass
from typing import Any, get_args

import typer

from .output import AsJson, print_json


def worlds(as_json: AsJson = False) -> None:
    """List the built-in worlds with their parameters and defaults."""
    from ..problem.named import options

    found = [_description(name) for name in options("world")]
    if as_json:
        print_json("worlds", found)
        return
    for world in found:
        typer.echo(f"{world['name']}: {world['summary']}")
        for each in world["parameters"]:
            typer.echo(f"    {each['name']}: {each['type']}{_default(each)}")


def _description(name: str) -> dict[str, Any]:
    from ..problem.named import find, parameters_model

    function = find("world", name)
    parameters = [
        {
            "name": key,
            "type": _type(each.annotation),
            "required": each.is_required(),
            "default": None if each.is_required() else _plain(each.default),
        }
        for key, each in parameters_model(function).model_fields.items()
    ]
    summary = (inspect.getdoc(function) or "").partition("\n")[0]
    return {"name": name, "summary": summary, "parameters": parameters}


def _type(annotation: Any) -> str:
    """For people.

    >>> _type(int), _type(list[float])
    ('int', 'list of float')
    """
    if not get_args(annotation):
        return str(annotation.__name__)
    [entry] = get_args(annotation)
    return f"list of {entry.__name__ if isinstance(entry, type) else 'tables'}"


def _default(parameter: dict[str, Any]) -> str:
    if parameter["required"]:
        return ", required"
    if parameter["default"] is None:
        return ", optional"
    return f" = {json.dumps(parameter['default'])}"


def _plain(value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
