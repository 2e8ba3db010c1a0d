"""Episodes from a local Minari dataset.

Such a dataset is a folder with ``data/metadata.json`` and, beside that, ``main_data.hdf5`` or, for
each episode, a folder with an Arrow or Parquet file. They are read as they are and not by Minari:
where the metadata leave out the spaces, Minari makes the environment that they name, and so calls
whatever function they name.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..arrays import Ints
from ..errors import FileFormatError, MissingExtraError
from ..files import MAX_ROWS, JsonReader, shown
from ..mdp.model import MDP
from .impossible_steps import NAMED, UNKNOWN
from .trajectories import Trajectories, checked_trajectories

# Of an episode, what matters here; the first two are of numbers, the others of true and false.
COLUMNS = ("observations", "actions", "terminations", "truncations")
INTEGERS = COLUMNS[:2]

Files: TypeAlias = Callable[[str], Path]
Episodes: TypeAlias = Generator[list[NDArray[Any]], None, None]


def read_minari(file: Files, name: str, mdp: MDP, skip: str | None = None) -> Trajectories:
    """The episodes of the dataset in folder `name`, whose observations and actions are numbers of
    states and actions of the MDP; `file` gives the path of a file by its name."""
    metadata = _json(file, f"{name}/data/metadata.json")
    for field in ("observation_space", "action_space"):
        _require_discrete(metadata, field)
    kind = metadata.get("data_format", (str,), "a text")
    if kind not in ("hdf5", "arrow", "parquet"):
        metadata.fail("data_format", f"must be hdf5, arrow or parquet, got {shown(kind)}")
    count = metadata.get("total_episodes", (int,), "a whole number")
    if count < 1:
        metadata.fail("total_episodes", f"must be at least 1, got {shown(count)}")
    stored = _hdf5(file, name, count) if kind == "hdf5" else _arrow(file, name, count, kind)
    states, actions, ended, offsets = [], [], [], [0]
    unknown: list[str] = []
    with closing(stored) as episodes:
        for episode, columns in enumerate(episodes):
            place = f"{name}, episode {episode}"
            _check_episode(place, columns)
            known = _known(place, columns, mdp, unknown)
            states.append(known[0][:-1])
            actions.append(known[1])
            ended.append(columns[2][-1])
            offsets.append(offsets[-1] + len(actions[-1]))
            if offsets[-1] > MAX_ROWS:
                raise FileFormatError(f"{name}: expected at most {MAX_ROWS} steps, got more")
    return checked_trajectories(
        mdp,
        np.concatenate(states),
        np.concatenate(actions),
        np.array(offsets),
        np.array(ended, dtype=bool),
        lambda episode, step: f"{name}, episode {episode}, step {step}",
        FileFormatError,
        skip,
        unknown,
    )


def _json(file: Files, name: str) -> JsonReader:
    try:
        text = file(name).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{name}: expected UTF-8 text, got {error.reason}") from None
    return JsonReader.of_text(text, name)


def _require_discrete(metadata: JsonReader, field: str) -> None:
    """That a space, which the metadata give as JSON within JSON, counts from 0."""
    text = metadata.get(field, (str,), "the JSON of a space")
    space = JsonReader.of_text(text, f"{metadata.source}, {field}").value
    kind, start = space.get("type"), space.get("start", 0)
    if kind != "Discrete" or start != 0:
        found = f"one that starts at {shown(start)}" if kind == "Discrete" else shown(kind)
        metadata.fail(field, f"must be a Discrete space that starts at 0, got {found}")


def _hdf5(file: Files, name: str, count: int) -> Episodes:
    """The columns of each episode of ``main_data.hdf5``."""
    try:
        import h5py
    except ImportError as error:
        raise MissingExtraError("h5py", "minari") from error

    def own(group: Any, key: str, kind: type) -> Any:
        # Other links may lead to other files, wherever they lie.
        link = group.get(key, getlink=True)
        found = group[key] if isinstance(link, h5py.HardLink) else link
        if not isinstance(found, kind):
            what = "nothing" if link is None else type(found).__name__
            raise FileFormatError(f"{place}: expected {kind.__name__} {key!r}, got {what}")
        return found

    place = f"{name}/data/main_data.hdf5"
    path = file(place)
    try:
        with h5py.File(path, "r") as stored:
            for episode in range(count):
                place = f"{name}, episode {episode}"
                group = own(stored, f"episode_{episode}", h5py.Group)
                columns = []
                for key in COLUMNS:
                    column = own(group, key, h5py.Dataset)
                    if column.is_virtual or column.external:
                        raise FileFormatError(
                            f"{place}, {key}: expected numbers in this file, got those of another"
                        )
                    shape = column.shape or ()
                    _check_column(place, key, column.dtype, shape, *(column.chunks or ()))
                    columns.append(column[:])
                yield columns
    except Exception as error:  # what h5py raises on a broken file has no common type
        _refuse(place, "an HDF5 file that Minari wrote", error)


def _arrow(file: Files, name: str, count: int, kind: str) -> Episodes:
    """The columns of each episode of an Arrow or Parquet dataset."""
    try:
        from pyarrow import dataset
    except ImportError as error:
        raise MissingExtraError("pyarrow", "minari") from error
    for episode in range(count):
        place = f"{name}, episode {episode}"
        about = _json(file, f"{name}/data/{episode}/metadata.json")
        steps = about.get("total_steps", (int,), "a whole number")
        path = file(f"{name}/data/{episode}/part-0.{kind}")
        try:
            data = dataset.dataset(path, format=kind)
            rows = data.count_rows()
            # The last observation is in a row of its own, in which all else is padding.
            if rows != steps + 1:
                raise FileFormatError(
                    f"{place}: expected a row for each of {shown(steps)} steps, and one for the "
                    f"last observation, got {rows} rows"
                )
            for key in COLUMNS:
                if key not in data.schema.names:
                    raise FileFormatError(f"{place}: expected a column {key!r}, got none")
                dtype = np.dtype(data.schema.field(key).type.to_pandas_dtype())
                _check_column(place, key, dtype, (rows,))
            table = data.to_table(columns=list(COLUMNS), use_threads=False)
            table.validate(full=True)
            missing = [key for key in COLUMNS if table[key].null_count]
            if missing:
                raise FileFormatError(f"{place}, {missing[0]}: expected a value a row, got none")
            first, *others = (table[key].to_numpy() for key in COLUMNS)
        except Exception as error:  # what pyarrow raises on a broken file has no common type
            _refuse(place, f"a file of format {kind} that Minari wrote", error)
        yield [first, *(column[:-1] for column in others)]


def _refuse(place: str, expected: str, error: Exception) -> NoReturn:
    if isinstance(error, FileFormatError):
        raise error
    reason = f"{error}\n".splitlines()[0]
    raise FileFormatError(f"{place}: expected {expected}, got {reason}") from None


def _check_column(
    place: str, key: str, dtype: np.dtype[Any], shape: Sequence[int], *chunks: int
) -> None:
    """That a column is a list of the right type, and of a size that can be read."""
    wanted, kinds = ("whole numbers", "iu") if key in INTEGERS else ("true and false", "b")
    if len(shape) != 1 or dtype.kind not in kinds:
        raise FileFormatError(
            f"{place}, {key}: expected a list of {wanted}, got {dtype} of shape {tuple(shape)}"
        )
    if max(*shape, *chunks, 0) > MAX_ROWS:
        raise FileFormatError(f"{place}, {key}: expected at most {MAX_ROWS} entries, got more")


def _check_episode(place: str, columns: Sequence[NDArray[Any]]) -> None:
    """That an episode's columns fit together."""
    lengths = [len(column) for column in columns]
    steps = lengths[1]
    if steps < 1 or lengths != [steps + 1, steps, steps, steps]:
        raise FileFormatError(
            f"{place}: expected one or more actions, as many terminations and truncations, and one "
            f"observation more, got {lengths[1]}, {lengths[2]}, {lengths[3]} and {lengths[0]}"
        )
    over = np.flatnonzero((columns[2] | columns[3])[:-1])
    if len(over):
        raise FileFormatError(
            f"{place}, step {over[0]}: expected terminations and truncations to be true in the "
            f"last step, {steps - 1}, only, got true"
        )


def _known(place: str, columns: Sequence[NDArray[Any]], mdp: MDP, unknown: list[str]) -> list[Ints]:
    """The states and the actions of an episode; of those that there are not, `unknown` tells."""
    found = []
    counts = (("a state", mdp.n_states), ("an action", mdp.n_actions))
    for key, (what, count), numbers in zip(INTEGERS, counts, columns, strict=False):
        outside = np.flatnonzero((numbers < 0) | (numbers >= count))
        found.append(numbers.astype(np.int64))
        found[-1][outside] = UNKNOWN
        unknown += [
            f"{place}, step {step}, {key}: expected the number of {what} in 0 … {count - 1}, "
            f"got {numbers[step]}"
            for step in outside[: NAMED - len(unknown)]
        ]
    return found


__all__ = ["read_minari"]
