"""`teachirl worlds`: what a problem file can name."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any, get_args

import typer

from .options import AsJson


def worlds(as_json: AsJson = False) -> None:
    """List the built-in worlds with their parameters and defaults."""
    from ..problem.named import NAMED
    from ..render.json import plain, print_json

    found = plain([_description(name, make) for name, make in NAMED["world"].items()])
    if as_json:
        print_json("worlds", found)
        return
    for world in found:
        typer.echo(f"{world['name']}: {world['summary']}")
        for each in world["parameters"]:
            typer.echo(f"    {each['name']}: {each['type']}{_default(each)}")


def _description(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    from ..problem.named import parameters_model

    parameters = [
        {
            "name": key,
            "type": _type(each.annotation),
            "required": each.is_required(),
            "default": None if each.is_required() else each.default,
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
