"""What is stored comes back bit for bit; whatever is not a store is refused with a way out."""

import errno
import json
import multiprocessing
import os
import random
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pyarrow.parquet
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import teachirl as ti
from teachirl.study import results_database as store_module
from teachirl.study.export import export
from teachirl.study.results_database import Store, canonical
from teachirl.study.results_file import APPLICATION, repair

UNITS = [{"trial": trial, "teacher": "TRGreedy"} for trial in range(3)]

HOLD = """
import sys, time
from teachirl.study.results_database import Store
with Store.open(sys.argv[1]) as store:
    store.add(store.runs()[0].id, {"trial": 1, "teacher": "TRGreedy"}, {"a": 1}, {}, "other")
    print("held", flush=True)
    time.sleep(600)
"""


def begin(store, **options):
    return store.begin("mine.py:MINE", 1, options, UNITS).id


def bits(values):
    return [struct.pack("d", value) for value in values]


def test_a_run_is_an_experiment_with_its_settings(tmp_path):
    with Store.open(tmp_path / "new" / "folder") as store:
        first = begin(store, size=8, lengths=(1, 2))
        store.add(first, UNITS[0], {"a": 1}, {}, "here")
        assert begin(store, lengths=[1, 2], size=8) == first
        others = {
            begin(store, size=9, lengths=(1, 2)),
            store.begin("mine.py:MINE", 2, {"size": 8, "lengths": (1, 2)}, UNITS).id,
            store.begin("yours.py:MINE", 1, {"size": 8, "lengths": (1, 2)}, UNITS).id,
        }
        assert len(others | {first}) == 4
        assert all(len(each) == 12 and int(each, 16) >= 0 for each in others)
        assert [store.finished(each) for each in others] == [{}, {}, {}]
        record = store.get(first)
    assert record.settings == {"size": 8, "lengths": [1, 2]}
    assert (record.units, record.done) == (tuple(UNITS), 1)
    assert record.packages["teachirl"] == ti.__version__
    assert record.machine["cpus"] == os.cpu_count()
    assert record.machine["memory"] > 2**20


def test_results_of_another_teachirl_are_not_taken(tmp_path, monkeypatch):
    with Store.open(tmp_path) as store:
        now = begin(store)
        monkeypatch.setattr(store_module, "package_versions", lambda: {"teachirl": "99.0"})
        assert begin(store) != now


@settings(max_examples=20)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=5))
@example([-0.0, 0.0, 5e-324, 0.1 + 0.2, 1.7976931348623157e308])
def test_numbers_come_back_bit_for_bit(tmp_path_factory, numbers):
    folder = tmp_path_factory.mktemp("store")
    values = {"list": numbers, "none": None, "whole": 2**70, "text": "Ω\n\0", "truth": True}
    with Store.open(folder) as store:
        run = begin(store)
        store.add(run, UNITS[0], values, {"time": 0.5}, "here", 2.5)
    with Store.open(folder, write=False) as store:
        [(text, (found, seconds))] = store.finished(run).items()
        assert store.get(run).elapsed == 2.5
    assert json.loads(text) == UNITS[0]
    assert bits(found.pop("list")) == bits(values.pop("list"))
    assert found == values and found["truth"] is True
    assert seconds == {"time": 0.5}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_what_json_does_not_have_is_refused(tmp_path, value):
    with Store.open(tmp_path) as store:
        run = begin(store)
        with pytest.raises(ti.InvalidInputError, match="finite numbers and texts"):
            store.add(run, UNITS[0], {"a": value}, {}, "here")
        assert store.finished(run) == {}


def test_a_unit_gives_the_same_each_time(tmp_path):
    with Store.open(tmp_path) as store:
        run = begin(store)
        store.add(run, UNITS[0], {"a": 0.0}, {"time": 1.0}, "here")
        store.add(run, dict(reversed(UNITS[0].items())), {"a": 0.0}, {"time": 2.0}, "there")
        with pytest.raises(ti.InvalidInputError, match=r'unit {"teacher":"TRGreedy","trial":0} of'):
            store.add(run, UNITS[0], {"a": -0.0}, {"time": 1.0}, "here")
        assert store.finished(run) == {canonical(UNITS[0]): ({"a": 0.0}, {"time": 1.0})}
        with pytest.raises(ti.TeachirlError, match="FOREIGN KEY"):
            store.add("0123", UNITS[0], {}, {}, "here")


def test_units_come_in_the_order_of_the_run(tmp_path):
    with Store.open(tmp_path) as store:
        run = begin(store)
        for unit in (UNITS[2], UNITS[0], UNITS[1]):
            store.add(run, unit, {"trial_again": unit["trial"]}, {}, "here")
        assert list(store.finished(run)) == [canonical(unit) for unit in UNITS]


def test_runs_are_found_by_how_they_begin(tmp_path):
    with Store.open(tmp_path) as store:
        with pytest.raises(ti.InvalidInputError, match="no run begins with 'ab'; there are none"):
            store.get("ab")
        ids = {begin(store, size=size) for size in range(17)}
        assert {run.id for run in store.runs()} == ids
        for each in ids:
            assert store.get(each).id == each
        # Of 17 runs two begin with the same digit.
        with pytest.raises(ti.InvalidInputError, match=r"\d+ runs begin with ''; there are"):
            store.get("")
        with pytest.raises(ti.InvalidInputError, match="no run begins with 'xyz'"):
            store.get("xyz")


def test_one_writes_and_others_read_until_it_is_killed(tmp_path):
    with Store.open(tmp_path) as store:
        run = begin(store)
        with pytest.raises(
            ti.TeachirlError, match=rf"in use by another run \(process {os.getpid()}"
        ):
            Store.open(tmp_path)
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout.readline() == "held\n"
            with pytest.raises(ti.TeachirlError, match=rf"another run \(process {other.pid}\)"):
                Store.open(tmp_path)
            with Store.open(tmp_path, write=False) as store:
                assert list(store.finished(run)) == [canonical(UNITS[1])]
                with pytest.raises(ti.TeachirlError, match="readonly"):
                    begin(store, size=3)
        finally:
            other.send_signal(signal.SIGKILL)
    with Store.open(tmp_path) as store:
        assert store.get(run).done == 1


def test_nothing_to_read(tmp_path):
    with pytest.raises(
        ti.InvalidInputError, match=r"no results in .*results\.sqlite does not exist"
    ):
        Store.open(tmp_path, write=False)
    (tmp_path / "file").touch()
    with pytest.raises(ti.InvalidInputError, match="file must be a folder"):
        Store.open(tmp_path / "file")


def test_a_store_that_was_only_just_made(tmp_path):
    # As it is when a process is killed before the tables are there.
    with closing(sqlite3.connect(tmp_path / "results.sqlite")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    with pytest.raises(ti.InvalidInputError, match=r"no results in .* yet"):
        Store.open(tmp_path, write=False)
    with Store.open(tmp_path) as store:
        assert store.runs() == []
        begin(store)


def filled(folder):
    with Store.open(folder) as store:
        run = store.begin("mine.py:MINE", 1, {}, [{"trial": trial} for trial in range(200)]).id
        for trial in range(200):
            store.add(run, {"trial": trial}, {"numbers": [trial / 7] * 50}, {}, "here")
    return folder / "results.sqlite"


@pytest.mark.parametrize("write", [True, False])
@pytest.mark.parametrize("damage", ["text", "cut", "middle"])
def test_a_damaged_store_is_refused(tmp_path, damage, write):
    path = filled(tmp_path)
    content = path.read_bytes()
    assert len(content) > 40_000
    spoiled = {
        "text": b"trial,risk\n" * 1000,
        "cut": content[: len(content) // 2],
        "middle": content[:8192] + b"\xa5" * 20_000 + content[28_192:],
    }
    path.write_bytes(spoiled[damage])
    with pytest.raises(ti.FileFormatError, match=r"results\.sqlite is damaged.* move it away"):
        Store.open(tmp_path, write=write)
    assert path.read_bytes() == spoiled[damage]
    path.unlink()
    with Store.open(tmp_path) as store:
        assert store.runs() == []


def altered(path, *statements):
    """Change a database behind our back."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("version", [3, 1, 0, -1])
def test_another_version_of_the_format_is_refused(tmp_path, version):
    altered(filled(tmp_path), f"PRAGMA user_version = {version}")
    newer = "a newer teachirl, or " if version == 3 else ""
    for write in (True, False):
        with pytest.raises(
            ti.FileFormatError,
            match=f"has version {version} of .* reads version 2; use {newer}another folder",
        ):
            Store.open(tmp_path, write=write)
    with pytest.raises(ti.FileFormatError, match=f"has version {version} of"):
        repair(tmp_path)  # it is none of this one's to mend


def test_what_others_made_is_refused(tmp_path):
    altered(tmp_path / "results.sqlite", "CREATE TABLE theirs (x)")
    with pytest.raises(ti.FileFormatError, match="not one with results of teachirl"):
        Store.open(tmp_path, write=False)
    with pytest.raises(ti.FileFormatError, match="not one with results of teachirl"):
        repair(tmp_path)


def test_a_flipped_bit_of_the_application_is_damage(tmp_path):
    altered(filled(tmp_path), f"PRAGMA application_id = {APPLICATION ^ 1}")
    with pytest.raises(ti.FileFormatError, match="application id is not as it was written"):
        Store.open(tmp_path, write=False)
    assert repair(tmp_path).kept == 200
    Store.open(tmp_path, write=False).close()


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE units SET elapsed = 9e999", r'of run \w+, unit {"trial":0}, unit'),
        ("UPDATE units SET seconds = '{' WHERE rowid = 8", r'of run \w+, unit {"trial":7}; '),
        ("UPDATE units SET \"values\" = x'ff' WHERE rowid = 8", 'unit {"trial":7}; '),
        ("UPDATE runs SET settings = '{\"size\":9}'", r"of run \w+, its settings; "),
        ("UPDATE runs SET units = '['", r"of run \w+, its settings; "),
        ("ALTER TABLE runs ADD COLUMN more", "its table runs is not as it was made"),
        ("ALTER TABLE units RENAME COLUMN seconds TO times", "its table units is not as it was"),
    ],
)
def test_a_damaged_row_is_named_with_the_way_out(tmp_path, statement, what):
    altered(filled(tmp_path), statement)
    for write in (True, False):
        with pytest.raises(ti.FileFormatError, match=what) as refused:
            Store.open(tmp_path, write=write)
        assert f"`teachirl runs repair --out {tmp_path}` keeps what is whole" in str(refused.value)
        assert len(str(refused.value)) < 800  # not all 200 units


def test_damage_since_it_was_opened_is_noticed(tmp_path):
    path = filled(tmp_path)
    with Store.open(tmp_path, write=False) as store:
        [run] = store.runs()
        altered(path, "UPDATE units SET \"values\" = '{}' WHERE rowid = 3")
        with pytest.raises(ti.FileFormatError, match=r'unit {"trial":2}; '):
            store.finished(run.id)
        altered(path, "UPDATE runs SET version = 7")
        with pytest.raises(ti.FileFormatError, match="its settings; "):
            store.get(run.id)


def small(folder):
    """A store of 12 units in few pages; its bytes, and its export."""
    wanted = [{"trial": trial, "teacher": "TRGreedy"} for trial in range(12)]
    with Store.open(folder) as store:
        run = store.begin("mine.py:MINE", 1, {"size": 3}, wanted).id
        for unit in wanted:
            store.add(run, unit, {"risk": [unit["trial"] / 7, 1.0]}, {"took": [1.5, 2]}, "here", 1)
        export(store, run, folder / "table.csv")
    return (folder / "results.sqlite").read_bytes(), (folder / "table.csv").read_bytes()


def flipped(content, position):
    spoiled = bytearray(content)
    spoiled[position // 8] ^= 1 << position % 8
    return bytes(spoiled)


def exported(folder):
    """The export of the only run in a folder, and what `runs list` has of it."""
    with Store.open(folder, write=False) as store:
        [run] = store.runs()
        export(store, run.id, folder / "table.csv")
    return (folder / "table.csv").read_bytes(), run.elapsed, run.settings, run.done


def test_no_flipped_bit_gives_other_results(tmp_path):
    content, table = small(tmp_path)
    dice, refused = random.Random(13), []
    for _ in range(250):
        position = dice.randrange(8 * len(content))
        (tmp_path / "results.sqlite").write_bytes(flipped(content, position))
        try:
            assert exported(tmp_path) == (table, 12.0, {"size": 3}, 12), position
        except ti.TeachirlError as error:
            refused.append(str(error))
    assert len(refused) > 40
    assert all(str(tmp_path / "results.sqlite") in each for each in refused)


def test_repaired_and_completed_it_is_as_it_was(tmp_path):
    content, table = small(tmp_path)
    path, dice, kept, refused = tmp_path / "results.sqlite", random.Random(14), [], []
    for _ in range(60):
        path.write_bytes(flipped(content, dice.randrange(8 * len(content))))
        try:
            mended = repair(tmp_path)
        except ti.TeachirlError as error:  # nothing in it can be read
            refused.append(str(error))
            continue
        kept.append(mended.kept)
        assert (mended.aside is None) == (mended.lost == "")
        assert small(tmp_path)[1] == table
    assert len(kept) > 45 and min(kept) >= 11
    assert all(str(path) in each for each in refused)


def test_repair_of_what_is_torn_keeps_both_ends(tmp_path):
    path = filled(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[:28_672] + b"\xa5" * 4096 + content[32_768:])
    mended = repair(tmp_path)
    assert 150 < mended.kept < 200
    assert mended.aside.read_bytes() == path.with_name("results.damaged-1.sqlite").read_bytes()
    with Store.open(tmp_path) as store:
        [run] = store.runs()
        assert run.done == mended.kept == len(store.finished(run.id))
    assert repair(tmp_path).lost == "" and repair(tmp_path).aside is None


def test_units_outlive_the_settings_of_their_run(tmp_path):
    small(tmp_path)
    altered(tmp_path / "results.sqlite", "UPDATE runs SET settings = '{}'")
    assert "its settings" in repair(tmp_path).lost
    with Store.open(tmp_path) as store:
        assert store.runs() == []
    small(tmp_path)
    assert exported(tmp_path)[-1] == 12


def test_nothing_to_repair(tmp_path):
    with pytest.raises(ti.InvalidInputError, match="does not exist"):
        repair(tmp_path)
    (tmp_path / "results.sqlite").write_bytes(b"trial,risk\n" * 1000)
    with pytest.raises(ti.InvalidInputError, match=r"nothing in .* can be kept: .* move it away"):
        repair(tmp_path)
    with Store.open(tmp_path / "used"), pytest.raises(ti.TeachirlError, match="in use by"):
        repair(tmp_path / "used")


def test_names_that_a_spreadsheet_would_run(tmp_path):
    with Store.open(tmp_path) as store:
        run = store.begin("mine.py:MINE", 1, {}, [{"-x": "=1+1", "trial": -1}]).id
        store.add(run, {"-x": "=1+1", "trial": -1}, {"@a": "+b", "risk": -0.5}, {}, "here")
        export(store, run, tmp_path / "table.csv")
        export(store, run, tmp_path / "table.parquet")
    assert (tmp_path / "table.csv").read_text().splitlines() == [
        "'-x,trial,'@a,risk",
        "'=1+1,-1,'+b,-0.5",
    ]
    [row] = pyarrow.parquet.read_table(tmp_path / "table.parquet").to_pylist()
    assert row == {"-x": "=1+1", "trial": -1, "@a": "+b", "risk": -0.5}


def test_a_full_disk_is_told_with_the_file(table, tmp_path, monkeypatch):
    store, run = table
    (tmp_path / "table.csv").write_text("before")

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device") as refused:
        export(store, run, tmp_path / "table.csv")
    assert refused.value.filename == str(tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text() == "before"
    assert not list(tmp_path.glob(".*.tmp"))


@pytest.fixture
def table(tmp_path):
    """A store with a run of three units: two with lists, one without, and some values missing."""
    with Store.open(tmp_path) as store:
        run = begin(store)
        store.add(run, UNITS[1], {"risk": [0.1, None], "n": 1}, {"took": [1.5, 2]}, "here")
        store.add(run, UNITS[0], {"risk": [1 / 3], "n": 2}, {"took": [0.5]}, "here")
        store.add(run, UNITS[2], {"n": 3, "note": 'a "b", c'}, {}, "here")
        yield store, run


def test_export_to_csv(table, tmp_path):
    store, run = table
    assert export(store, run[:5], tmp_path / "table.csv") == 4
    assert (tmp_path / "table.csv").read_text().splitlines() == [
        "teacher,trial,index,risk,n,took,note",
        "TRGreedy,0,0,0.3333333333333333,2,0.5,",
        "TRGreedy,1,0,0.1,1,1.5,",
        "TRGreedy,1,1,,1,2,",
        'TRGreedy,2,,,3,,"a ""b"", c"',
    ]


def test_export_to_parquet(table, tmp_path):
    store, run = table
    assert export(store, run, tmp_path / "table.parquet") == 4
    assert pyarrow.parquet.read_table(tmp_path / "table.parquet").to_pydict() == {
        "teacher": ["TRGreedy"] * 4,
        "trial": [0, 1, 1, 2],
        "index": [0, 0, 1, None],
        "risk": [1 / 3, 0.1, None, None],
        "n": [2, 1, 1, 3],
        "took": [0.5, 1.5, 2.0, None],
        "note": [None, None, None, 'a "b", c'],
    }


def test_what_cannot_be_exported(table, tmp_path):
    store, _ = table
    with pytest.raises(ti.InvalidInputError, match=r"must end in \.csv or \.parquet"):
        export(store, "", tmp_path / "table.txt")
    mixed = begin(store, size=1)
    store.add(mixed, UNITS[0], {"a": ["text", 1]}, {}, "here")
    with pytest.raises(ti.InvalidInputError, match=r"column a does not fit.*\.csv instead"):
        export(store, mixed, tmp_path / "table.parquet")
    twice = begin(store, size=2)
    store.add(twice, UNITS[0], {"trial": 5, "a": 1}, {"a": 1.0}, "here")
    with pytest.raises(ti.InvalidInputError, match="more than one column a, trial"):
        export(store, twice, tmp_path / "table.csv")
    assert not list(tmp_path.glob("table*"))


KILLED = """
import os, signal, sys
from teachirl.study.results_database import Store
store = Store.open(sys.argv[1])
units = [{"trial": trial} for trial in range(3)]
run = store.begin("mine.py:MINE", 1, {}, units).id
for unit in units:
    store.add(run, unit, {"a": 1}, {}, "here")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def left_behind():
    """The folder of a run that was killed, with what SQLite had beside its file; others may get
    there, and write to all that is in it."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made, "out")
        folder.mkdir()
        subprocess.run([sys.executable, "-c", KILLED, folder])
        for each in (folder, folder / "results.lock", *folder.glob("results.sqlite*")):
            each.chmod(0o777)
        Path(made).chmod(0o755)
        assert (folder / "results.sqlite-wal").stat().st_size > 0
        yield folder
        folder.chmod(0o777)


def as_another_user(work):
    """What a function says in a process that may do no more than any user."""
    ours, theirs = multiprocessing.Pipe(duplex=False)

    def report():
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        try:
            theirs.send(work())
        except ti.TeachirlError as error:
            theirs.send(str(error))

    process = multiprocessing.get_context("fork").Process(target=report)
    process.start()
    theirs.close()
    said = ours.recv()
    process.join()
    return said


def add_nothing(folder):
    with Store.open(folder) as store:
        return begin(store)


@pytest.mark.parametrize("name", ["", "results.lock", "results.sqlite", "results.sqlite-shm"])
def test_where_one_may_not_write_there_is_a_way_out(left_behind, name):
    locked = left_behind / name
    if not name:
        (left_behind / "results.sqlite-shm").unlink()
    locked.chmod(0o555)
    said = as_another_user(lambda: add_nothing(left_behind))
    assert said == (
        f"{left_behind / 'results.sqlite'} cannot be written to, as this user may not write to "
        f"{locked}: have its owner allow it (`chmod u+w`, `chown`), or copy the folder to one of "
        "your own and use that (`--out`); all that is finished is kept"
    )


@pytest.mark.parametrize("shm", [True, False])
def test_what_a_killed_run_left_is_read_where_one_may_not_write(left_behind, shm):
    if not shm:
        (left_behind / "results.sqlite-shm").unlink()
    left_behind.chmod(0o555)

    def done():
        with Store.open(left_behind, write=False) as store:
            return [run.done for run in store.runs()]

    assert as_another_user(done) == [3]


def test_runs_of_one_moment_are_in_the_order_in_which_they_began(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "_now", lambda: "2026-01-01T00:00:00.000+00:00")
    with Store.open(tmp_path) as store:
        begun = [store.begin(f"mine.py:{name}", 1, {}, [{"trial": 0}]).id for name in "edcba"]
        assert [run.id for run in store.runs()] == begun
