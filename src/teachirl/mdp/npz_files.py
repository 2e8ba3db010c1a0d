"""MDPs in files: a compressed ``.npz`` without pickle, written whole or not at all.

A file is a zip of ``.npy`` members, one an array of the MDP, beside ``teachirl_mdp``: the version
of the format and the number of members, itself included. A sparse array is its ``_indptr``,
``_indices``, ``_data`` and ``_shape``; names are UTF-8 bytes and where each name ``_ends``.
``numpy.load(path, allow_pickle=False)`` reads it too.

A file may come from anyone. Nothing is allocated before the declared sizes were found to agree with
each other, with what deflate can do and with the caller's limit, and nothing is read beyond them.
"""

from __future__ import annotations

import copy
import io
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy
from numpy.typing import NDArray

from ..arrays import Names
from ..errors import FileFormatError, InvalidInputError, require
from ..files import replacing

if TYPE_CHECKING:
    from .model import MDP

Arrays: TypeAlias = dict[str, NDArray[Any]]

VERSION = 1
MARK = "teachirl_mdp"
CHUNK = 1 << 20
# One byte of deflate holds at most four matches of 258 bytes.
DEFLATE_RATIO = 1032
HEADER_BYTES = 512
# What a name takes in memory beside its text: a string, its bounds, its place in a tuple and a set.
NAME_BYTES = 256
BROKEN_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)

INTEGERS, FLOATS, BYTES = ("<i4", "<i8"), ("<f8",), ("|u1",)
SPARSE = ("indptr", "indices", "data", "shape")
NAMES = ("state_names", "action_names", "feature_names")


def _members() -> dict[str, tuple[tuple[str, ...], int]]:
    """What a member of this name must hold: its dtypes and its number of dimensions."""
    members = {MARK: (INTEGERS, 1), "discount": (FLOATS, 0), "features": (FLOATS, 2)}
    members["n_actions"] = (INTEGERS, 0)
    members |= {"offsets": (INTEGERS, 1), "actions": (INTEGERS, 1), "start": (FLOATS, 1)}
    for name in ("transitions", "features"):
        members |= {f"{name}_{part}": (INTEGERS, 1) for part in SPARSE}
        members[f"{name}_data"] = (FLOATS, 1)
    for name in NAMES:
        members |= {name: (BYTES, 1), f"{name}_ends": (INTEGERS, 1)}
    return members


MEMBERS = _members()


def save_mdp(mdp: MDP, path: Path) -> None:
    """Write `mdp` to `path`, replacing an existing file only once the new one is complete."""
    dynamics = mdp.dynamics
    arrays: Arrays = {
        "discount": np.array(dynamics.discount),
        "n_actions": np.array(dynamics.n_actions),
        "offsets": dynamics.offsets,
        "actions": dynamics.actions,
        "start": dynamics.start,
        **_of_sparse("transitions", dynamics.transitions),
    }
    if isinstance(mdp.features, np.ndarray):
        arrays["features"] = np.ascontiguousarray(mdp.features)
    else:
        arrays |= _of_sparse("features", mdp.features)
    all_names = (dynamics.state_names, dynamics.action_names, mdp.feature_names)
    for role, names in zip(NAMES, all_names, strict=True):
        if names is not None:
            arrays |= _of_names(role, names)
    arrays[MARK] = np.array([VERSION, len(arrays) + 1])
    with replacing(path) as file:
        # None is of objects, to be pickled; older versions of NumPy cannot be told to refuse them.
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def load_mdp(path: Path, make: Callable[..., MDP], *, max_bytes: int) -> MDP:
    """Read what `save_mdp` wrote, to be made an MDP by `make`, which is `MDP.from_pairs`.

    A file that is not one, or whose arrays need more than `max_bytes`, is a `FileFormatError` that
    names the file, the member and the reason; a file that cannot be opened is an `OSError`.
    """
    require(max_bytes > 0, f"max_bytes must be positive, got {max_bytes}")
    with _BoundedFile(io.FileIO(path)) as file:
        try:
            return make(**_pairs_of(_read_arrays(file, max_bytes)))
        except InvalidInputError as error:
            raise FileFormatError(f"{path}: {error}") from error


class _BoundedFile(io.BufferedReader):
    """A file of which nobody reads much at once: a zip's directory says itself how long it is."""

    def read(self, size: int | None = -1, /) -> bytes:
        require(size is None or size <= CHUNK, f"the zip's directory claims to take {size} bytes")
        return super().read(CHUNK if size is None or size < 0 else size)


@dataclass(frozen=True)
class _Member:
    """An array that a member says it holds, after `skip` bytes of header."""

    info: zipfile.ZipInfo
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    skip: int

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


@contextmanager
def _refusing_broken_zips(what: str) -> Iterator[None]:
    try:
        yield
    except InvalidInputError:
        raise
    except BROKEN_ZIP as error:
        reason = str(error)[:200] or "it ends too early"  # it may quote the directory
        raise InvalidInputError(f"{what}: {reason}") from error


def _read_arrays(file: _BoundedFile, max_bytes: int) -> Arrays:
    size = file.seek(0, os.SEEK_END)
    with _refusing_broken_zips("not a readable .npz file"):
        archive = zipfile.ZipFile(file)
    with archive:
        infos: dict[str, zipfile.ZipInfo] = {}
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            require(name not in infos, f"member {name} is there twice")
            infos[name] = info
        require(MARK in infos, f"member {MARK} is missing: this is not an MDP saved by teachirl")
        header = _read_header(archive, MARK, infos[MARK])
        require(header.shape == (2,), f"member {MARK}: must have 2 entries, got {header.shape[0]}")
        version, count = _read_data(archive, header)
        require(
            1 <= version <= VERSION,
            f"member {MARK}: the file has version {version} of the format, but this teachirl "
            f"reads versions 1 to {VERSION} only",
        )
        _check_presence(infos)
        require(
            count == len(infos), f"member {MARK}: {count} members announced, {len(infos)} found"
        )
        held = sum(info.compress_size for info in infos.values())
        require(held <= size, f"its members claim {held} compressed bytes, it has {size}")
        members = {name: _read_header(archive, name, info) for name, info in infos.items()}
        needed = sum(member.n_bytes for member in members.values())
        needed += sum(
            NAME_BYTES * members[f"{role}_ends"].shape[0] for role in NAMES if role in members
        )
        room = f"its arrays need {needed} bytes, more than max_bytes = {max_bytes}"
        require(needed <= max_bytes, room)
        small = {"n_actions", "transitions_shape", "features_shape"} & members.keys()
        for name in small - {"n_actions"}:
            (size,) = members[name].shape
            require(size == 2, f"member {name}: must be (rows, columns), got {size} entries")
        read = {name: _read_data(archive, members[name]) for name in small}
        _check_sizes(members, read, max_bytes)
        return {name: _read_data(archive, member) for name, member in members.items()}


def _check_sizes(members: dict[str, _Member], read: Arrays, max_bytes: int) -> None:
    """That what the members declare fits together; `read` has those of a number or two."""
    sizes = {name: member.shape[0] for name, member in members.items() if member.shape}
    n_states, n_pairs = sizes["offsets"] - 1, sizes["actions"]
    require(n_states >= 1, "member offsets: an MDP has at least one state")
    transitions = _sparse_shape("transitions", sizes, read)
    require(
        transitions == (n_pairs, n_states),
        f"member transitions_shape: must be ({n_pairs}, {n_states}), one row for each of actions "
        f"and one column for each of offsets but the last, got {transitions}",
    )
    start = sizes["start"]
    require(start == n_states, f"member start must have shape ({n_states},), got ({start},)")
    if "features" in members:
        rows, columns = members["features"].shape
    else:
        rows, columns = _sparse_shape("features", sizes, read)
        # Entries that are zero take no room in the file, but whoever uses the features needs some.
        require(
            8 * columns <= max_bytes,
            f"member features_shape: a weight for each of {columns} features needs "
            f"more than max_bytes = {max_bytes}",
        )
    require(
        rows in (n_states, n_pairs),
        f"features must have a row for each of the {n_states} states or of the {n_pairs} "
        f"state-action pairs, got {rows}",
    )
    counts = (n_states, int(read["n_actions"]), columns)
    for role, count in zip(NAMES, counts, strict=True):
        ends = sizes.get(f"{role}_ends", count)
        require(ends == count, f"member {role} must have {count} entries, got {ends}")


def _sparse_shape(name: str, sizes: dict[str, int], read: Arrays) -> tuple[int, int]:
    """The shape of a sparse array, if the declared sizes of its parts agree with it."""
    rows, columns = map(int, read[f"{name}_shape"])
    indptr, indices, data = (sizes[f"{name}_{part}"] for part in SPARSE[:3])
    require(
        0 <= rows == indptr - 1 and columns >= 0,
        f"member {name}_shape: must be ({indptr - 1}, columns), got ({rows}, {columns})",
    )
    require(
        indices == data,
        f"member {name}_indices: must have {data} entries, one for each of {name}_data, "
        f"got {indices}",
    )
    require(
        data <= rows * columns,
        f"member {name}_data: at most {rows * columns} entries fit in the shape, got {data}",
    )
    return rows, columns


def _check_presence(found: dict[str, zipfile.ZipInfo]) -> None:
    """That every array is there that an MDP needs, and no other."""
    for name, info in found.items():
        known = name in MEMBERS and info.filename == f"{name}.npy"
        require(known, f"member {info.filename!r} does not belong in an MDP")
    sparse = {f"features_{part}" for part in SPARSE}
    needed = {"discount", "n_actions", "offsets", "actions", "start"}
    needed |= {f"transitions_{part}" for part in SPARSE}
    needed |= sparse if sparse & found.keys() else {"features"}
    for name in NAMES:
        if {name, f"{name}_ends"} & found.keys():
            needed |= {name, f"{name}_ends"}
    missing = sorted(needed - found.keys())
    require(not missing, f"member {', '.join(missing)} is missing")
    both = "features" in found and "features" not in needed
    require(not both, "member features must not be there beside those of sparse features")


def _read_header(archive: zipfile.ZipFile, name: str, info: zipfile.ZipInfo) -> _Member:
    """What member `name` says that it holds, if that is allowed and agrees with its size."""
    packed, unpacked = info.compress_size, info.file_size
    require(
        info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED),
        f"member {name}: compression method {info.compress_type} is neither stored nor deflate",
    )
    require(not info.flag_bits & 1, f"member {name} is encrypted")
    most = packed * (1 if info.compress_type == zipfile.ZIP_STORED else DEFLATE_RATIO)
    require(
        unpacked <= most,
        f"member {name}: {packed} compressed bytes cannot hold the {unpacked} that it claims",
    )
    with _refusing_broken_zips(f"member {name}"), archive.open(info) as stream:
        try:
            version = npy.read_magic(stream)
            require(version == (1, 0), f"the version of its .npy header is {version}, not (1, 0)")
            shape, fortran, dtype = npy.read_array_header_1_0(stream, max_header_size=HEADER_BYTES)
            skip = stream.tell()
        except (zipfile.BadZipFile, zlib.error):
            raise
        except Exception as error:  # what parsers raise on hostile text has no common type
            reason = f"{error}\n".splitlines()[0]
            raise InvalidInputError(f"member {name}: not an array: {reason}") from error
    allowed, dimensions = MEMBERS[name]
    require(
        dtype.str in allowed,
        f"member {name}: its type must be {' or '.join(allowed)}, got {dtype.str}",
    )
    require(
        len(shape) == dimensions and all(0 <= n <= (1 << 48) for n in shape) and not fortran,
        f"member {name}: must have {dimensions} dimensions in C order, got shape {shape}"
        f"{' in Fortran order' if fortran else ''}",
    )
    member = _Member(info, dtype, shape, skip)
    require(
        skip + member.n_bytes == unpacked,
        f"member {name}: shape {shape} takes {member.n_bytes} bytes, "
        f"but {unpacked - skip} are declared",
    )
    return member


def _read_data(archive: zipfile.ZipFile, member: _Member) -> NDArray[Any]:
    """The array of a member, if it decompresses to exactly what was declared."""
    name = member.info.filename.removesuffix(".npy")
    array = np.empty(member.shape, dtype=member.dtype)
    buffer = array.reshape(-1).view(np.uint8)
    # zipfile cuts a member off at its declared size. With a later cut, one more byte can be asked
    # for, which must not be there; and the checksum is that of all there is.
    info = copy.copy(member.info)
    info.file_size += CHUNK
    done = 0
    with _refusing_broken_zips(f"member {name}"), archive.open(info) as stream:
        stream.read(member.skip)
        while done < len(buffer):
            chunk = stream.read(min(CHUNK, len(buffer) - done))
            require(len(chunk) > 0, f"member {name} ends after {done} of {len(buffer)} bytes")
            buffer[done : done + len(chunk)] = np.frombuffer(chunk, dtype=np.uint8)
            done += len(chunk)
        require(not stream.read(1), f"member {name} decompresses to more than it declares")
    return array


def _pairs_of(arrays: Arrays) -> dict[str, Any]:
    """The arguments of `MDP.from_pairs`, after what that takes for granted was checked."""
    offsets, actions, features = arrays["offsets"], arrays["actions"], arrays.get("features")
    _check_pointers("offsets", offsets, len(actions))
    return {
        "states": np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)),
        "actions": actions,
        "transitions": _to_sparse("transitions", arrays),
        "features": _to_sparse("features", arrays) if features is None else features,
        "discount": float(arrays["discount"]),
        "n_actions": int(arrays["n_actions"]),
        "start": arrays["start"],
        **{role: _to_names(role, arrays) for role in NAMES},
    }


def _check_pointers(name: str, pointers: NDArray[Any], end: int) -> None:
    """That `pointers` cut 0 … end into consecutive pieces."""
    down = np.flatnonzero(pointers[1:] < pointers[:-1])
    if len(down):
        before, after = pointers[down[0] : down[0] + 2]
        place = down[0] + 1
        require(
            False, f"member {name}: must not decrease, got {after} after {before} at index {place}"
        )
    require(
        pointers[0] == 0 and pointers[-1] == end,
        f"member {name}: must run from 0 to {end}, got {pointers[0]} to {pointers[-1]}",
    )


def _of_sparse(name: str, matrix: sp.csr_array) -> Arrays:
    shape = np.array(matrix.shape, dtype=np.int64)
    values: tuple[Any, ...] = (matrix.indptr, matrix.indices, matrix.data, shape)
    return {f"{name}_{part}": value for part, value in zip(SPARSE, values, strict=True)}


def _to_sparse(name: str, arrays: Arrays) -> sp.csr_array:
    indptr, indices, data, shape = (arrays[f"{name}_{part}"] for part in SPARSE)
    _check_pointers(f"{name}_indptr", indptr, len(data))
    outside = np.flatnonzero((indices < 0) | (indices >= shape[1]))
    if len(outside):
        place = outside[0]
        require(
            False,
            f"member {name}_indices: must lie in 0 … {shape[1] - 1}, got {indices[place]} "
            f"at index {place}",
        )
    return sp.csr_array((data, indices, indptr), shape=(int(shape[0]), int(shape[1])))


def _of_names(role: str, names: Names) -> Arrays:
    # Any Python string has this form, half of a surrogate pair included.
    encoded = [name.encode("utf-8", "surrogatepass") for name in names]
    ends = np.cumsum([len(name) for name in encoded], dtype=np.int64)
    return {role: np.frombuffer(b"".join(encoded), dtype=np.uint8), f"{role}_ends": ends}


def _to_names(role: str, arrays: Arrays) -> Names | None:
    if role not in arrays:
        return None
    text, ends = arrays[role].tobytes(), arrays[f"{role}_ends"]
    bounds = np.concatenate([[0], ends])
    _check_pointers(f"{role}_ends", bounds, len(text))
    pairs = zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    try:
        return tuple(text[first:last].decode("utf-8", "surrogatepass") for first, last in pairs)
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"member {role}: not UTF-8: {error}") from error
