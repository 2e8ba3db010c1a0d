"""The scripts that draw the learners' page, on small grids: what they record is what is claimed."""

import csv
import runpy
from pathlib import Path

import numpy as np
import pytest

import teachirl as ti

ROOT = Path(__file__).parents[1]
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("learner examples")]


def table(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def check_pictures(folder, names):
    for name in names:
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (folder / f"{name}.svg").read_bytes()
        committed = (ROOT / "docs" / "images" / f"{name}.png").read_bytes()
        assert committed.startswith(b"\x89PNG")
        assert len(committed) <= 100_000


@pytest.fixture(scope="module")
def abbeel_ng(tmp_path_factory):
    folder = tmp_path_factory.mktemp("abbeel_ng")
    script = runpy.run_path(str(ROOT / "examples" / "abbeel_ng.py"))
    return script, script["main"](["--quick", "--out", str(folder)]), folder


def test_the_learners_approach_the_expert(abbeel_ng):
    script, trials, _ = abbeel_ng
    assert len(trials) == 3
    for trial in trials:
        assert list(trial.distances) == ["projection", "max-margin", "min-norm point"]
        for distances in trial.distances.values():
            assert distances.shape == (script["QUICK"].steps + 1,)
            assert distances[0] == trial.distances["projection"][0]
            assert (np.diff(distances) <= 1e-9 * distances[0]).all()
            assert distances[-1] < 0.02 * distances[0]
        # Of the same policies max-margin makes the best; the blocks of starts make more of them.
        last = [distances[-1] for distances in trial.distances.values()]
        assert last[2] <= last[1] and last[2] <= last[0]


def test_performance_rises_with_trajectories(abbeel_ng):
    script, trials, _ = abbeel_ng
    for trial in trials:
        assert 0.0 < trial.blind < 1.0
        for values in trial.performance.values():
            assert values.shape == (len(script["QUICK"].seen),)
            assert values.max() <= 1.0 + 1e-6  # nobody beats the best policy
            assert values[-1] > 0.97
        # Of few trajectories matching makes more than mimicry.
        mimics = trial.performance["mimics the expert"]
        assert trial.performance["projection"][0] > mimics[0] > trial.blind
        assert (np.diff(mimics) > 0.0).all()
    # One trajectory can be lucky, where a single macrocell is worth anything; on average it is not.
    for name in trials[0].performance:
        mean = np.mean([trial.performance[name] for trial in trials], axis=0)
        assert (np.diff(mean) > 0.0).all()


def test_what_is_drawn_is_written(abbeel_ng):
    script, trials, folder = abbeel_ng
    check_pictures(folder, ["abbeel_ng_distance", "abbeel_ng_performance"])
    rows = table(folder / "abbeel_ng_distance.csv")
    assert len(rows) == 3 * 3 * (script["QUICK"].steps + 1)
    last = rows[-1]
    assert (last["trial"], last["learner"]) == ("2", "min-norm point")
    final = trials[2].distances["min-norm point"][-1]
    assert float(last["distance"]) == pytest.approx(final, rel=1e-8)
    rows = table(folder / "abbeel_ng_performance.csv")
    assert len(rows) == 3 * 4 * len(script["QUICK"].seen)
    first = trials[0].performance["projection"][0]
    assert (rows[0]["learner"], rows[0]["trajectories"]) == ("projection", "1")
    assert float(rows[0]["performance"]) == pytest.approx(first, rel=1e-8)


def test_a_trial_can_be_repeated(abbeel_ng):
    script, trials, _ = abbeel_ng
    again = script["run"](script["QUICK"], 0, 1)
    for name, distances in trials[1].distances.items():
        np.testing.assert_array_equal(again.distances[name], distances)
    for name, values in trials[1].performance.items():
        np.testing.assert_array_equal(again.performance[name], values)
    other = script["run"](script["QUICK"], 1, 1)
    assert other.blind != again.blind


def test_weights_are_sparse_and_sum_to_one(abbeel_ng):
    rng = np.random.default_rng(0)
    drawn = np.array([abbeel_ng[0]["sparse_weights"](rng, 64) for _ in range(500)])
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0, rtol=1e-12)
    assert (drawn >= 0.0).all()
    assert 0.08 < (drawn > 0.0).mean() < 0.12
    assert abbeel_ng[0]["sparse_weights"](rng, 1) == [1.0]


def test_a_mimic_does_what_was_seen(abbeel_ng):
    mdp = ti.worlds.chain(5)
    seen = ti.Trajectories.from_arrays(mdp, [[0, 1, 2]], [[1, 1, 0]], [False])
    rows = abbeel_ng[0]["mimic"](mdp, seen).matrix()
    np.testing.assert_allclose(rows, [[0, 1], [0, 1], [1, 0], [0.5, 0.5], [1, 0]])


@pytest.fixture(scope="module")
def convergence(tmp_path_factory):
    folder = tmp_path_factory.mktemp("convergence")
    script = runpy.run_path(str(ROOT / "examples" / "convergence.py"))
    return script, script["main"](["--quick", "--out", str(folder)]), folder


def test_more_exactness_costs_more(convergence):
    script, record, _ = convergence
    assert {run.target for run in record} == set(script["TARGETS"])
    assert {run.learner for run in record} == set(script["LEARNERS"])
    for target in script["TARGETS"]:
        for name in ("Projection", "MaxMargin", "MinNormPoint", "MaxCausalEntropy"):
            mine = [run for run in record if (run.target, run.learner) == (target, name)]
            assert [run.tolerance for run in mine] == [0.1, 0.01, 0.001]
            assert all(run.reached and run.seconds >= 0.0 for run in mine)
            solves = [run.solves for run in mine]
            assert solves == sorted(solves) and solves[-1] > solves[0]
            assert mine[-1].excess < mine[0].excess


def test_the_targets_are_where_they_should_be(convergence):
    problem, learner = convergence[0]["problem"], ti.learners.MinNormPoint()
    for target in ("inside", "corner"):
        task = problem(target, np.random.default_rng(0), 8, 5)
        assert learner.learn(task.seen, task.target).status is ti.learners.LearnStatus.MATCHED
        assert task.least == 0.0
    task = problem("outside", np.random.default_rng(0), 8, 5)
    found = learner.learn(task.seen, task.target)
    assert found.status is ti.learners.LearnStatus.NEAREST
    assert found.mismatch == pytest.approx(task.least, rel=1e-6)
    assert task.least > 0.0


def test_costs_are_medians_of_those_who_got_there(convergence):
    script, record, folder = convergence
    run = script["Run"]
    made = [
        run("inside", "Projection", 0, 0.1, 0.05, 3, 1.0),
        run("inside", "Projection", 1, 0.1, 0.10, 5, 2.0),
        run("inside", "Projection", 0, 0.01, 0.01, 30, 1.0),
        run("inside", "Projection", 1, 0.01, 0.02, 99, 2.0),
    ]
    np.testing.assert_array_equal(
        script["costs"](made, "inside", "Projection", "solves"), [[0.1, 4]]
    )
    assert script["costs"](made, "corner", "Projection", "solves").shape == (0, 2)
    rows = table(folder / "convergence.csv")
    assert [row["learner"] for row in rows] == [run.learner for run in record]
    check_pictures(folder, ["convergence"])
