"""Whatever is put in a problem file, it is read right or refused with a message."""

import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import teachirl as ti
from problem_files import FILES, TOML, copied
from teachirl.app.problem import read_problem

# What may be put in a file by mistake or by malice.
SCRAPS = [
    *b"nan -inf -1 1e999 0 true ' [ ]] { } , = . _ 0x1F 1979-05-27 99999999999999999999".split(),
    *b'../ cold shore "" " # [[teach.feature]]\n'.split(b" "),
    *(b"\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xc3\xa9", b" "),
]


@st.composite
def mutated(draw, raw):
    """`raw` with a few parts deleted, repeated, moved, or replaced by something else."""
    for _ in range(draw(st.integers(1, 3))):
        first, last = sorted(draw(st.tuples(*[st.integers(0, len(raw))] * 2)))
        last = min(last, first + draw(st.sampled_from([0, 1, 4, 20, 1000])))
        part = raw[first:last]
        scrap = draw(st.sampled_from(SCRAPS) | st.binary(min_size=1, max_size=3))
        new = draw(st.sampled_from([b"", scrap, part + part, part[::-1], part.upper()]))
        raw = raw[:first] + new + raw[last:]
        raw = raw[: draw(st.sampled_from([len(raw), len(raw), len(raw), first]))]
    return raw


def check_refused_or_right(folder, path):
    try:
        problem = read_problem(path)
    except ti.TeachirlError as error:
        message = str(error)
        assert message.strip()
        assert len(message.splitlines()) <= 6
        assert len(message) < 6 * (700 + len(str(folder)))
        return
    rows = problem.mdp.dynamics.transitions
    assert np.isfinite(problem.mdp.features @ np.ones(problem.mdp.n_features)).all()
    assert rows.data.min() > 0
    assert np.abs(rows.sum(axis=1) - 1).max() < 1e-9
    assert problem.reward.expert or problem.reward.weights.any()
    assert np.isfinite(problem.worldview.matrix).all()
    assert (problem.teachables.costs > 0).all()


LAKES = ("lake", "recorded", "rewards")
NAMES = [f"{name}.toml" for name in (*LAKES, "grid")] + [
    name for name in FILES if not name.endswith(".toml")
]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return copied(tmp_path_factory.mktemp("mutations"))


@pytest.mark.parametrize("name", NAMES)
def test_mutations(scratch, name):
    users = [scratch / each for each in NAMES if each == name or name in TOML.get(each[:-5], "")]

    @settings(max_examples=40, database=None)
    @given(mutated(FILES[name]))
    def run(raw):
        (scratch / name).write_bytes(raw)
        for user in users:
            check_refused_or_right(scratch, user)

    try:
        run()
    finally:
        (scratch / name).write_bytes(FILES[name])


VALUES = (
    st.sampled_from(
        ["nan", "-inf", "-1", "0", "1e308", "''", "[]", "{}", "true", "'all'", "07:00:00"]
    )
    | st.integers(-(2**70), 2**70).map(str)
    | st.floats().map(str)
    | st.text(string.ascii_letters, max_size=5).map(repr)
    | st.lists(st.integers(0, 3), max_size=3).map(str)
)


@pytest.mark.parametrize("name", ["lake", "recorded", "rewards", "grid", "road"])
def test_other_keys_and_values(scratch, name):
    lines = TOML[name].splitlines()
    assignments = [number for number, line in enumerate(lines) if " = " in line]

    @settings(max_examples=50, database=None)
    @given(st.data())
    def run(data):
        text = list(lines)
        for number in data.draw(st.sets(st.sampled_from(assignments), min_size=1, max_size=2)):
            key, value = text[number].split(" = ", 1)
            if data.draw(st.booleans()):
                value = data.draw(VALUES)
            else:
                letters = data.draw(st.permutations(key))
                key = data.draw(st.sampled_from([key + "s", key[1:], "".join(letters), "name"]))
            text[number] = f"{key} = {value}"
        path = scratch / f"{name}_mutated.toml"
        path.write_text("\n".join(text))
        check_refused_or_right(scratch, path)

    run()
