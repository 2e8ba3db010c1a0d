"""The experiments as data: their units repeat, their analyses say what the numbers say."""

import itertools
import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import teachirl as ti
from teachirl.figures.records import Verdict
from teachirl.study.experiments import (
    BUILT_IN,
    Experiment,
    Result,
    Results,
    chain,
    figure_3,
    figure_4,
    figure_5,
    figure_6,
    find,
    ladder,
    samples,
    showing,
    unknown_worldview,
)
from teachirl.study.experiments.experiment import job_text, perform
from teachirl.study.experiments.statistics import Evidence, more_spread, mostly, paired


def results_of(experiment, settings):
    units = experiment.units(settings)
    found = Results([(unit, experiment.run(settings, **unit)) for unit in units])
    for unit, result in found.pairs:  # which are columns of one table when they are exported
        assert set(unit).isdisjoint([*result.values, *result.seconds, "index"])
    return found


@pytest.mark.parametrize("name", BUILT_IN)
def test_units_are_distinct_and_settings_survive_json(name):
    experiment = find(name)
    for settings in (experiment.full, experiment.quick):
        units = experiment.units(settings)
        assert len({json.dumps(unit, sort_keys=True) for unit in units}) == len(units) > 0
        again = experiment.settings(json.loads(json.dumps(asdict(settings))))
        assert again == settings
        assert experiment.units(again) == units


def test_the_paper_s_sizes():
    three, four, five = (find(f"fig{number}").full for number in (3, 4, 5))
    assert (three.size, three.block, three.discounts) == (20, 2, (0.5, 0.75, 0.9))
    assert [unit["rows"] for unit in figure_3.units(three)] == 3 * list(range(1, 101))
    assert three.draws == 5
    assert (four.size, four.block, four.goals, four.obstacles) == (10, 2, (4, 9), (18, 23))
    assert (four.rows, four.trials) == (5, 100)
    assert (five.size, five.block, five.discount, five.teachable) == (20, 2, 0.9, 70)
    assert (five.rows, five.trials) == (5, 100)


def test_figure_2_comes_with_figure_1():
    assert find("fig2") is find("fig1")


def test_who_is_not_there():
    with pytest.raises(ti.InvalidInputError, match="no experiment 'fig9'; there are fig1, fig3"):
        find("fig9")
    for name in ("mine:MINE", "teachirl.study.experiments.figure_4:FIGURE_4"):
        with pytest.raises(ti.InvalidInputError, match=r"and your own as FILE\.py:NAME"):
            find(name)
    with pytest.raises(ti.InvalidInputError, match="there is no file"):
        find("nowhere.py:MINE")
    with pytest.raises(ti.InvalidInputError, match="has no Experiment called 'TRIALS'"):
        find("tests/test_engine.py:TRIALS".replace("tests/", f"{__file__.rsplit('/', 1)[0]}/"))
    with pytest.raises(ti.InvalidInputError, match=r"there are no settings \['sise'\]"):
        find("fig5").settings({"sise": 3})


def test_results_are_small_tables():
    result = Result({"x": np.array([1.0, np.nan]), "n": np.int64(3)}, {"t": [0.5, 0.25]})
    assert result.values == {"x": [1.0, None], "n": 3}
    with pytest.raises(ti.InvalidInputError, match="lists must have one length"):
        Result({"x": [1, 2], "y": [1, 2, 3]})
    with pytest.raises(ti.InvalidInputError, match="x must be finite"):
        Result({"x": [1.0, float("inf")]})
    with pytest.raises(ti.InvalidInputError, match="x must hold numbers and texts, got dict"):
        Result({"x": {}})
    both = Results([({"trial": 0, "who": "a"}, result), ({"trial": 1, "who": "b"}, result)])
    assert np.array_equal(both.array("x", who="b"), [[1.0, np.nan]], equal_nan=True)
    assert both.array("t").shape == (2, 2)
    assert both.coordinate("trial").tolist() == [0.0, 1.0]


# What each experiment computes, at sizes where it can be checked.

TABLE = {  # of math.md: R of the four policies, worst cases of π*, π₀ and the best demonstration
    0.5: (0.3057, 0.1054, -0.1054, -0.3057, -0.3057, -0.1054, -0.0843),
    0.9: (3.9240, 1.3242, -1.3242, -3.9240, -3.9240, -1.3242, -0.8388),
}


def test_the_chain_s_table_and_claims():
    results = results_of(chain.CHAIN, chain.CHAIN.full)
    for unit, result in results.pairs:
        known = chain._named(result.values)
        worst = [result.values[f"worst of {each}"] for each in ("π*", "π₀", "the best")]
        row = [*(known[name][0] for name in chain.NAMED), *worst]
        assert row == pytest.approx(TABLE[unit["discount"]], abs=5e-5)
        assert result.values["diameter from"] <= result.values["diameter to"]
    findings = chain.CHAIN.analyse(chain.CHAIN.full, results)
    assert {claim.verdict for claim in findings.claims} == {Verdict.HOLDS}
    assert [figure.name for figure in findings.figures] == ["figure_1", "figure_2"]
    assert "| 0.9 | 3.9240, 0.5420 | 1.3242, 4.6526 |" in findings.tables[0]


def test_a_claim_about_the_chain_can_fail():
    results = results_of(chain.CHAIN, chain.CHAIN.full)
    values = results.pairs[0][1].values
    values["looks"][values["actions"].index("11010")] = chain._named(values)["π*"][1]
    findings = chain.CHAIN.analyse(chain.CHAIN.full, results)
    failed = [claim for claim in findings.claims if claim.verdict is Verdict.FAILS]
    assert [claim.measured for claim in failed] == ["3 of 8 policies look alike"]


@pytest.mark.parametrize("seed", range(4))
def test_polygons_are_hulls_of_all_deterministic_policies(seed):
    mdp = ti.worlds.garnet(np.random.default_rng(seed), 5, 2, branching=2, n_features=2)
    policies = (
        ti.Policy.deterministic(mdp, actions) for actions in itertools.product((0, 1), repeat=5)
    )
    points = np.array([ti.feature_expectations(mdp, policy) for policy in policies])
    wanted = points[ConvexHull(points).vertices]
    corners = figure_6.polygon(mdp)
    assert len(corners) == len(wanted)
    gaps = np.linalg.norm(corners[:, None] - wanted[None], axis=2)
    assert gaps.min(axis=0).max() < 1e-9
    assert gaps.min(axis=1).max() < 1e-9
    turns = [
        np.cross([*(b - a), 0], [*(c - b), 0])[2]
        for a, b, c in zip(corners, np.roll(corners, -1, 0), np.roll(corners, -2, 0), strict=True)
    ]
    assert min(turns) > 0


def test_a_polygon_with_no_inside():
    """All policies look the same, or differ along one line only."""
    transitions = np.zeros((2, 2, 2))
    transitions[:, 0, 0] = transitions[:, 1, 1] = 1.0
    line = ti.MDP.from_arrays(
        transitions, np.array([[0.0, 0.0], [1.0, 2.0]]), discount=0.5, first="state"
    )
    assert len(figure_6.polygon(line)) == 2
    flat = ti.MDP.from_arrays(transitions, np.zeros((2, 2)), discount=0.5, first="state")
    assert len(figure_6.polygon(flat)) <= 1


def test_figure_6_finds_what_looks_optimal():
    findings = figure_6.FIGURE_6.analyse(
        figure_6.FIGURE_6.full, results_of(figure_6.FIGURE_6, figure_6.FIGURE_6.full)
    )
    only, proposition = findings.claims
    assert only.verdict is Verdict.HOLDS
    assert proposition.verdict is Verdict.FAILS  # M is a polygon
    square = Results([({}, Result({"x": [0, 1, 1, 0], "y": [0, 0, 1, 1]}))])
    only, _ = figure_6.FIGURE_6.analyse(figure_6.FIGURE_6.full, square).claims
    assert only.verdict is Verdict.FAILS  # two corners over each end


def test_normal_cones():
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    cones = [figure_6._normal_cone(square, place) for place in range(4)]
    assert cones == pytest.approx([np.pi / 2] * 4)


def test_figure_4_picks_what_lowers_the_risk_most():
    settings = figure_4.Settings(trials=4, trials_a_unit=2)
    made = figure_4.world(settings)
    results = results_of(figure_4.FIGURE_4, settings)
    picks = [
        pair
        for _, result in results.pairs
        for pair in zip(result.values["first"], result.values["second"], strict=True)
    ]
    for trial, pair in enumerate(picks):
        rng = np.random.default_rng([settings.seed, 1, trial])
        view = ti.Worldview(rng.standard_normal((5, 25)))
        for pick in pair:
            risks = [ti.teaching_risk(view.extend(row), made.weights) for row in np.eye(25)]
            assert pick == np.argmin(risks)
            view = view.extend(np.eye(25)[pick])
    panels = figure_4.FIGURE_4.analyse(settings, results).figures[0].panels
    assert sum(panels[1].marks[0].heights) == sum(panels[2].marks[0].heights) == 4


def test_figure_3_is_about_matching_learners():
    settings = figure_3.Settings(size=6, every=4, draws=2, max_steps=5000, tolerance=1e-8)
    results = results_of(figure_3.FIGURE_3, settings)
    assert len(results.pairs) == 3 * 3
    assert results.array("risk", rows=9).max() < 1e-9  # it sees all
    assert results.array("performance", rows=9).min() > 1.0 - 1e-5  # so it earns all
    assert (results.array("gap") <= results.array("theorem 1 to") + 1e-9).all()
    assert (results.array("theorem 1 from") <= results.array("theorem 1 to")).all()
    assert (results.array("performance") <= 1.0 + 1e-9).all()
    findings = figure_3.FIGURE_3.analyse(settings, results)
    assert len(findings.figures[0].panels) == 3
    assert len(findings.claims) == 12


SMALL_5 = figure_5.Settings(
    size=6, block=2, teachable=5, rows=2, trials=2, certified=2, certified_every=2
)


def test_figure_5_is_the_lesson():
    results = results_of(figure_5.FIGURE_5, SMALL_5)
    assert [unit["teacher"] for unit, _ in results.pairs] == [
        *figure_5.TEACHERS,
        *figure_5.TEACHERS,
    ]
    [(_, found)] = results.where(trial=1, teacher="TRGreedy").pairs
    mdp = ti.worlds.gridworld(6, 2)
    rng = np.random.default_rng([SMALL_5.seed, 1])
    weights = rng.standard_normal(9)
    view = ti.Worldview(rng.standard_normal((2, 9)))
    chosen = rng.choice(9, 5, replace=False)
    task = ti.Task(mdp, weights / np.linalg.norm(weights), view, np.eye(9)[chosen])
    learner = ti.learners.Projection(1e-2)
    lesson = ti.teach(task, ti.teachers.TRGreedy(), learner, rng=rng, tolerance=-1.0)
    assert found.values["taught"] == [-1, *lesson.taught]
    assert found.values["performance"] == [each.performance for each in lesson.rounds]
    assert found.values["risk"] == [each.risk for each in lesson.rounds]
    computed = [each is not None for each in found.values["guaranteed"]]
    assert computed == [True, True, True, False, True, False]
    wanted = [each.guaranteed for each in lesson.rounds]
    for place in (0, 1, 2, 4):
        assert found.values["guaranteed"][place] == pytest.approx(wanted[place], abs=1e-6)
    assert len(found.seconds["choosing"]) == 6


def test_units_repeat_to_the_last_bit():
    for name, settings, unit in (
        ("fig5", SMALL_5, {"trial": 0, "teacher": "PerfGreedy"}),
        ("fig5", SMALL_5, {"trial": 0, "teacher": "Random"}),
        (
            "showing",
            showing.Settings(size=6, teachable=3, rounds=1, rows=2),
            {"trial": 1, "teacher": "JointGreedy"},
        ),
    ):
        text = job_text(name, settings, unit)
        first, second = (json.loads(perform(text)) for _ in range(2))
        assert first["values"] == second["values"]


def made_up(**performance):
    """Results of Figure 5 in which each teacher has a constant performance in a trial."""
    rng = np.random.default_rng(0)
    noise = rng.normal(0.0, 0.01, 40)
    pairs = []
    for trial in range(40):
        for teacher, mean in performance.items():
            values = [mean + noise[trial]] * 3
            times = [0.001 if teacher != "PerfGreedy" else 0.1] * 3
            table = {"performance": values, "risk": values, "guaranteed": values}
            unit = {"trial": trial, "teacher": teacher}
            pairs.append((unit, Result(table, {"choosing": times, "learning": times})))
    return Results(pairs)


def test_figure_5_s_claims_follow_the_numbers():
    settings = replace(SMALL_5, teachable=2, trials=40, certified_every=1)

    def verdicts(**performance):
        claims = figure_5.FIGURE_5.analyse(settings, made_up(**performance)).claims
        return [claim.verdict.name for claim in claims]

    good = {"TRGreedy": 0.7, "PerfGreedy": 0.8, "Random": 0.5, "GapGreedy": 0.9}
    # As much is guaranteed as is simulated here, so that two claims have nothing to show.
    assert verdicts(**good) == ["HOLDS"] * 3 + ["FAILS"] * 2 + ["HOLDS"] * 3
    assert verdicts(**{**good, "Random": 0.75})[0] == "FAILS"
    assert verdicts(**{**good, "PerfGreedy": 0.6})[1] == "FAILS"
    assert verdicts(**{**good, "PerfGreedy": 0.7})[1] == "UNDECIDED"
    assert verdicts(**{**good, "PerfGreedy": 0.95})[1] == "FAILS"  # that is not slightly
    assert verdicts(**{**good, "GapGreedy": 0.6})[5:] == ["FAILS", "FAILS", "HOLDS"]


def test_the_ladder_has_an_order():
    settings = ladder.Settings(size=6, rows=(2, 5, 8), draws=2)
    results = results_of(ladder.LADDER, settings)
    first, second, third = (results.array(name) for name in ladder.RUNGS)
    assert (first <= second + 1e-9).all()
    assert (second <= third + 1e-9).all()
    order, _ = ladder.LADDER.analyse(settings, results).claims
    assert order.verdict is Verdict.HOLDS
    values = results.pairs[0][1].values
    values["width"] = values["exact"] + 0.1
    order, _ = ladder.LADDER.analyse(settings, results).claims
    assert order.verdict is Verdict.FAILS


def test_samples_guarantee_less_than_the_truth():
    settings = samples.Settings(size=6, seen=6, episodes=(50, 5000), trials=2)
    results = results_of(samples.SAMPLES, settings)
    exact = results.array("exact")[:, None]
    assert (results.array("guaranteed") <= exact + 1e-9).all()
    assert (results.array("guaranteed") <= results.array("performance") + 1e-9).all()
    assert (np.diff(results.array("allowed"), axis=1) < 0).all()
    findings = samples.SAMPLES.analyse(settings, results)
    assert {claim.verdict for claim in findings.claims} == {Verdict.HOLDS}


def test_showing_starts_from_a_better_demonstration():
    settings = showing.Settings(size=6, teachable=3, rounds=1, rows=2, trials=2)
    results = results_of(showing.SHOWING, settings)
    chosen = results.array("guaranteed", teacher="JointGreedy")
    expert = results.array("guaranteed", teacher="GapGreedy")
    assert chosen.shape == expert.shape == (2, 2)
    assert (chosen[:, 0] >= expert[:, 0] - 1e-6).all()


def test_tests_of_claims():
    rng = np.random.default_rng(1)
    a = rng.normal(0.0, 1.0, 60)
    assert paired(a + 1.0, a).verdict is Verdict.HOLDS
    assert paired(a, a + 1.0).verdict is Verdict.FAILS
    assert paired(a, a).verdict is Verdict.UNDECIDED
    assert more_spread(3 * a, a).verdict is Verdict.HOLDS
    assert more_spread(a, 3 * a).verdict is Verdict.FAILS
    # One far off makes a variance, but no spread.
    b = rng.normal(0.0, 1.0, 250)
    assert more_spread(np.append(0.01 * b, 30.0), b).verdict is Verdict.FAILS
    assert mostly(45, 60).verdict is Verdict.HOLDS
    assert mostly(15, 60).verdict is Verdict.FAILS
    assert mostly(30, 60).verdict is Verdict.UNDECIDED
    assert str(Evidence("some test", 0.02)) == "some test, p = 0.02"
    assert str(Evidence("some test", 1e-9)) == "some test, p < 1e-6"


def test_an_experiment_of_one_s_own_is_an_entry(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from dataclasses import dataclass\n"
        "from teachirl.study.experiments import Experiment, Result\n"
        "from teachirl.figures.records import Findings\n"
        "@dataclass(frozen=True)\n"
        "class Settings:\n"
        "    sizes: tuple[int, ...] = (2, 3)\n"
        "MINE = Experiment('mine', Settings(), Settings((2,)),\n"
        "    lambda s: [{'size': size} for size in s.sizes],\n"
        "    lambda s, size: Result({'square': size**2}),\n"
        "    lambda s, results: Findings(()))\n"
    )
    mine = find(f"{file}:MINE")
    assert isinstance(mine, Experiment)
    assert find(f"{file}:MINE") is mine
    text = job_text(f"{file}:MINE", mine.full, {"size": 3})
    assert json.loads(perform(text)) == {"values": {"square": 9}, "seconds": {}}


def test_the_worldview_is_found():
    settings = unknown_worldview.Settings(
        worlds=("chain",),
        learners=("nearest", "lucky"),
        trials=2,
        cost_worlds=("chain",),
        cost_trials=2,
        draws=4,
        block=2,
    )
    results = results_of(unknown_worldview.UNKNOWN_WORLDVIEW, settings)
    found = unknown_worldview.UNKNOWN_WORLDVIEW.analyse(settings, results)
    identified, sound, cost, _, valid = found.claims
    assert {each.verdict for each in (identified, sound, cost, valid)} == {Verdict.HOLDS}
    assert "chain | nearest" in found.tables[0] and "chain | lucky" in found.tables[1]
    assert results.where(kind="null").array("p").shape == (4, 2)
    # A learner who is proved to have what it lacks is noticed.
    wrong = [
        (unit, Result({**result.values, "wrongly proved": 1.0}))
        if unit["kind"] == "probes"
        else (unit, result)
        for unit, result in results.pairs
    ]
    again = unknown_worldview.UNKNOWN_WORLDVIEW.analyse(settings, Results(wrong))
    assert again.claims[1].verdict is Verdict.FAILS
