"""Damaged inputs: every file format that is read, with bytes changed, or what is in it.

Each is read right or refused with one message, whatever has become of it.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
from pyarrow import csv, feather, parquet

import teachirl as ti
import test_problem_minari as minari
from problem_files import FILES, TOML, copied
from teachirl.app.problem.episodes import read_episodes
from teachirl.app.problem.files import Folder
from teachirl.study.results_file import FILE
from test_problem_mutations import LAKES, SCRAPS, check_refused_or_right
from test_store import exported, flipped, repair, small

# In the place of a value in a table: none, too large, of another kind.
VALUES = (None, -1, 0, 2**62, -(2**63), 1e308, float("nan"), float("inf"), "", "\0", "shore", True)
SHARED = TemporaryDirectory(prefix="campaign-inputs-", ignore_cleanup_errors=True)


def problem_files(seed: int, folder: Path) -> None:
    """A problem file."""
    dice = random.Random(seed)
    name = dice.choice([*LAKES, "grid", "road"])
    problems = copied(folder)
    path = problems / f"{name}.toml"
    path.write_bytes(bytes_changed(dice, path.read_bytes()))
    check_refused_or_right(problems, path)


def csv_tables(seed: int, folder: Path) -> None:
    """A table beside a problem file, as CSV; recorded episodes as well, and as JSON lines."""
    dice = random.Random(seed)
    name = dice.choice([each for each in FILES if not each.endswith(".toml")])
    problems = copied(folder)
    (problems / name).write_bytes(bytes_changed(dice, FILES[name]))
    _check_users(problems, name)


def parquet_tables(seed: int, folder: Path) -> None:
    """The same tables and episodes as Parquet files."""
    dice = random.Random(seed)
    problems = Path(shutil.copytree(_parquet_problems(), folder / "problems"))
    path = dice.choice(sorted(problems.glob("*.parquet")))
    if dice.random() < 0.5:
        path.write_bytes(bytes_changed(dice, path.read_bytes()))
    else:
        parquet.write_table(cells_changed(dice, parquet.read_table(path)), path)
    _check_users(problems, path.name)


def numpy_views(seed: int, folder: Path) -> None:
    """A matrix of the learner's as a .npy file."""
    dice = random.Random(seed)
    problems = copied(folder)
    text = TOML["recorded"].replace("view.csv", "view.npy")
    (problems / "recorded.toml").write_text(text)
    np.save(problems / "view.npy", _unlike(dice, np.array([[0.0, 0, 1, 0], [1, 0, 0, 0]])))
    if dice.random() < 0.7:
        path = problems / "view.npy"
        path.write_bytes(bytes_changed(dice, path.read_bytes()))
    check_refused_or_right(problems, problems / "recorded.toml")


def minari_datasets(seed: int, folder: Path) -> None:
    """A Minari dataset: its metadata, HDF5, Arrow or Parquet file."""
    dice = random.Random(seed)
    kind = dice.choice(minari.FORMATS)
    place = Path(shutil.copytree(_minari_dataset(kind), folder / "lake"))
    path = dice.choice(sorted(each for each in (place / minari.NAME).rglob("*") if each.is_file()))
    if dice.random() < 0.4:
        path.write_bytes(bytes_changed(dice, path.read_bytes()))
    elif path.suffix == ".json":
        path.write_text(json.dumps(_value_changed(dice, json.loads(path.read_text()))))
    elif path.suffix == ".hdf5":
        _hdf5_changed(dice, path)
    elif path.suffix == ".parquet":
        parquet.write_table(cells_changed(dice, parquet.read_table(path)), path)
    else:
        table = cells_changed(dice, feather.read_table(path, memory_map=False))
        feather.write_feather(table, path, compression="uncompressed")
    with refusing():
        found = read_episodes(Folder(place, False), minari.NAME, _lake())
        assert len(found) > 0 and found.n_steps > 0


def saved_mdps(seed: int, folder: Path) -> None:
    """An MDP in its own format; a part of it in another shape, type or size, or bytes changed."""
    dice, path = random.Random(seed), folder / "model.npz"
    mdp = ti.worlds.chain(4) if dice.random() < 0.5 else ti.worlds.gridworld(3, 1, slip=0.1)
    mdp.save(path)
    if dice.random() < 0.5:
        path.write_bytes(bytes_changed(dice, path.read_bytes()))
    else:
        with np.load(path) as file:
            parts = dict(file)
        name = dice.choice(sorted(parts))
        parts[name] = _unlike(dice, parts[name])
        if dice.random() < 0.2:
            del parts[name]
        np.savez_compressed(path, **parts)
    with refusing(path):
        loaded = ti.MDP.load(path)
        assert np.abs(loaded.dynamics.transitions.sum(axis=1) - 1.0).max() < 1e-7


def saved_lessons(seed: int, folder: Path) -> None:
    """A lesson that was saved: bytes changed, or a value."""
    dice, path = random.Random(seed), folder / "lesson.json"
    task, text = _lesson()
    if dice.random() < 0.5:
        path.write_bytes(bytes_changed(dice, text.encode()))
    else:
        path.write_text(json.dumps(_value_changed(dice, json.loads(text))))
    with refusing(path):
        assert ti.Lesson.load(path, task).rounds


def results_stores(seed: int, folder: Path) -> None:
    """A bit of a results store flips: the same results, or a refusal; repaired, the same again."""
    content, table = small(folder)
    spoiled = flipped(content, random.Random(seed).randrange(8 * len(content)))
    (folder / FILE).write_bytes(spoiled)
    with refusing(folder / FILE):
        assert exported(folder) == (table, 12.0, {"size": 3}, 12)
    (folder / FILE).write_bytes(spoiled)
    with refusing(folder / FILE):
        repair(folder)
        assert small(folder)[1] == table, "repaired, it has other results"


@contextmanager
def refusing(path: Path | None = None) -> Iterator[None]:
    """The block may be refused, with one message that names the file."""
    try:
        yield
    except ti.TeachirlError as error:
        message = str(error)
    else:
        return
    assert path is None or str(path) in message, message
    assert 0 < len(message) < 3000, message


def bytes_changed(dice: random.Random, raw: bytes) -> bytes:
    """Parts are deleted, repeated, turned round, flipped or replaced; the end may be cut off."""
    for _ in range(dice.randint(1, 3)):
        first = dice.randint(0, len(raw))
        last = min(len(raw), first + dice.choice([0, 1, 4, 20, 1000]))
        part = raw[first:last]
        scrap = dice.choice([dice.choice(SCRAPS) or b"", dice.randbytes(dice.randint(1, 3))])
        other = bytes(byte ^ 1 << dice.randrange(8) for byte in part)
        raw = raw[:first] + dice.choice([b"", scrap, part * 2, part[::-1], other]) + raw[last:]
        raw = raw[: dice.choice([len(raw), len(raw), len(raw), first])]
    return raw


def cells_changed(dice: random.Random, table: pa.Table) -> pa.Table:
    """A column is dropped, repeated, renamed, of another type, or has another value."""
    number = dice.randrange(table.num_columns)
    column, name = table.column(number), table.column_names[number]
    kind = dice.choice(["drop", "repeat", "rename", "retype", "value", "rows"])
    if kind == "drop":
        return table.remove_column(number)
    if kind == "repeat":
        return table.append_column(name, column)
    if kind == "rename":
        names = list(table.column_names)
        names[number] = dice.choice(["", name + " ", "\0", "x" * 5000, dice.choice(names)])
        return table.rename_columns(names)
    if kind == "rows":
        return dice.choice([table.slice(0, 0), pa.concat_tables([table, table]), table.slice(1)])
    values = column.to_pylist()
    if kind == "value":
        values[dice.randrange(len(values))] = dice.choice(VALUES)
    types = [pa.int8(), pa.float32(), pa.string(), pa.binary(), pa.list_(pa.int64()), pa.null()]
    wanted = dice.choice(types) if kind == "retype" else None
    try:
        changed = pa.array(values, type=wanted)
    except (pa.ArrowException, OverflowError, TypeError):
        changed = pa.array([str(value) for value in values])
    return table.set_column(number, name, changed)


def _check_users(problems: Path, name: str) -> None:
    """All problem files in the folder that name that file."""
    for path in sorted(problems.glob("*.toml")):
        if f'"{name}"' in path.read_text():
            check_refused_or_right(problems, path)


def _unlike(dice: random.Random, array: Any) -> Any:
    """An array with another value, shape or type."""
    changes: list[Callable[[Any], Any]] = [
        lambda a: a,
        lambda a: a.ravel()[: dice.randint(0, a.size)],
        lambda a: a[None],
        lambda a: np.concatenate([a.ravel()] * 2),
        lambda a: np.zeros(10**7, dtype=np.int8),
        lambda a: a.astype(str),
        lambda a: a.astype(np.float16 if a.dtype.kind in "iuf" else a.dtype),
        lambda a: a.astype(complex) if a.dtype.kind in "iufb" else a,
        lambda a: _entry_changed(dice, a),
    ]
    with np.errstate(all="ignore"):
        return dice.choice(changes)(np.asarray(array))


def _entry_changed(dice: random.Random, array: Any) -> Any:
    if array.size == 0 or array.dtype.kind not in "iuf":
        return array
    array = array.copy()
    wanted = dice.choice([0, 1, -1, 1e30, -1e30, float("nan"), float("inf")])
    array.flat[dice.randrange(array.size)] = np.float64(wanted).astype(array.dtype)
    return array


def _value_changed(dice: random.Random, value: Any) -> Any:
    """JSON with some value, somewhere, replaced or left out."""
    if isinstance(value, (dict, list)) and value and dice.random() < 0.9:
        key = dice.choice(list(value) if isinstance(value, dict) else list(range(len(value))))
        if dice.random() < 0.1:
            del value[key]
        else:
            value[key] = _value_changed(dice, value[key])
        return value
    return dice.choice([*VALUES, [], {}, [[]], 10**400, "x" * 5000])


def _hdf5_changed(dice: random.Random, path: Path) -> None:
    with h5py.File(path, "r+") as file:
        episode = dice.choice(list(file))
        key = dice.choice(["observations", "actions", "terminations", "truncations"])
        old = file[episode][key][:]
        del file[episode][key]
        if dice.random() < 0.1:
            file[episode][key] = h5py.SoftLink("/nowhere")
        elif dice.random() < 0.9:
            new = _unlike(dice, old)
            file[episode][key] = new.astype("S") if new.dtype.kind == "U" else new


@cache
def _parquet_problems() -> Path:
    """The problems with all their tables as Parquet files."""
    made = copied(Path(SHARED.name))
    for path in made.glob("*.csv"):
        parquet.write_table(csv.read_csv(path), path.with_suffix(".parquet"))
    for path in made.glob("*.toml"):
        path.write_text(path.read_text().replace(".csv", ".parquet"))
    return made


@cache
def _minari_dataset(kind: str) -> Path:
    folder = Path(SHARED.name) / kind
    folder.mkdir()
    return minari.written(folder, kind).parent


@cache
def _lake() -> ti.MDP:
    return ti.worlds.from_gymnasium("FrozenLake-v1", discount=0.9)


@cache
def _lesson() -> tuple[ti.Task, str]:
    mdp = ti.worlds.chain(4)
    task = ti.Task(mdp, [-1, 0, 1, 2], ti.Worldview.select(mdp, [1]), np.eye(4))
    rng = np.random.default_rng(0)
    lesson = ti.teach(task, ti.teachers.TRGreedy(), ti.learners.MinNormPoint(), rng=rng)
    return task, lesson.to_json()


def prepare() -> None:
    """Make what all mutations begin with, before processes are forked."""
    _parquet_problems(), _lake(), _lesson()
    for kind in minari.FORMATS:
        _minari_dataset(kind)
