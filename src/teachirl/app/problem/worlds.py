"""From the table [world] of a problem file to an MDP."""

from __future__ import annotations

import inspect
import re
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...errors import FileFormatError, InvalidInputError
from ...files import MAX_NUMBERS, shown
from ...mdp.model import MDP
from ...worlds import World
from ...worlds.built_in import BUILT_IN
from ...worlds.gymnasium import gymnasium_world
from ...worlds.map import Map, map_from_names
from ...worlds.model_files import from_model_file
from .files import MAX_STATES, Folder
from .logs import STEP, estimated_world
from .maps import build_map, read_map, split_places
from .mistakes import Mistakes
from .moves import Moves, start_chances
from .named import NamedCall
from .places import Place, called_by_name
from .schema import GymnasiumWorld, LogWorld, ModelWorld, SavedWorld, TableWorld
from .tables import Table, read_table


def build_world(
    world: object, place: Place, folder: Folder, seed: int, mistakes: Mistakes
) -> World:
    """The world that a file describes.

    Parameters
    ----------
    world : the checked table
    place : where it stands
    folder : that of the file
    seed : that of random worlds
    mistakes : Mistakes, to which those of tables are added
    """
    if isinstance(world, NamedCall):
        return _built_in(world, place, seed)
    if isinstance(world, GymnasiumWorld):
        if "render_mode" in world.arguments:
            (place / "arguments" / "render_mode").refuse("nothing is rendered; leave it out")
        # Of an id with a colon, gymnasium imports the part before it, whatever that does.
        if not re.fullmatch(r"[\w./-]+-v[0-9]+", world.gymnasium, re.ASCII):
            got = shown(world.gymnasium)
            (place / "gymnasium").refuse(f"expected an id like Taxi-v4, got {got}")
        with (place / ("arguments" if world.arguments else "gymnasium")).locating():
            return gymnasium_world(
                world.gymnasium, world.discount, arguments=world.arguments, seed=seed
            )
    model, note = None, ""
    if isinstance(world, LogWorld):
        model, around, note = estimated_world(world, place, folder)
        mdp = model.nominal
    elif isinstance(world, ModelWorld):
        mdp, around = _from_model(world, place, folder), None
    elif isinstance(world, SavedWorld):
        with (place / "file").locating():
            path = folder.file(world.file)
            with called_by_name(path, world.file):
                mdp, around = MDP.load(path, max_bytes=8 * MAX_NUMBERS), None
    else:
        assert isinstance(world, TableWorld)
        mdp, around = _from_tables(world, place, folder, mistakes)
    if world.map is not None:
        read = partial(read_map, world.map, place / "map", folder, mdp)
        around = mistakes.of(read)
    return World(mdp, map=around or map_from_names(mdp), note=note, model=model)


def _built_in(world: NamedCall, place: Place, seed: int) -> World:
    found, given = BUILT_IN[world.name], dict(world.parameters)
    states, numbers = found.size(**given)
    if states > MAX_STATES or numbers > MAX_NUMBERS:
        place.refuse(
            f"expected a world of at most {MAX_STATES} states and {MAX_NUMBERS} numbers, got "
            f"{shown(states)} states and {shown(numbers)} numbers"
        )
    if "rng" in inspect.signature(found.make).parameters:
        given["rng"] = np.random.default_rng(seed)
    with place.locating():
        return replace(found.world(**given), built_in=True)


def _from_model(world: ModelWorld, place: Place, folder: Folder) -> MDP:
    with (place / "model").locating():
        path = folder.file(world.model)
        with called_by_name(path, world.model):
            return from_model_file(
                path, world.discount, variables=world.variables, constants=world.constants
            )


def _from_tables(
    world: TableWorld, place: Place, folder: Folder, mistakes: Mistakes
) -> tuple[MDP, Map | None]:
    """The MDP, and where the table of features says that its states lie."""

    def table(key: str, **columns: Any) -> Table | None:
        name = getattr(world, key)

        def read() -> Table:
            with (place / key).locating():
                return read_table(folder.file(name), name, partly=True, **columns)

        return None if name is None else mistakes.of(read)

    transitions = table("transitions", texts=STEP, numbers=("probability",))
    features = table("features", texts=("state", "action"), optional=("action",), further=True)
    chances = table("start", texts=("state",), numbers=("probability",))
    moves = sound = None
    with mistakes.collecting(), (place / "transitions").locating():
        moves = None if transitions is None else Moves(transitions, world.normalize)
        sound = None if moves is None else moves.checked()
    if moves is None:  # nothing is known of states; what else is wrong with tables is told
        for key, each in (("features", features), ("start", chances)):
            with mistakes.collecting(), (place / key).locating():
                if each is not None:
                    each.refuse_wrong()
        if chances is not None:
            with mistakes.collecting(), (place / "start").locating():
                start_chances(chances, world.normalize)
        mistakes.refuse()
    where, phi, start = None, None, np.full(moves.n_states, 1.0 / moves.n_states)
    if features is not None and world.map is None:
        features, where = split_places(features)
    if features is not None:
        with mistakes.collecting(), (place / "features").locating():
            phi = moves.features(features)
    if chances is not None:
        with mistakes.collecting(), (place / "start").locating():
            start = moves.start(chances)
    if sound is None or features is None or phi is None:
        mistakes.refuse()
    with place.locating():
        mdp = moves.mdp(phi, features.columns, start, world.discount)
    around = None
    if where is not None:
        with mistakes.collecting(), (place / "features").locating():
            around = build_map(where, mdp)
    return mdp, around


def features_alone(world: object, folder: Folder) -> World | None:
    """A world of one state with the features of a world of tables, which cannot be built; None if
    not even these are known."""
    if not isinstance(world, (TableWorld, LogWorld)):
        return None
    name, texts = world.features, STEP if isinstance(world, LogWorld) else STEP[:2]
    with suppress(FileFormatError, InvalidInputError, OSError):
        table = read_table(
            folder.file(name), name, texts=texts, optional=texts[1:], further=True, partly=True
        )
        names = (split_places(table)[0] if world.map is None else table).columns
        nothing = np.zeros((1, len(names)))
        return World(MDP.from_pairs([0], [0], [[1.0]], nothing, discount=0.5, feature_names=names))
    return None


__all__ = ["build_world", "features_alone"]
