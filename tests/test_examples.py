"""The examples run, and their page says what comes out."""

import ast
import contextlib
import io
import json
import re
import runpy
import shlex
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import teachirl as ti
from teachirl.app import cli, decisions
from teachirl.app.decisions import frontier, plan
from teachirl.app.problem import read_problem
from teachirl.testing import check_learner

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
PAGE = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^```\n\$ (\w+) (.+)\n((?:.+\n|\n)+?)```$", PAGE, flags=re.MULTILINE)
PROBLEMS = ("driving", "taxi", "frozen_lake", "classroom/classroom", "doorkey", "lift/lift")


@cache
def problem(name):
    return read_problem(EXAMPLES / f"{name}.toml")


@cache
def ran(program, arguments):
    """What a command of the page prints, and the plans that it finds on the way."""
    printed, found = io.StringIO(), []

    def watched(*given, **named):
        found.append(plan(*given, **named))
        return found[-1]

    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.chdir(ROOT)
        patch.setattr(decisions, "plan", watched)
        if program == "python":
            runpy.run_path(arguments, run_name="__main__")
        elif program == "jupyter":
            run_notebook(ROOT / arguments.removeprefix("lab "))
        else:
            patch.setattr(sys, "argv", [program, *shlex.split(arguments)])
            with pytest.raises(SystemExit) as stop:
                cli.main()
            assert stop.value.code in (None, 0)
    return printed.getvalue(), found


def planned(name):
    """The plan of an example, as the command on the page finds it."""
    [found] = ran("teachirl", f"teach examples/{name}.toml")[1]
    return found


def together(name):
    """The tests of one plan run where it is known."""
    return pytest.mark.xdist_group(f"teach examples/{name}.toml")


def guaranteed(example, names):
    """What is guaranteed once the learner sees these true features, too."""
    view = example.worldview.extend(ti.Worldview.select(example.mdp, names).matrix)
    task = example.task
    worst = ti.worst_case(example.mdp, view, task.weights, task.demonstration)
    return task.relative_at_least(worst.lower)


def most(example, feature, names):
    """The most of a feature that a policy can have which looks right to the learner with these."""
    view = example.worldview.extend(ti.Worldview.select(example.mdp, names).matrix)
    weights = np.zeros(example.mdp.n_features)
    weights[example.mdp.feature_index(feature)] = -1.0
    return -ti.worst_case(example.mdp, view, weights, example.task.demonstration).lower


def says(text):
    assert " ".join(text.split()) in " ".join(PAGE.split()), f"the page does not say: {text}"


def test_the_page_shows_every_example():
    commands = [f"{program} {arguments}" for program, arguments, _ in SHOWN]
    for name in PROBLEMS:
        assert f"teachirl teach examples/{name}.toml" in commands
    for name in ("own_learner", "cloner", "mountain_car", "own_simulator"):
        assert f"python examples/{name}.py" in commands
    assert "jupyter lab examples/walkthrough.ipynb" in commands
    pictures = ("driving", "taxi", "frozen_lake", "classroom", "mountain_car", "doorkey", "lift")
    for name in (*pictures, "greenhouse"):
        picture = ROOT / "docs" / "images" / f"example_{name}.png"
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size < 200_000
        assert f"(images/{picture.name})" in PAGE


def run_notebook(path):
    """What the cells of a notebook show, run one after the other in one namespace."""
    namespace, displayed = {}, []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            *body, last = ast.parse("".join(cell["source"])).body
            if not isinstance(last, ast.Expr):
                body, last = [*body, last], None
            exec(compile(ast.Module(body, []), path.name, "exec"), namespace)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), path.name, "eval"), namespace)
                displayed += [] if value is None else [value]
    return displayed


def test_the_notebook_shows_results_and_holds_none():
    path = EXAMPLES / "walkthrough.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    codes = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in codes)
    assert path.stat().st_size < 20_000
    shown = run_notebook(path)
    kinds = {type(each).__name__ for each in shown}
    assert {"MDP", "Plan", "Certificate", "Lesson", "Shown", "Picture", "DataFrame"} <= kinds
    assert all(each._repr_html_().startswith("<") for each in shown)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "arguments", "shown"),
    [pytest.param(*each, id=each[1], marks=pytest.mark.xdist_group(each[1])) for each in SHOWN],
)
def test_what_is_shown_is_printed(program, arguments, shown):
    printed = [line.rstrip() for line in ran(program, arguments)[0].splitlines()]
    # Lines that follow each other on the page follow each other in what was printed.
    at = 0
    for part in shown.split("…\n"):
        lines = part.splitlines()
        if lines:
            places = [i for i in range(at, len(printed)) if printed[i : i + len(lines)] == lines]
            assert places, f"not printed in this order: {part}\n" + "\n".join(printed)
            at = places[0] + len(lines)


@together("driving")
def test_driving_is_planned_for_10():
    found = planned("driving")
    names = [step.name for step in found.steps[1 : found.stop + 1]]
    assert names == ["lane change", "ahead 1", "ahead 2"]
    assert found.reached and found.steps[found.stop].cost == 10.0
    risks = [step.risk for step in found.steps]
    assert all(0.97 < risk < 0.98 for risk in risks)


def test_driving_takes_10_and_leaves_room_for_collisions():
    driving = problem("driving")
    three = ["lane change", "ahead 1", "ahead 2"]
    costs = dict(zip(driving.task.names, driving.task.costs, strict=True))
    assert sum(costs[name] for name in three) == 10.0
    assert guaranteed(driving, three) == pytest.approx(0.900038, abs=1e-6)
    assert most(driving, "collision", three) == pytest.approx(0.61213, abs=1e-4)
    assert most(driving, "collision", []) == pytest.approx(2.0047, abs=1e-4)
    says("has 0.61 collisions, discounted; with none it is 2.0")
    assert most(driving, "collision", list(driving.task.names)) == pytest.approx(0.3911, abs=1e-3)
    says("all seven\n  leave room for 0.39 collisions")


def test_driving_with_a_collision_sensor():
    driving = problem("driving")
    assert guaranteed(driving, ["collision"]) == pytest.approx(0.957179, abs=1e-6)
    seldom = driving.task.demonstration.expectations[driving.mdp.feature_index("collision")]
    assert most(driving, "collision", ["collision"]) == pytest.approx(seldom, abs=1e-8)
    says("costs 2 and guarantees 95.7 % by itself")


def test_taxi_needs_the_seat_and_all_stands():
    taxi = problem("taxi")
    curve = frontier(taxi)
    stands = [f"passenger at {colour}" for colour in ("red", "green", "yellow", "blue")]
    assert curve.exact and curve.enough is not None
    assert (curve.enough.cost, set(curve.enough.features)) == (
        6.0,
        {"passenger aboard", *stands},
    )
    assert max(p.guaranteed for p in curve.points if p.cost < 6.0) == pytest.approx(
        0.389155, abs=1e-6
    )
    says("Four of the five guarantee 39 % at most")
    together = [taxi.mdp.feature_index(name) for name in ("passenger aboard", *stands)]
    steps = taxi.mdp.features[:, taxi.mdp.feature_index("step")]
    np.testing.assert_array_equal(taxi.mdp.features[:, together].sum(axis=1), steps)
    for clock in ("step", "delivery"):
        assert guaranteed(taxi, [clock]) > 1.0 - 1e-6


def test_complaints_only_keep_a_taxi_from_complaints():
    taxi = problem("taxi")
    found = guaranteed(taxi, ["illegal pickup", "illegal dropoff"])
    assert found == pytest.approx(taxi.task.relative(-20.0), abs=1e-9)
    assert found == pytest.approx(0.892282, abs=1e-6)
    assert taxi.task.worst.value == pytest.approx(-200.0, abs=1e-6)
    assert taxi.task.best.value == pytest.approx(1.72993, abs=1e-5)
    says("guarantee 89.2 % for 8")


@together("frozen_lake")
def test_a_pedometer_tells_of_holes():
    lake = problem("frozen_lake")
    found = planned("frozen_lake")
    assert [(step.name, step.cost) for step in found.steps] == [("", 0.0), ("step", 1.0)]
    assert guaranteed(lake, ["step"]) > 1.0 - 1e-6
    view = lake.worldview.extend(ti.Worldview.select(lake.mdp, ["step"]).matrix)
    assert ti.relative_risk(lake.mdp, view, lake.weights) < 1e-9
    assert ti.teaching_risk(view, lake.weights) == pytest.approx(np.sqrt(0.5))
    assert guaranteed(lake, ["hole ahead"]) == pytest.approx(0.7688, abs=1e-4)
    assert guaranteed(lake, ["holes near"]) == pytest.approx(0.8447, abs=1e-4)
    says("A torch that shows the hole ahead (2) would guarantee 76.8 %")


@together("classroom/classroom")
def test_the_classroom_begins_with_both_sides():
    room = problem("classroom/classroom")
    found = planned("classroom/classroom")
    assert [(step.name, step.cost) for step in found.steps] == [
        ("", 0.0),
        ("both sides", 2.0),
        ("every term", 3.0),
    ]
    assert found.steps[-1].guaranteed > 1.0 - 1e-6
    assert guaranteed(room, ["check"]) == pytest.approx(guaranteed(room, []), abs=1e-9)
    checks = room.mdp.feature_index("check")
    assert room.task.demonstration.expectations[checks] == 0.0
    # What he would better show if nothing is taught: check every answer.
    best = found.show.best
    assert best is not None
    assert room.task.relative_at_least(best.guaranteed) == pytest.approx(0.963524, abs=1e-5)
    wrong = room.mdp.feature_index("wrong")
    assert best.demonstration.expectations[wrong] == pytest.approx(0.0, abs=1e-12)
    says("guarantees 96.3 %")


@together("driving")
def test_another_driver_is_easier_to_imitate():
    driving = problem("driving")
    shown = planned("driving").show.best
    assert shown is not None
    task, does = (
        driving.task,
        dict(zip(driving.mdp.feature_names, shown.demonstration.expectations, strict=True)),
    )
    assert task.relative_at_least(shown.guaranteed) == pytest.approx(0.949797, abs=1e-5)
    assert task.relative(shown.guaranteed) == pytest.approx(
        task.relative(float(task.weights @ shown.demonstration.expectations)), abs=1e-6
    )
    assert does["braking"] == 0.0 and does["shoulder"] > 1.0 and does["collision"] > 0.05
    says("earns 94.9 % itself")


def test_the_car_s_problem_file_is_the_script_s_world():
    """What the script prints is held to its page; 0, 0, .954 and .618 are what it should be."""
    car = problem("mountain_car")
    assert car.mdp.n_states == ti.worlds.mountain_car(51).mdp.n_states
    assert list(car.teachables.names) == ["velocity", "height"]
    [printed] = [shown for _, command, shown in SHOWN if command == "examples/mountain_car.py"]
    shares = [float(each) / 100 for each in re.findall(r"(\d+) %$", printed, re.MULTILINE)[:4]]
    # Rounded down to a percent.
    assert shares == pytest.approx([0.0, 0.0, 0.95, 0.61], abs=1e-9)


def test_a_sloppy_imitator_in_the_grid():
    door = problem("doorkey")
    task = door.task
    shares = [
        task.relative_at_least(
            ti.worst_case(door.mdp, door.worldview, task.weights, task.demonstration, eps).lower
        )
        for eps in (0.0, 0.01, 0.05, 0.2, 0.5)
    ]
    assert shares == pytest.approx([1.0, 0.996, 0.982, 0.930, 0.825], abs=0.01)
    says("| 100 % | 99.6 % | 98.2 % | 92.8 % | 82.1 % |")
    told = [1.0, 0.996, 0.982, 0.928, 0.821]
    assert all(
        said <= share + 1e-6 < said + 0.001 + 2e-6 for said, share in zip(told, shares, strict=True)
    )


def test_the_lift_needs_one_bit():
    lift = problem("lift/lift")
    assert guaranteed(lift, ["guest=0"]) > 1.0 - 1e-6
    for name in ("guest=1", "guest=2", "door=1", "level=0"):
        assert guaranteed(lift, [name]) == pytest.approx(guaranteed(lift, []), abs=1e-6)
    everything_else = [
        n for n in lift.mdp.feature_names if n.split("=")[0] in ("level", "at", "door")
    ]
    assert guaranteed(lift, everything_else) < 0.31


def test_a_learner_of_ones_own():
    """That it keeps the contract is what the script prints, if it does."""
    learner = example("own_learner")["Diarist"]()
    [printed] = [shown for _, command, shown in SHOWN if command == "examples/own_learner.py"]
    assert printed.startswith(f"{learner} does what a learner must do.\n")
    chain = ti.worlds.chain(5)
    target = ti.feature_expectations(chain, ti.Policy.deterministic(chain, [1, 1, 1, 1, 0]))
    with pytest.raises(ti.InvalidInputError):
        learner.learn(chain, target[:3])
    learned = learner.learn(chain, target)
    assert learned.mismatch <= learner.tolerance * 10.0


def test_the_warehouse_is_built_by_its_script(tmp_path, monkeypatch):
    folder = EXAMPLES / "warehouse"
    script = runpy.run_path(str(folder / "build.py"))
    monkeypatch.setitem(script["write"].__globals__, "FOLDER", tmp_path)
    script["main"]()
    for table in ("transitions", "features", "start", "map"):
        name = f"{table}.csv"
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
    warehouse, misled = (problem(f"warehouse/{name}") for name in ("warehouse", "misled"))
    assert warehouse.mdp.n_states == 112 and len(warehouse.teachables.names) == 5
    index = warehouse.mdp.feature_index
    assert misled.task.demonstration.expectations[index("delivered")] == pytest.approx(
        0.0, abs=1e-12
    )
    assert warehouse.task.demonstration.expectations[index("delivered")] > 0.5


def test_percent_hides_what_happens_to_people():
    warehouse = problem("warehouse/warehouse")
    task, index = warehouse.task, warehouse.mdp.feature_index("near people")
    # The goal of the file is met by teaching nothing …
    assert guaranteed(warehouse, []) == pytest.approx(0.967, abs=1e-3)
    # … and all of the expert's reward may be lost, among people.
    worst = ti.worst_case(warehouse.mdp, warehouse.worldview, task.weights, task.demonstration)
    assert task.best.value == pytest.approx(9.555, abs=1e-3)
    assert worst.upper == pytest.approx(-0.53, abs=0.01)
    assert task.demonstration.expectations[index] == pytest.approx(0.151, abs=1e-3)
    assert most(warehouse, "near people", []) > 10.0
    # Lines on the floor do not help enough, a camera does.
    assert most(warehouse, "near people", ["lane"]) > 3.0
    assert most(warehouse, "near people", ["near people"]) < 0.152


def example(name):
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def counted(seen, observations):
    """What `imitation` would do, by counting: the chances of actions by the nearest look."""
    shown = np.asarray(observations.features)

    def chances(looks):
        taken = np.zeros((len(looks), seen.n_actions))
        for step, action in enumerate(observations.actions):
            same = np.abs(looks[:, : shown.shape[1]] - shown[step]).max(axis=1, initial=0.0) < 1e-6
            taken[same, action] += 1.0
        return taken

    return chances


def test_a_cloner_keeps_the_contract_and_needs_episodes():
    learner = example("cloner")["Cloner"]()
    check_learner(learner)
    with pytest.raises(ti.InvalidInputError, match="a cloner needs episodes"):
        learner.learn(ti.worlds.chain(3), [0, 0, 0])


def test_a_cloner_that_sees_everything_does_what_it_saw():
    mdp, rng = ti.worlds.gridworld(3), np.random.default_rng(0)
    expert = ti.optimal_policy(mdp, rng.standard_normal(9)).policy
    walks = ti.sample_trajectories(mdp, expert, episodes=50, horizon=9, rng=rng)
    observations, target = ti.Observations.of(mdp, walks), ti.feature_expectations(mdp, expert)
    for learner in (
        example("cloner")["Cloner"](),
        example("imitation_adapter")["Imitator"](lambda seen, shown: counted(seen, dense(shown))),
    ):
        learned = learner.learn(mdp, target, observations=observations)
        assert learned.policy.actions.tolist() == expert.actions.tolist()
        assert learned.mismatch < 1e-9 and learned.status.name == "SETTLED"


def dense(observations):
    return replace(observations, features=observations.features.toarray())


def test_nothing_is_guaranteed_to_a_cloner():
    script = example("cloner")
    taught = script["lesson"](script["Cloner"]())
    below = [each.performance < each.guaranteed for each in taught]
    assert below == [False, True, True, True, True]
    assert all(each.mismatch > 0.1 for each in taught)


def test_the_adapter_keeps_the_contract():
    def trained(seen, observations):
        features = observations.features
        return counted(
            seen, observations if isinstance(features, np.ndarray) else dense(observations)
        )

    check_learner(example("imitation_adapter")["Imitator"](trained))


def test_the_world_to_act_in_is_the_one_that_is_seen():
    """What GAIL and AIRL act in: moves are those of the MDP, and episodes end by its discount."""
    pytest.importorskip("gymnasium")
    mdp = ti.worlds.gridworld(3, slip=0.3, discount=0.9)
    seen = ti.Worldview.select(mdp, ["cell 0", "cell 4"]).observe(mdp)
    world, dynamics = example("imitation_adapter")["seen_world"](seen, 0), mdp.dynamics
    counts, ended = np.zeros((mdp.n_pairs, mdp.n_states)), 0
    world.reset()
    for step in range(4000):
        pair = dynamics.offsets[world.state] + step % mdp.n_actions
        look, reward, over, cut, _ = world.step(step % mdp.n_actions)
        counts[pair, world.state] += 1.0
        assert look.tolist() == seen.features[world.state].tolist()
        assert (reward, cut) == (0.0, False)
        ended += over
    likely = dynamics.transitions.toarray()
    assert not counts[likely == 0.0].any()
    often = counts.sum(axis=1) > 50
    shares = counts[often] / counts[often].sum(axis=1, keepdims=True)
    assert often.sum() > 5 and np.abs(shares - likely[often]).max() < 0.25
    assert 0.08 < ended / 4000 < 0.12
