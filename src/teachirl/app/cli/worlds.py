"""`teachirl worlds`: what a problem file can name."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Annotated, Any, get_args

import typer

from .options import AsJson
from .screen import loading


def worlds(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One of them, or Gymnasium's, as Taxi-v4.")
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of it, as in size=4."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the built-in worlds with their parameters and defaults, or the features of one."""
    from ..problem.named import NAMED
    from ..render.json import plain, print_json

    if name is not None:
        _features(name, sets, as_json)
        return
    found = plain([_description(name, make) for name, make in NAMED["world"].items()])
    if as_json:
        print_json("worlds", found)
        return
    for world in found:
        typer.echo(f"{world['name']}: {world['summary']}")
        for each in world["parameters"]:
            typer.echo(f"    {each['name']}: {each['type']}{_default(each)}")


def _features(name: str, sets: list[str] | None, as_json: bool) -> None:
    """The features of a world, with their weights and prices where it has some."""
    with loading():
        from ...errors import require
        from ...figures.digits import money, number
        from ..problem import Change, named_world
        from ..problem.named import NAMED, parameters_model
        from ..render.console import print_table
        from ..render.json import print_json
    changes = [Change.set(text) for text in sets or []]
    if name in NAMED["world"]:
        fields = parameters_model(NAMED["world"][name]).model_fields
        told = {each.parts[0] for each in changes}
        lacking = [key for key, each in fields.items() if each.is_required() and key not in told]
        wrong = bool(told - fields.keys())  # which is told as such
        require(
            wrong or not lacking, f"{name} needs {', '.join(lacking)}: say it, as in --set size=4"
        )
    world = named_world(name, changes)
    given = {"weight": world.weights, "price": world.prices}
    columns = {key: values.tolist() for key, values in given.items() if values is not None}
    shown = {"weight": number, "price": money}
    names = [world.mdp.feature_name(i) for i in range(world.mdp.n_features)]
    if as_json:
        rows = [
            {"name": each, **{key: values[i] for key, values in columns.items()}}
            for i, each in enumerate(names)
        ]
        print_json("world", {"name": name, "states": world.mdp.n_states, "features": rows})
        return
    typer.echo(f"{name}: {world.mdp.n_states} states, {world.mdp.n_pairs} state-action pairs")
    cells = [
        (each, *(shown[key](values[i]) for key, values in columns.items()))
        for i, each in enumerate(names)
    ]
    print_table([("feature", *columns), *cells])


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
