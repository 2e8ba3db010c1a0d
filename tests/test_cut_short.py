"""Cut short wherever it may be, a curve knows a set that is no dearer than the plan's."""

import math
import signal
from dataclasses import replace

import numpy as np
import pytest

from teachirl.app.decisions import Cut, Ending, Searched, assess, frontier, plan
from teachirl.app.document.documents import answer, report
from teachirl.app.document.elements import Bullets
from teachirl.app.problem import read_problem
from teachirl.app.render.json import contents
from teachirl.mdp import clock, kernels
from teachirl.teachers.sets import SetBounds
from teachirl.teaching.task import Task

WORLD = """
[world]
name = "gridworld"
size = 6
block = 2
slip = 0.3
discount = 0.9
[learner]
sees = ["cell 8"]
[plan]
guarantee = 0.99
[teach]
features = "all"
[reward.weights]
"""


def problem_of(folder, seed):
    """Nine cells with weights and prices of their own."""
    rng = np.random.default_rng(seed)
    text = WORLD + "".join(f'"cell {i}" = {w:.3f}\n' for i, w in enumerate(rng.normal(size=9)))
    for i, cost in enumerate(rng.integers(1, 9, size=8)):
        text += f'[[teach.feature]]\nname = "cell {i}"\ncost = {cost}.0\n'
    path = folder / "problem.toml"
    path.write_text(text)
    return read_problem(path)


@pytest.fixture
def stop_after(monkeypatch):
    """Ctrl-C once so many sets were searched."""
    tighten, left = SetBounds.tighten, [math.inf]

    def counted(self, *given):
        if left[0] <= 0:
            raise KeyboardInterrupt
        left[0] -= 1
        tighten(self, *given)

    def set_to(count):
        left[0] = count

    monkeypatch.setattr(SetBounds, "tighten", counted)
    return set_to


def cost_of(found):
    """Of a plan or a curve: what has all that was asked for costs, as far as it is known."""
    if hasattr(found, "enough"):
        return math.inf if found.enough is None else found.enough.cost
    return found.steps[found.stop].cost if found.reached else math.inf


@pytest.mark.parametrize("seed", range(3))
def test_after_as_many_sets_a_curve_is_no_dearer_than_a_plan(tmp_path, stop_after, seed):
    compared = []
    for count in range(2, 24, 3):
        stop_after(count)
        planned = plan(problem_of(tmp_path, seed))
        stop_after(count)
        curve = frontier(problem_of(tmp_path, seed))
        compared.append((cost_of(curve), cost_of(planned)))
        stop_after(math.inf)
    assert all(curve <= planned for curve, planned in compared)
    assert any(math.isfinite(planned) for _, planned in compared)


@pytest.mark.parametrize("seed", range(3))
def test_in_as_much_time_a_curve_is_no_dearer_than_a_plan(tmp_path, monkeypatch, seed):
    monkeypatch.setattr(kernels, "PIECE", 1)
    compared = []
    for step in (8e-3, 4e-3, 2e-3):

        def found(decide, step=step):
            ticks = iter(range(10**7))
            problem = problem_of(tmp_path, seed)
            _ = problem.task.simulated
            monkeypatch.setattr(clock, "seconds", lambda: step * next(ticks))
            return decide(problem, seconds=2.0)

        curve, planned = found(frontier), found(plan)
        compared.append((cost_of(curve), cost_of(planned), curve.cut, planned.cut))
    assert all(curve <= planned for curve, planned, *_ in compared)
    assert Cut.OUT_OF_TIME in [cut for *_, cut in compared]


@pytest.mark.parametrize("late", [Cut.OUT_OF_TIME, Cut.INTERRUPTED, None])
def test_a_report_tells_once_what_ended_it(tmp_path, late):
    """How things stand is added in a hurry after Ctrl-C, whose limit nobody gave."""
    problem = problem_of(tmp_path, 0)
    planned = replace(plan(problem), cut=Cut.INTERRUPTED)
    now = assess(problem)
    now.patience.cut = late
    sections = report(problem, now, planned).sections
    first = next(iter(sections))
    told = [
        each.text
        for part in first.elements
        if isinstance(part, Bullets)
        for each in part.sentences
        if each.key == "cut_short" and each.text
    ]
    assert len(told) == 1 and told[0].startswith("Cut short by Ctrl-C: ")


def test_a_headline_that_was_interrupted_names_the_feature_of_the_loss(tmp_path, monkeypatch):
    """Once a policy is known that loses, nothing has to be computed to say through what."""
    monkeypatch.setattr(clock, "_ahead", 0.0)  # as it was before, when this is over
    worst_case = Task.worst_case

    def interrupted(self, *given, **limits):
        found = worst_case(self, *given, **limits)
        signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(Task, "worst_case", interrupted)
    found = assess(problem_of(tmp_path, 0))
    monkeypatch.setattr(Task, "worst_case", worst_case)
    assert found.cut is Cut.INTERRUPTED and not found.unfinished
    lost, said = found.stakes.most_lost, contents(answer(found.problem, found))["in_reward"]
    assert lost.lost > 0.0 and f"Most can be lost through {lost.name}: " in said


def test_a_headline_that_was_cut_short_names_the_feature_of_the_loss(tmp_path, monkeypatch):
    worst_case, calls = Task.worst_case, iter(range(10**6))

    def short(self, *given, **limits):
        """The first has no time."""
        if next(calls) == 0:
            limits["max_seconds"] = 1e-9
        return worst_case(self, *given, **limits)

    monkeypatch.setattr(Task, "worst_case", short)
    found = assess(problem_of(tmp_path, 0))
    assert found.unfinished
    check_headline(found, found.stakes)


def check_headline(found, stakes):
    problem, lost = found.problem, stakes.most_lost
    assert stakes.early and lost is not None and lost.lost > 0.0
    said = contents(answer(problem, found))["in_reward"]
    assert f"Most is known to be lost through {lost.name}: " in said
    assert "for the worst policy found by then that looks the same, which costs " in said
    # Both amounts are true, of a policy that loses no more than was said.
    expert = dict(zip(problem.mdp.feature_names, problem.expert.expectations, strict=True))
    assert lost.expert == pytest.approx(expert[lost.name])
    assert lost.lost == pytest.approx(lost.weight * (lost.expert - lost.other))
    whole = assess(problem_of(problem.path.parent, 0)).stakes
    assert not whole.early and whole.loss <= stakes.loss + 1e-9


@pytest.mark.parametrize(("cut", "known"), [(Cut.OUT_OF_TIME, False), (None, True)])
def test_to_teach_nothing_is_not_advised_where_nothing_was_found_in_time(tmp_path, cut, known):
    problem = problem_of(tmp_path, 0)
    found = plan(problem)
    some = replace(found.chosen, searched=Searched.SOME)
    found = replace(found, steps=found.steps[:1], stop=0, cut=cut, chosen=some)
    found = replace(found, ending=Ending.NOT_REACHED)
    first = next(iter(answer(problem, found).sections))
    bullets = [part for part in first.elements if isinstance(part, Bullets)]
    said = {each.text for part in bullets for each in part.sentences}
    assert ("Teach nothing." in said) == known
    assert ("What to teach is not known yet: nothing was found by then." in said) != known
