"""Saving keeps every bit; loading refuses whatever is not an MDP, without allocating for it."""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

import teachirl as ti
from teachirl.mdp import npz_files as storage
from teachirl.testing import check_same, mdps

Members = dict[str, bytes]
LARGE = 32 << 20  # bytes of a bomb: twice what `refused` lets loading take


def npy(array: object) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array), allow_pickle=True)
    return file.getvalue()


def header(shape: object, descr: str = "<f8", *, order: bool = False, version: int = 1) -> bytes:
    text = f"{{'descr': {descr!r}, 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text


def stepping() -> ti.MDP:
    """Three states, of which the first has two actions; sparse features per pair; all names."""
    return ti.MDP.from_pairs(
        [0, 0, 1, 2],
        [0, 1, 1, 0],
        [[0.5, 0.5, 0], [0, 0, 1], [0.25, 0.25, 0.5], [0, 0, 1]],
        sp.csr_array([[1.0, 0], [0, 2.5], [0, 0], [-3, 0]]),
        discount=0.9,
        start=[0.2, 0.3, 0.5],
        state_names=["home", "straße", "Ω\n\0 "],
        action_names=["go", ""],
        feature_names=["\ud800", "𝔽"],
    )


def members_of(mdp: ti.MDP, folder: Path) -> Members:
    path = folder / "honest.npz"
    mdp.save(path)
    with zipfile.ZipFile(path) as archive:
        return {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}


def write(path: Path, members: Members, **options: int) -> None:
    method = options.get("method", zipfile.ZIP_DEFLATED)
    with zipfile.ZipFile(path, "w", method, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)


def refused(path: Path, *expected: str, max_bytes: int = 1 << 30) -> str:
    """The message of the error that loading `path` gives, after a look at its contents and cost."""
    tracemalloc.start()
    try:
        with pytest.raises(ti.FileFormatError) as caught:
            ti.MDP.load(path, max_bytes=max_bytes)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    for part in expected:
        assert part in message
    assert peak < 16 << 20
    return message


def grids() -> list[ti.MDP]:
    rng = np.random.default_rng(7)
    chain, grid = ti.worlds.chain(5), ti.worlds.gridworld(7, slip=0.3)
    per_pair = rng.normal(size=(chain.n_pairs, 3))
    return [
        chain,
        ti.worlds.chain(2, discount=0.999),
        ti.worlds.gridworld(6, 2),
        grid,
        grid.with_features(grid.features.toarray()),
        chain.with_features(per_pair),
        chain.with_features(sp.csr_array(per_pair), ["a", "b", "c"]),
        chain.with_features(np.zeros((5, 0))),
        chain.with_features(sp.csr_array((5, 0)), []),
        chain.with_features(np.asfortranarray(per_pair)),
        stepping(),
        ti.MDP.from_arrays(np.ones((1, 1, 1)), np.full((1, 1), -0.0), discount=0.5),
        ti.MDP.from_arrays(
            rng.dirichlet(np.ones(49), size=(49, 2)),
            rng.normal(size=(49, 2)),
            discount=0.9,
            start=rng.dirichlet(np.ones(49)),
        ),
    ]


@pytest.mark.parametrize("number", range(len(grids())))
def test_round_trip(tmp_path: Path, number: int) -> None:
    mdp = grids()[number]
    mdp.save(tmp_path / "mdp.npz")
    loaded = ti.MDP.load(tmp_path / "mdp.npz")
    check_same(mdp, loaded)
    assert repr(loaded) == repr(mdp)


@settings(max_examples=50, deadline=None)
@given(mdp=mdps())
def test_round_trip_of_any_mdp(tmp_path_factory: pytest.TempPathFactory, mdp: ti.MDP) -> None:
    path = tmp_path_factory.getbasetemp() / "any.npz"
    mdp.save(path)
    check_same(mdp, ti.MDP.load(str(path)))


def test_a_long_row_and_a_long_start_stay_as_they_are(tmp_path: Path) -> None:
    # Sums of so many probabilities miss 1 by more than a few units in the last place.
    rng = np.random.default_rng(4)
    n = 100_000
    for _ in range(3):
        rows = sp.vstack(
            [
                sp.csr_array(rng.dirichlet(np.full(n, 0.5))[None, :]),
                sp.csr_array(
                    (np.ones(n - 1), (np.arange(n - 1), np.zeros(n - 1, int))), (n - 1, n)
                ),
            ]
        )
        start = rng.dirichlet(np.ones(n))
        mdp = ti.MDP.from_pairs(
            np.arange(n), np.zeros(n, int), rows, np.ones((n, 1)), discount=0.9, start=start
        )
        once = mdp.dynamics
        again = ti.MDP.from_pairs(
            np.arange(n),
            once.actions,
            once.transitions,
            mdp.features,
            discount=mdp.discount,
            start=once.start,
        )
        check_same(mdp, again)


def test_what_was_loaded_is_read_only(tmp_path: Path) -> None:
    stepping().save(tmp_path / "mdp.npz")
    loaded = ti.MDP.load(tmp_path / "mdp.npz")
    for array in (loaded.start, loaded.dynamics.transitions.data, loaded.features.data):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.5


def test_numpy_reads_it_without_pickle(tmp_path: Path) -> None:
    mdp = stepping()
    mdp.save(tmp_path / "mdp.npz")
    with np.load(tmp_path / "mdp.npz", allow_pickle=False) as arrays:
        assert arrays["teachirl_mdp"].tolist() == [storage.VERSION, len(arrays)]
        assert arrays["start"].tolist() == [0.2, 0.3, 0.5]
        assert arrays["transitions_shape"].tolist() == [4, 3]
        ends = arrays["state_names_ends"].tolist()
        assert bytes(arrays["state_names"])[ends[0] : ends[1]].decode() == "straße"


def test_equal_mdps_give_equal_files(tmp_path: Path) -> None:
    stepping().save(tmp_path / "a")
    stepping().save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_saving_replaces_whole_files(tmp_path: Path) -> None:
    path = tmp_path / "mdp.npz"
    ti.worlds.gridworld(9).save(path)
    stepping().save(path)
    check_same(ti.MDP.load(path), stepping())
    assert os.listdir(tmp_path) == ["mdp.npz"]
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("stage", ["savez_compressed", "fsync", "replace"])
@pytest.mark.parametrize("error", [OSError("no space left"), KeyboardInterrupt()])
def test_a_failed_save_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, error: BaseException
) -> None:
    path = tmp_path / "mdp.npz"
    stepping().save(path)
    before = path.read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(np if stage == "savez_compressed" else os, stage, fail)
    with pytest.raises(type(error)):
        ti.worlds.chain(5).save(path)
    assert os.listdir(tmp_path) == ["mdp.npz"]
    assert path.read_bytes() == before


def test_saving_needs_a_folder_and_a_file_name(tmp_path: Path) -> None:
    with pytest.raises(ti.InvalidInputError, match="path must be in a folder that exists, got"):
        stepping().save(tmp_path / "nowhere" / "mdp.npz")
    with pytest.raises(ti.InvalidInputError, match=r"path must be a file, but .* is a folder"):
        stepping().save(tmp_path)
    assert os.listdir(tmp_path) == []


def test_what_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"mdp\.npz"):
        ti.MDP.load(tmp_path / "mdp.npz")
    with pytest.raises(IsADirectoryError):
        ti.MDP.load(tmp_path)


def test_max_bytes_is_what_the_arrays_take(tmp_path: Path) -> None:
    mdp, path = ti.worlds.gridworld(6, 2), tmp_path / "mdp.npz"
    mdp.save(path)
    with np.load(path) as arrays:
        needed = sum(array.nbytes for array in arrays.values())
    names = storage.NAME_BYTES * (len(ti.worlds.grids.MOVES) + 9)
    check_same(ti.MDP.load(path, max_bytes=needed + names), mdp)
    limit = needed + names - 1
    refused(path, f"need {limit + 1} bytes, more than max_bytes = {limit}", max_bytes=limit)
    with pytest.raises(ti.InvalidInputError, match="max_bytes must be positive, got 0"):
        ti.MDP.load(path, max_bytes=0)


# Each hostile file: an edit of an honest file's members, and what the error must say.
Edit = Callable[[Members], object]


def put(name: str, content: object) -> Edit:
    data = content if isinstance(content, bytes) else npy(content)
    return lambda members: members.__setitem__(name, data)


def drop(*names: str) -> Edit:
    return lambda members: [members.pop(name) for name in names]


NESTED = b"\x93NUMPY\x01\x00" + struct.pack("<H", 400) + b"(" * 400
OBJECTS = npy(np.array([{"a": 1}], dtype=object))
RECORDS = npy(np.zeros(3, dtype=[("a", "<f8")]))

HOSTILE: dict[str, tuple[Edit, str]] = {
    "another file": (drop("teachirl_mdp"), "member teachirl_mdp is missing: this is not an MDP"),
    "newer": (put("teachirl_mdp", np.array([2, 7])), "member teachirl_mdp: the file has version 2"),
    "version 0": (
        put("teachirl_mdp", np.array([0, 7])),
        "version 0 of the format, but this teachi",
    ),
    "version text": (put("teachirl_mdp", np.array(["1"])), "member teachirl_mdp: its type must be"),
    "version alone": (put("teachirl_mdp", np.array(1)), "teachirl_mdp: must have 1 dimensions"),
    "version list": (put("teachirl_mdp", np.arange(9)), "teachirl_mdp: must have 2 entries, got 9"),
    "lost names": (
        drop("action_names", "action_names_ends"),
        "member teachirl_mdp: 20 members announced, 18 found",
    ),
    "no start": (drop("start"), "member start is missing"),
    "no features": (
        drop(*(f"features_{part}" for part in storage.SPARSE)),
        "member features is missing",
    ),
    "half features": (drop("features_data"), "member features_data is missing"),
    "both features": (put("features", np.eye(3)), "member features must not be there beside"),
    "no ends": (drop("state_names_ends"), "member state_names_ends is missing"),
    "ends alone": (drop("action_names"), "member action_names is missing"),
    "unknown member": (put("rewards", np.eye(2)), "member 'rewards.npy' does not belong"),
    "path": (put("../../etc/start", np.eye(2)), "member '../../etc/start.npy' does not belong"),
    "zip in zip": (put("inner.zip", b"PK\5\6" + bytes(18)), "'inner.zip.npy' does not belong"),
    "pickle": (put("start", OBJECTS), "member start: its type must be <f8, got |O"),
    "records": (put("start", RECORDS), "member start: its type must be <f8, got |V8"),
    "big endian": (put("start", np.ones(3, ">f8")), "member start: its type must be <f8, got >f8"),
    "complex": (put("start", np.ones(3, complex)), "member start: its type must be <f8, got <c16"),
    "float indices": (put("actions", np.zeros(4)), "member actions: its type must be <i4 or <i8"),
    "text names": (put("state_names", np.array(["a", "b"])), "state_names: its type must be |u1"),
    "claims 1e12": (
        put("start", header((10**12,))),
        "member start: shape (1000000000000,) takes 8000000000000 bytes, but 0 are declared",
    ),
    "claims 1e40": (put("start", header((10**40,))), "must have 1 dimensions in C order, got"),
    "overflowing": (
        put("start", header((2**61 + 3,)) + bytes(24)),
        "must have 1 dimensions in C order, got shape (2305843009213693955,)",
    ),
    "negative": (put("start", header((-3,))), "must have 1 dimensions in C order, got shape (-3,)"),
    "text shape": (
        put("start", header("('3',)")),
        "member start: not an array: shape is not valid",
    ),
    "fortran": (
        lambda members: (
            put("teachirl_mdp", np.array([1, 17]))(members),
            drop(*(f"features_{part}" for part in storage.SPARSE))(members),
            put("features", header((4, 1), order=True) + bytes(32))(members),
        ),
        "member features: must have 2 dimensions in C order, got shape (4, 1) in Fortran order",
    ),
    "endless and empty": (
        lambda members: (
            put("teachirl_mdp", np.array([1, 17]))(members),
            drop(*(f"features_{part}" for part in storage.SPARSE))(members),
            put("features", header((2**47, 0)))(members),
        ),
        "features must have a row for each of the 3 states or of the 4",
    ),
    "too few bytes": (
        put("start", header((3,)) + bytes(23)),
        "member start: shape (3,) takes 24 bytes, but 23 are declared",
    ),
    "too many bytes": (
        put("start", npy(np.ones(3)) + b"\0"),
        "member start: shape (3,) takes 24 bytes, but 25 are declared",
    ),
    "not npy": (put("start", b"hello world, this is a test"), "member start: not an array: "),
    "empty member": (put("start", b""), "member start: not an array: EOF"),
    "half a header": (put("start", npy(np.ones(3))[:40]), "member start: not an array: EOF"),
    "npy version 2": (
        put("start", header((3,), version=2) + bytes(24)),
        "member start: not an array: the version of its .npy header is (2, 0)",
    ),
    "nested header": (put("start", NESTED), "member start: not an array: "),
    "long header": (
        put("start", header((3,), "<f8" + " " * 9000)),
        "member start: not an array: Header info length (9058) is large",
    ),
    "python 2 header": (
        put("start", header("(3L,)") + bytes(24)),
        "member start: not an array: Reading `.npy` or `.npz` file required additional",
    ),
    "code in header": (put("start", header("(print('hi'),)")), "member start: not an array: "),
    "matrix for vector": (put("start", np.ones((1, 3))), "start: must have 1 dimensions"),
    "no states": (put("offsets", np.zeros(1, int)), "member offsets: an MDP has at least one"),
    "no offsets": (put("offsets", np.zeros(0, int)), "member offsets: an MDP has at least one"),
    "offsets fall": (
        put("offsets", np.array([0, 3, 2, 4])),
        "member offsets: must not decrease, got 2 after 3 at index 2",
    ),
    "offsets below 0": (
        put("offsets", np.array([0, -(2**63), 3, 4])),
        "member offsets: must not decrease, got -9223372036854775808 after 0 at index 1",
    ),
    "offsets start": (
        put("offsets", np.array([1, 2, 3, 4])),
        "member offsets: must run from 0 to 4, got 1 to 4",
    ),
    "offsets end": (
        put("offsets", np.array([0, 2, 3, 2**62])),
        "member offsets: must run from 0 to 4, got 0 to 4611686018427387904",
    ),
    "state without action": (
        put("offsets", np.array([0, 2, 2, 4])),
        "every state needs at least one action: state straße has none",
    ),
    "action beyond": (put("actions", np.array([0, 1, 2, 0])), "actions must lie in 0 … 1, got 2"),
    "action twice": (put("actions", np.array([1, 1, 1, 0])), "state 0 and action 1 is given twice"),
    "few actions": (put("actions", np.array([0, 1])), "transitions_shape: must be (2, 3), one row"),
    "indptr falls": (
        put("transitions_indptr", np.array([0, 3, 2, 6, 7])),
        "member transitions_indptr: must not decrease, got 2 after 3 at index 2",
    ),
    "indptr end": (
        put("transitions_indptr", np.array([0, 2, 3, 6, 8])),
        "member transitions_indptr: must run from 0 to 7, got 0 to 8",
    ),
    "no indptr": (
        lambda members: (
            put("features_indptr", np.zeros(0, int))(members),
            put("features_shape", np.array([-1, 2]))(members),
        ),
        "member features_shape: must be (-1, columns), got (-1, 2)",
    ),
    "index beyond": (
        put("transitions_indices", np.array([0, 1, 2, 0, 1, 3, 2])),
        "member transitions_indices: must lie in 0 … 2, got 3 at index 5",
    ),
    "index below": (
        put("features_indices", np.array([0, -1, 0])),
        "member features_indices: must lie in 0 … 1, got -1 at index 1",
    ),
    "few indices": (
        put("transitions_indices", np.array([0, 1])),
        "member transitions_indices: must have 7 entries, one for each of transitions_data, got 2",
    ),
    "other shape": (
        put("transitions_shape", np.array([4, 5])),
        "member transitions_shape: must be (4, 3)",
    ),
    "shape of three": (
        put("transitions_shape", np.array([4, 3, 1])),
        "member transitions_shape: must be (rows, columns), got 3 entries",
    ),
    "endless features": (
        put("features_shape", np.array([4, 2**62])),
        "member features_shape: a weight for each of 4611686018427387904 features needs more",
    ),
    "feature rows": (
        lambda members: (
            put("features_indptr", np.array([0, 1, 3]))(members),
            put("features_shape", np.array([2, 2]))(members),
        ),
        "features must have a row for each of the 3 states or of the 4 state-action pairs",
    ),
    "nan feature": (
        put("features_data", np.array([1, np.nan, 2])),
        "features must be finite, got nan at index (1, 1)",
    ),
    "nan probability": (
        put("transitions_data", np.array([0.5, 0.5, 1, 0.25, np.nan, 0.5, 1])),
        "state straße, action  goes to state straße with probability nan",
    ),
    "negative probability": (
        put("transitions_data", np.array([1.5, -0.5, 1, 0.25, 0.25, 0.5, 1])),
        "state home, action go goes to state straße with probability -0.5",
    ),
    "row sum": (
        put("transitions_data", np.array([0.5, 0.5, 1, 0.25, 0.25, 0.25, 1])),
        "transitions must sum to 1 in every row: those of state straße, action  sum to 0.75",
    ),
    "start sum": (put("start", np.array([0.2, 0.3, 0.6])), "probabilities sum to 1.1, not 1"),
    "start overflow": (put("start", np.full(3, 1e308)), "its probabilities sum to inf, not 1"),
    "start nan": (put("start", np.array([1, np.nan, 0])), "got nan at index 1"),
    "start shape": (put("start", np.ones(1)), "start must have shape (3,), got (1,)"),
    "discount 1": (put("discount", np.array(1.0)), "discount must lie strictly between 0 and 1"),
    "discount nan": (put("discount", np.array(np.nan)), "between 0 and 1, got nan"),
    "same names": (
        lambda members: (
            put("state_names", np.frombuffer(b"aba", np.uint8))(members),
            put("state_names_ends", np.array([1, 2, 3]))(members),
        ),
        "state_names must be distinct, got 'a' twice",
    ),
    "few names": (
        put("state_names_ends", np.array([4, 16])),
        "state_names must have 3 entries, got 2",
    ),
    "names fall": (
        put("state_names_ends", np.array([11, 4, 16])),
        "member state_names_ends: must not decrease, got 4 after 11 at index 2",
    ),
    "names beyond": (
        put("state_names_ends", np.array([4, 11, 10**15])),
        "member state_names_ends: must run from 0 to 16, got 0 to 1000000000000000",
    ),
    "names not utf-8": (
        put("state_names", np.full(16, 255, np.uint8)),
        "member state_names: not UTF-8",
    ),
}


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_members(tmp_path: Path, case: str, method: int) -> None:
    edit, expected = HOSTILE[case]
    members = members_of(stepping(), tmp_path)
    edit(members)
    path = tmp_path / "hostile.npz"
    write(path, members, method=method)
    refused(path, expected)


def test_the_hostile_files_fail_for_their_edit_only(tmp_path: Path) -> None:
    path = tmp_path / "rewritten.npz"
    write(path, members_of(stepping(), tmp_path))
    check_same(ti.MDP.load(path), stepping())


def test_cuts_and_flipped_bytes_are_errors_or_change_nothing(tmp_path: Path) -> None:
    """A header of a member has 30 bytes and more: some are hit in each."""
    mdp, path, step = stepping(), tmp_path / "mdp.npz", 11
    mdp.save(path)
    whole = path.read_bytes()
    for length in range(0, len(whole), 3 * step):
        path.write_bytes(whole[:length])
        with pytest.raises(ti.FileFormatError, match=r"mdp\.npz: not a readable \.npz file"):
            ti.MDP.load(path)
    for place in range(0, len(whole), step):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        try:
            loaded = ti.MDP.load(path)
        except ti.FileFormatError:
            continue
        check_same(loaded, mdp)


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04", bytes(100_000)])
def test_what_is_no_zip(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "mdp.npz"
    path.write_bytes(content)
    refused(path, "not a readable .npz file: File is not a zip file")


def test_a_wrong_checksum_names_the_member(tmp_path: Path) -> None:
    path = tmp_path / "mdp.npz"
    members = members_of(stepping(), tmp_path)
    write(path, members, method=zipfile.ZIP_STORED)
    whole = path.read_bytes()
    start = np.array([0.2, 0.3, 0.5])
    assert whole.count(start.tobytes()) == 1
    path.write_bytes(whole.replace(start.tobytes(), start[::-1].tobytes()))
    refused(path, "member start: Bad CRC-32 for file 'start.npy'")


def test_a_member_that_is_there_twice(tmp_path: Path) -> None:
    path = tmp_path / "mdp.npz"
    write(path, members_of(stepping(), tmp_path))
    with (
        zipfile.ZipFile(path, "a") as archive,
        pytest.warns(UserWarning, match=r"Duplicate name: 'start\.npy'"),
    ):
        archive.writestr("start.npy", npy(np.ones(3) / 3))
    refused(path, "member start is there twice")


def test_other_compressions_and_encryption(tmp_path: Path) -> None:
    path = tmp_path / "mdp.npz"
    members = members_of(stepping(), tmp_path)
    write(path, members, method=zipfile.ZIP_LZMA)
    refused(path, "compression method 14 is neither stored nor deflate")
    write(path, members)
    encrypted = edited_directory(path.read_bytes(), "start.npy", flags=1)
    path.write_bytes(encrypted)
    refused(path, "member start is encrypted")


def edited_directory(whole: bytes, name: str, **fields: int) -> bytes:
    """The zip with other fields in the directory entry of member `name`."""
    places = {"flags": ("<H", 8), "crc": ("<I", 16), "packed": ("<I", 20), "unpacked": ("<I", 24)}
    entry = whole.rindex(name.encode()) - 46
    assert whole[entry : entry + 4] == b"PK\x01\x02"
    content = bytearray(whole)
    for field, value in fields.items():
        form, offset = places[field]
        struct.pack_into(form, content, entry + offset, value)
    return bytes(content)


def test_a_bomb_that_says_it_is_small(tmp_path: Path) -> None:
    # 32 MB of zeros, declared as the 24 bytes that fit the header, with the checksum of those.
    path = tmp_path / "mdp.npz"
    members = members_of(stepping(), tmp_path)
    small = header((3,)) + bytes(24)
    members["start"] = header((3,)) + bytes(LARGE)
    write(path, members)
    lies = edited_directory(
        path.read_bytes(), "start.npy", unpacked=len(small), crc=zlib.crc32(small)
    )
    path.write_bytes(lies)
    refused(path, "member start decompresses to more than it declares")


def test_a_bomb_that_says_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "mdp.npz"
    members = members_of(stepping(), tmp_path)
    members["start"] = header((LARGE // 8,)) + bytes(LARGE)
    write(path, members)
    assert path.stat().st_size < LARGE // 200
    refused(path, "its arrays need", "more than max_bytes = 20000000", max_bytes=20_000_000)


@pytest.mark.parametrize(
    ("names", "descr"),
    [
        (["start"], "<f8"),
        (["actions"], "<i8"),
        (["offsets"], "<i8"),
        (["state_names_ends"], "<i8"),
        (["features_shape"], "<i8"),
        (["features_data"], "<f8"),
        (["transitions_data", "transitions_indices"], "<i8"),
    ],
)
def test_a_bomb_that_fits_nothing_else(tmp_path: Path, names: list[str], descr: str) -> None:
    # 32 MB of zeros in a file of three states: the sizes declared refuse them, unread.
    path = tmp_path / "mdp.npz"
    members = members_of(stepping(), tmp_path)
    for name in names:
        form = "<f8" if name == "transitions_data" else descr
        members[name] = header((LARGE // 8,), form) + bytes(LARGE)
    write(path, members)
    refused(path, "member ", max_bytes=1 << 34)


def test_names_count_as_what_they_take_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "mdp.npz"
    members = members_of(stepping(), tmp_path)
    members["state_names_ends"] = header((1 << 20,), "<i8") + bytes(8 << 20)
    write(path, members)
    refused(path, "its arrays need", "more than max_bytes", max_bytes=64 << 20)


def test_a_member_shorter_than_it_says(tmp_path: Path) -> None:
    path = tmp_path / "mdp.npz"
    members = members_of(stepping(), tmp_path)
    honest = header((3,)) + bytes(24)
    members["start"] = honest[:-8]
    write(path, members)
    path.write_bytes(edited_directory(path.read_bytes(), "start.npy", unpacked=len(honest)))
    refused(path, "member start")


def test_sizes_that_compression_cannot_reach(tmp_path: Path) -> None:
    path = tmp_path / "mdp.npz"
    members = members_of(stepping(), tmp_path)
    members["start"] = header((10**8,)) + bytes(24)
    write(path, members)
    huge = len(header((10**8,))) + 8 * 10**8
    path.write_bytes(edited_directory(path.read_bytes(), "start.npy", unpacked=huge))
    refused(path, f"compressed bytes cannot hold the {huge} that it claims")
    write(path, members, method=zipfile.ZIP_STORED)
    path.write_bytes(edited_directory(path.read_bytes(), "start.npy", unpacked=huge))
    refused(path, f"compressed bytes cannot hold the {huge} that it claims")
    path.write_bytes(edited_directory(path.read_bytes(), "start.npy", unpacked=huge, packed=10**9))
    refused(path, "its members claim", "compressed bytes, it has")


def test_a_directory_that_says_it_is_long(tmp_path: Path) -> None:
    # Two million entries take far more memory as objects than in the file.
    path = tmp_path / "mdp.npz"
    entry = b"PK\x01\x02" + bytes(42)
    directory = entry * 50_000
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 0, 0, len(directory), 0, 0)
    path.write_bytes(directory + end)
    refused(path, f"the zip's directory claims to take {len(directory)} bytes")


SCRIPT = """
import resource, sys
import teachirl as ti, teachirl.mdp.model
with open("/proc/self/statm") as file:
    pages = int(file.read().split()[0])
limit = pages * resource.getpagesize() + (64 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for path in sys.argv[1:]:
    try:
        ti.MDP.load(path)
    except ti.FileFormatError as error:
        print(error)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="asks Linux for its memory")
def test_bombs_under_a_memory_limit(tmp_path: Path) -> None:
    members = members_of(stepping(), tmp_path)
    small = header((3,)) + bytes(24)
    paths = [tmp_path / f"{number}.npz" for number in range(3)]
    write(paths[0], members | {"start": header((3,)) + bytes(80 << 20)})
    lies = {"unpacked": len(small), "crc": zlib.crc32(small)}
    paths[0].write_bytes(edited_directory(paths[0].read_bytes(), "start.npy", **lies))
    write(paths[1], members | {"start": header((10**12,))})
    write(paths[2], members | {"features_shape": npy(np.array([4, 2**62]))})
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, paths)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, "NUMBA_NUM_THREADS": "1"},
    )
    lines = result.stdout.splitlines()
    assert len(lines) == 3
    assert lines[0] == f"{paths[0]}: member start decompresses to more than it declares"
    assert "member start: shape (1000000000000,) takes 8000000000000 bytes" in lines[1]
    assert "member features_shape: a weight for each of" in lines[2]
