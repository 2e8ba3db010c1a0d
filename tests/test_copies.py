"""Whatever comes out of a public function can be pickled and copied: it comes back from pools."""

from __future__ import annotations

import contextlib
import copy
import doctest
import enum
import inspect
import io
import pickle
import sys

import numpy as np
import pytest

import teachirl as ti
from problem_files import PROBLEMS
from teachirl.app.decisions import assess, frontier, plan
from teachirl.study.progress import Progress

PUBLIC = {name: getattr(ti, name) for name in ti.__all__}
COPIES = {
    "pickle": lambda each: pickle.loads(pickle.dumps(each)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


def ours(value):
    return type(value).__module__.startswith("teachirl.") and not isinstance(value, enum.Enum)


def left_over(thing, shown):
    """What the example in its docstring leaves behind, and shows."""
    test = doctest.DocTestFinder(recurse=False).find(thing, thing.__name__, globs={})[0]
    shown.clear()
    with contextlib.redirect_stdout(io.StringIO()):
        for example in test.examples:
            with contextlib.suppress(ti.TeachirlError):  # which some of them show
                exec(compile(example.source, thing.__name__, "single"), test.globs)
    return [each for each in (*test.globs.values(), *shown) if type(each) is tuple or ours(each)]


def parts_of(value, seen):
    """It, and what of ours it consists of."""
    if id(value) in seen:
        return
    seen[id(value)] = value
    inside = value if isinstance(value, list | tuple) else vars(value).values()
    for each in inside:
        if isinstance(each, list | tuple) or (ours(each) and hasattr(each, "__dict__")):
            parts_of(each, seen)


def check_copies(value):
    for how, made in COPIES.items():
        back = made(value)
        assert type(back) is type(value), how
        for name, there in vars(value).items() if hasattr(value, "__dict__") else ():
            here = vars(back).get(name)
            if isinstance(there, np.ndarray):
                assert np.array_equal(here, there, equal_nan=there.dtype.kind == "f"), (how, name)
            elif isinstance(there, float | int | str):
                assert here == there or here != here, (how, name)


def test_every_public_result(monkeypatch):
    found, shown = {}, []
    monkeypatch.setattr(sys, "displayhook", shown.append)
    check_copies(judgement := ti.Judgement("gap", tail=0.1))
    parts_of(judgement, found)
    for thing in PUBLIC.values():
        if inspect.isfunction(thing) or inspect.isclass(thing):
            for value in left_over(thing, shown):
                check_copies(value)
                parts_of(value, found)
    kinds = {type(each) for each in found.values()}
    wanted = {
        each
        for each in PUBLIC.values()
        if inspect.isclass(each) and not issubclass(each, enum.Enum | Exception)
    }
    assert {each.__name__ for each in wanted - kinds} == set()


@pytest.mark.parametrize("name", ["grid", "recorded", "rewards"])
def test_every_decision(name):
    problem = ti.read_problem(PROBLEMS / f"{name}.toml")
    check_copies(problem)
    with Progress() as progress:
        for decide in (assess, plan, frontier):
            check_copies(decide(problem, progress=progress))
    found = assess(problem)
    back = pickle.loads(pickle.dumps(found))  # what was not asked for yet is computed there
    assert back.guarantees[-1] == found.guarantees[-1]
    assert back.guarantees[-1].performance == found.guaranteed
