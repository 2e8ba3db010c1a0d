"""Worlds from the model files of verification tools: UMB, and PRISM and JANI through Storm."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Floats, Ints, some
from ..errors import FileFormatError, MissingExtraError, require
from ..mdp.model import MDP
from .umb import UmbModel, read_umb

STORM = (".prism", ".nm", ".pm", ".jani")
# A variable with more values than this is no sensor that shows each of them.
MOST_VALUES = 1000
# What features may hold that is not 0, all of them together: half a gigabyte.
MOST_NUMBERS = 40_000_000


def from_model_file(
    path: str | Path,
    discount: float,
    *,
    variables: Sequence[str] = (),
    constants: Mapping[str, float | int | str] | None = None,
) -> MDP:
    """The MDP of a model file: its labels, rewards, actions and chosen variables are the features.

    Parameters
    ----------
    path : str or Path; UMB (.umb) is read without anything else, PRISM (.prism, .nm) and JANI
        (.jani) need the extra `storm`
    discount : float, γ in (0, 1)
    variables : sequence of str, variables of the model, each a feature for each value, ``x=3``
    constants : dict, what the model leaves open, by name; for PRISM and JANI

    Returns
    -------
    MDP, with features per pair; states are numbered, actions called as in the model

    Examples
    --------
    >>> import teachirl as ti
    >>> ti.worlds.from_model_file("a.txt", discount=0.99)
    Traceback (most recent call last):
        ...
    teachirl.errors.InvalidInputError: path must end in .umb, .prism, .nm, .pm, .jani, got 'a.txt'
    """
    given = Path(path)
    kind = given.suffix.lower()
    require(
        kind in (".umb", *STORM),
        f"path must end in {', '.join(('.umb', *STORM))}, got {given.name!r}",
    )
    if kind == ".umb":
        require(not constants, "constants are for PRISM and JANI: in a UMB file they are settled")
        return _mdp(read_umb(given), discount, variables, str(given))
    with tempfile.TemporaryDirectory() as folder:
        return _mdp(
            read_umb(_built(given, Path(folder), constants)), discount, variables, str(given)
        )


def _built(path: Path, folder: Path, constants: Mapping[str, Any] | None) -> Path:
    """The same model in UMB, by Storm."""
    try:
        import stormpy
        from stormpy import io
    except ImportError:
        raise MissingExtraError("stormpy", "storm") from None
    path.read_bytes()  # an error that names the file, if it is not there
    settled = ",".join(f"{name}={_written(value)}" for name, value in (constants or {}).items())
    made = folder / "model.umb"
    try:
        with _silence():
            if path.suffix.lower() == ".jani":
                description, properties = stormpy.parse_jani_model(str(path))
                del properties
            else:
                description = stormpy.parse_prism_program(str(path))
            _check_constants(path, description, constants or {})
            description, _ = stormpy.instantiate_constants(description, settled)
            options = stormpy.BuilderOptions(build_full=True)
            options.set_build_state_valuations()
            options.set_build_choice_labels()
            options.set_build_all_reward_models()
            options.set_build_all_labels()
            model = stormpy.build_model[float](description, options=options)
            io.export_to_umb(model, str(made))
    except (RuntimeError, stormpy.exceptions.StormError) as error:
        # Its name, what is wrong and where, then the line, then a mark below its place.
        said = [line.strip() for line in f"{error}".split("\n")][:2]
        reason = " ".join(" ".join(said).split()).partition("Exception: ")[2] or f"{error}"
        raise FileFormatError(f"{path}: Storm refuses it: {reason}") from None
    return made


def _check_constants(path: Path, description: Any, given: Mapping[str, Any]) -> None:
    """Each constant that the model leaves open must be given, and no other."""
    left = [each.name for each in description.constants if not each.defined]
    missing = [name for name in left if name not in given]
    if missing:
        raise FileFormatError(f"{path}: it leaves open what {some(missing)} is: give constants")
    other = [name for name in given if name not in left]
    if other:
        there = f"those are {some(left)}" if left else "there are none"
        raise FileFormatError(f"{path}: {some(other)} is no constant that it leaves open; {there}")


def _written(value: object) -> str:
    """A constant as Storm reads it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@contextmanager
def _silence() -> Iterator[None]:
    """Within the block nothing is printed: Storm tells its errors twice, past Python."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for place in (1, 2):
            os.dup2(nowhere, place)
        yield
    finally:
        for place, copy in zip((1, 2), kept, strict=True):
            os.dup2(copy, place)
            os.close(copy)
        os.close(nowhere)


def _mdp(model: UmbModel, discount: float, variables: Sequence[str], source: str) -> MDP:
    states = np.repeat(np.arange(len(model.offsets) - 1), np.diff(model.offsets))
    actions, names = _distinct(model, states)
    columns: dict[str, sp.csc_array] = {}
    numbers = 0
    for name, column in _features(model, states, variables, source):
        numbers += int(np.count_nonzero(column))
        require(numbers <= MOST_NUMBERS, f"{source}: its features have over {MOST_NUMBERS} numbers")
        columns[name] = sp.csc_array(column[:, None])
    require(
        bool(columns),
        f"{source}: it has no labels, rewards or actions; name some of its variables: "
        f"{some(tuple(model.variables)) or 'there are none, either'}",
    )
    phi = sp.hstack(list(columns.values()), format="csr")
    n = len(model.offsets) - 1
    rows = sp.csr_array((model.chances, model.targets, model.indptr), shape=(len(states), n))
    rows.sum_duplicates()
    return MDP.from_pairs(
        states,
        actions,
        rows,
        phi if len(states) != n else sp.csr_array(phi),
        discount=discount,
        start=model.start,
        n_states=n,
        n_actions=len(names),
        action_names=names,
        feature_names=tuple(columns),
    )


def _features(
    model: UmbModel, states: Ints, variables: Sequence[str], source: str
) -> Iterator[tuple[str, Floats]]:
    """Columns [P] by name, one after the other; what is 0 everywhere is left out."""
    for name in variables:
        require(
            name in model.variables,
            f"{source}: there is no variable {name!r}; there are: {some(tuple(model.variables))}",
        )
    taken: set[str] = set()
    for name, column in _columns(model, states, variables, source):
        if column.any():
            # Labels and rewards may be called the same.
            free = name if name not in taken else f"reward {name}"
            require(free not in taken, f"{source}: two of its features are called {free!r}")
            taken.add(free)
            yield free, column


def _columns(
    model: UmbModel, states: Ints, variables: Sequence[str], source: str
) -> Iterator[tuple[str, Floats]]:
    for label, holds in model.labels.items():
        yield label, holds[states].astype(float)
    for name in dict.fromkeys((*model.state_rewards, *model.choice_rewards)):
        of_states = model.state_rewards.get(name)
        column = model.choice_rewards.get(name, np.zeros(len(states)))
        # A reward may be given for states, for choices, and for both.
        yield name, column if of_states is None else column + of_states[states]
    if model.actions is not None:
        for number, name in enumerate(model.action_names):
            if name:
                yield f"action {name}", (model.actions == number).astype(float)
    for name in dict.fromkeys(variables):
        values = model.variables[name]
        there = np.unique(values)
        require(
            len(there) <= MOST_VALUES,
            f"{source}: variable {name!r} has {len(there)} values, more than {MOST_VALUES}",
        )
        for value in there:
            yield f"{name}={value}", (values == value)[states].astype(float)


def _distinct(model: UmbModel, states: Ints) -> tuple[Ints, tuple[str, ...]]:
    """An action for each choice, no two the same in a state: a name, with a number if it is there
    more than once, or without a name a number alone."""
    labels = np.zeros(len(states), dtype=np.int64) if model.actions is None else model.actions
    order = np.lexsort((np.arange(len(states)), labels, states))
    same = np.zeros(len(states), dtype=bool)
    same[1:] = (states[order][1:] == states[order][:-1]) & (labels[order][1:] == labels[order][:-1])
    # How many of the same came before: counted from the last that began anew.
    places = np.arange(len(states))
    began = np.maximum.accumulate(np.where(same, 0, places))
    times = np.empty(len(states), dtype=np.int64)
    times[order] = places - began
    keys, actions = np.unique(np.stack([labels, times]), axis=1, return_inverse=True)
    names = []
    for label, again in keys.T:
        name = model.action_names[label] if model.action_names else ""
        name = name or "choice"
        names.append(name if again == 0 else f"{name} ({again + 1})")
    return actions.ravel(), tuple(names)


__all__ = ["from_model_file"]
