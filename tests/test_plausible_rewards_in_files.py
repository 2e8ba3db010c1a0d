"""Problem files with several plausible rewards, and what is said of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import teachirl as ti
from teachirl.app.decisions import OverRewards, assess, frontier, plan
from teachirl.app.document.documents import answer, report
from teachirl.app.render.html import page
from teachirl.app.render.json import contents

REST = """
[learner]
sees = ["cell 3"]
[teach]
features = "all"
"""
CHAIN = '[world]\nname = "chain"\n'


def read(tmp_path, reward, **files):
    for name, text in files.items():
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    path = tmp_path / "problem.toml"
    path.write_text(CHAIN + reward + REST, encoding="utf-8")
    return ti.read_problem(path)


def test_weights_within_a_share(tmp_path):
    text = '[reward]\nwithin = 0.2\n[reward.weights]\n"cell 1" = -1.0\n"cell 5" = 1.0\n'
    problem = read(tmp_path, text)
    assert problem.rewards.kind == "box" and problem.rewards.root.max() == 0.2
    assert (problem.rewards.mean == problem.weights).all()
    found = plan(problem)
    over = found.over_rewards
    assert isinstance(over, OverRewards)
    assert over.certificate.guaranteed <= found.stakes.performance + 1e-9
    bought = {step.name for step in found.taught}
    assert bought <= {each.name for each in found.worth_buying if each.share > 0}
    assert [each.tried for each in found.worth_buying] == [12] * 4
    off = "any reward with each of 2 weights off by up to 20 %"
    assert problem.rewards.sentence == off
    assert any(f"({off})" in each for each in contents(answer(problem, found))["doubts"])


def test_a_frontier_promises_no_section_that_it_has_not(tmp_path):
    text = '[reward]\nwithin = 0.2\n[reward.weights]\n"cell 1" = -1.0\n"cell 5" = 1.0\n'
    problem = read(tmp_path, text)
    (doubt,) = (
        each
        for each in contents(answer(problem, frontier(problem)))["doubts"]
        if "not known exactly" in each
    )
    assert "further down" not in doubt
    assert "teachirl certify tells as things stand, teachirl teach after its plan" in doubt


def test_several_rewards_with_chances(tmp_path):
    rows = "cell 1,cell 5,chance\n-1,1,0.5\n0,1,0.3\n1,0,0.2\n"
    text = '[plan]\nguarantee = 0.0\n[reward]\nplausible = "opinions.csv"\ntail = 0.2\n'
    problem = read(tmp_path, text, opinions=rows)
    assert problem.rewards.chances.tolist() == [0.5, 0.3, 0.2]
    assert problem.weights == pytest.approx([-0.3, 0, 0, 0, 0.8])
    assert problem.task.rewards is problem.rewards
    document = answer(problem, assess(problem))
    said = contents(document)
    assert said["over_rewards"]["left_out"] == 0.2
    assert any("told further down" in each for each in said["doubts"])
    assert any("under rewards that have 80 % of the chances" in each for each in said["plausible"])
    assert any("holds under all of these but the worst 20 %" in each for each in said["plausible"])
    assert np.shape(said["over_rewards"]["worst_weights"]) == (5,)


def test_what_to_show_for_all_of_them_may_be_a_mixture(tmp_path):
    rows = "cell 1,cell 5\n1,0\n0,1\n"
    text = '[demonstration]\nshow = "choose"\n[reward]\nplausible = "opinions.csv"\n'
    path = read(tmp_path, text, opinions=rows).path
    path.write_text(path.read_text().replace('"cell 3"', '"cell 1", "cell 5"'))
    problem = ti.read_problem(path)
    found = assess(problem)
    instead = found.over_rewards.instead
    assert instead.guaranteed > found.over_rewards.certificate.lower + 0.05
    said = contents(answer(problem, found))["plausible"]
    assert any("Chosen for all of these: show a mixture of 2 policies" in each for each in said)


def test_samples_of_the_posterior(tmp_path):
    mdp, rng = ti.worlds.chain(5), np.random.default_rng(0)
    right = ti.Policy.deterministic(mdp, [1, 1, 1, 1, 0])
    seen = ti.sample_trajectories(mdp, right, episodes=20, horizon=10, rng=rng)
    ti.write_trajectories(tmp_path / "seen.jsonl", seen, mdp)
    text = '[reward]\ntrajectories = "seen.jsonl"\nposterior = 30\ntail = 0.1\n'
    problem = read(tmp_path, text)
    assert problem.rewards.kind == "sampled" and len(problem.rewards.points) == 30
    assert problem.task.rewards is None and (problem.task.weights == problem.weights).all()
    over = assess(problem).over_rewards
    assert over.certificate.beyond == 0.1
    assert over.certificate.confidence == pytest.approx(0.95)


def test_no_range_and_no_posterior_where_no_weights_explain_the_choices(tmp_path):
    mdp, rng = ti.worlds.gridworld(4, block=2), np.random.default_rng(0)
    anyhow = ti.Policy.deterministic(mdp, rng.integers(4, size=16))
    seen = ti.sample_trajectories(mdp, anyhow, episodes=40, horizon=20, rng=rng)
    ti.write_trajectories(tmp_path / "seen.jsonl", seen, mdp)
    world = '[world]\nname = "gridworld"\nsize = 4\nblock = 2\n'
    reward, path = '[reward]\ntrajectories = "seen.jsonl"\n', tmp_path / "problem.toml"
    path.write_text(world + reward + REST, encoding="utf-8")
    problem = ti.read_problem(path)
    standing = assess(problem)
    for found in (standing, plan(problem)):
        assert found.doubt is None
        told = page(answer(problem, found))
        assert told.count("a search found no weights under which") == 2
        for unfounded in ("as plausible", "either sign", "other plausible weights", "at least,"):
            assert unfounded not in told
    weights = contents(answer(problem, standing))["weights"]
    assert all(each["lower"] is None and each["upper"] is None for each in weights)
    path.write_text(world + reward + "posterior = 9\n" + REST, encoding="utf-8")
    with pytest.raises(ti.FileFormatError, match="posterior: there is nothing to draw from"):
        answer(ti.read_problem(path), assess(ti.read_problem(path)))


@pytest.mark.parametrize(
    ("reward", "rows", "message"),
    [
        ('plausible = "opinions.csv"', "cel 1\n1\n", "no feature 'cel 1'; did you mean 'cell 1'"),
        ('plausible = "opinions.csv"', "chance\n1\n", "at least one reward"),
        ('plausible = "opinions.csv"', "cell 1\n1\n-1\n", "cancel out in the mean"),
        ('plausible = "opinions.csv"', "cell 1,chance\n1,0.4\n", "chances must sum to 1"),
        ('plausible = "opinions.csv"\nwithin = 0.1', "cell 1\n1\n", "within is for weights only"),
        ('plausible = "opinions.csv"\nposterior = 9', "cell 1\n1\n", "posterior is for traj"),
        ('tail = 0.1\nweights = { "cell 1" = 1.0 }', "", "tail is for plausible or posterior"),
        ('within = 0.0\nweights = { "cell 1" = 1.0 }', "", "within"),
    ],
)
def test_mistakes_have_their_place(tmp_path, reward, rows, message):
    with pytest.raises(ti.FileFormatError, match=message):
        read(tmp_path, f"[reward]\n{reward}\n", opinions=rows)


WITHIN = '[reward]\nwithin = 0.2\n[reward.weights]\n"cell 1" = -1.0\n"cell 5" = 1.0\n'


@pytest.mark.parametrize("slack", [1.1, 1.3])
def test_a_loss_is_asked_for_under_all_of_them(tmp_path, slack):
    """Each weight may be a fifth larger, and so may the loss be."""
    lost = assess(read(tmp_path, WITHIN)).stakes.loss
    problem = read(tmp_path, f"{WITHIN}[plan]\nmax_loss = {slack * lost}\nat_least = -99\n")
    found = assess(problem)
    assert found.stakes.met and plan(problem).reached
    loss, reward = found.over_rewards.goals
    assert loss.amount == pytest.approx(1.2 * lost, rel=1e-4) and reward.met
    assert (loss.met, loss.fails) == (slack == 1.3, slack == 1.1)
    said = contents(answer(problem, found))
    how = "holds under all" if slack == 1.3 else "fails under some"
    assert any(f"That {how} of these: every learner" in each for each in said["plausible"])
    assert [each["met"] for each in said["over_rewards"]["goals"]] == [slack == 1.3, True]
    planned = contents(answer(problem, plan(problem)))
    assert planned["reason"].endswith("are guaranteed under the weights that it is planned for.")
    fails = "Under some plausible rewards this fails, which was asked for: a loss of at most "
    holds = "Under all plausible rewards this holds, as asked for: "
    for told in (said["under_all_rewards"], planned["under_all_rewards"]):
        assert told.startswith(holds if slack == 1.3 else fails)
        assert ("can be lost under one of them" in told) == (slack == 1.1)
        assert f"{holds}a reward of at least −99." in told or slack == 1.3
    # In short, wherever that is.
    first = next(iter(report(problem, found, plan(problem)).sections))
    assert said["under_all_rewards"] in str(first)


def test_what_cannot_be_said_of_all_of_them_is_not(tmp_path):
    asked = 'guarantee = 0.01\nbaseline = "uniform"\nlimits = { "cell 2" = 9 }'
    problem = read(tmp_path, f"{WITHIN}[plan]\n{asked}\n")
    found = assess(problem)
    over = found.over_rewards.goals
    assert [(each.goal.kind.value, each.met, each.fails) for each in over] == [
        ("guarantee", None, False),
    ]
    said = contents(answer(problem, found))["plausible"]
    [why] = [each for each in said if "was not looked at" in each]
    assert why.endswith("as 0 % is then another reward under each of them.")


SEES_AN_END = WITHIN.replace("-1.0", "-0.1")


def test_a_share_of_what_is_earned_is_looked_at_under_all_of_them(tmp_path):
    """Against the loss and the expert's reward under each corner of the box."""
    for share in (0.5, 1.2, 3.0):
        text = f'{SEES_AN_END}[plan]\nmax_loss = "{100 * share:g} %"\n'
        problem = read(tmp_path, text)
        found = assess(problem)
        [loss] = found.over_rewards.goals
        expert, worst = problem.expert.expectations, []
        for corner in itertools.product((0.8, 1.2), repeat=2):
            weights = problem.weights.copy()
            weights[[0, 4]] *= corner
            least = ti.worst_case(problem.mdp, problem.worldview, weights, problem.expert)
            worst.append((weights @ expert - least.upper) / abs(weights @ expert))
        if loss.met:
            assert max(worst) <= share
        assert loss.met == (share == 3.0), (share, worst)
        [told] = [each for each in contents(answer(problem, found))["plausible"] if "loss" in each]
        assert f"a loss of at most {100 * share:g} % of what the expert earns. That" in told


@pytest.mark.parametrize("share", [0.3, 0.9, 1.5, 2.5])
def test_a_share_under_listed_rewards_is_that_of_each(tmp_path, share):
    rows = "cell 1,cell 5\n-1,1\n-0.2,1\n"
    text = f'[reward]\nplausible = "opinions.csv"\n[plan]\nmax_loss = "{100 * share:g} %"\n'
    problem = read(tmp_path, text, opinions=rows)
    [loss] = assess(problem).over_rewards.goals
    expert, lost = problem.expert.expectations, []
    for weights in problem.rewards.points:
        least = ti.worst_case(problem.mdp, problem.worldview, weights, problem.expert)
        lost.append((weights @ expert - least.upper) / abs(weights @ expert))
    assert not (loss.met and max(lost) > share) and not (loss.fails and max(lost) < share - 1e-6)
    assert loss.met or loss.fails or min(lost) < share


def test_worth_buying_asks_for_what_the_file_does(tmp_path):
    """A goal that holds as things stand is one for which nothing is bought."""
    lost = assess(read(tmp_path, WITHIN)).stakes.loss
    for share, buys in ((2.0, False), (0.5, True)):
        problem = read(tmp_path, f"{WITHIN}[plan]\nmax_loss = {share * lost}\n")
        found = plan(problem)
        worth = found.worth_buying
        assert bool(found.taught) == any(each.share > 0 for each in worth) == buys


def test_what_a_plan_turns_out_not_to_need_is_not_worth_buying():
    """A bell tells the worse of two spills for little; a lamp, dearer, tells both."""
    moves = np.ones((1, 3, 1))
    features = np.array([[[0.0, 0.0], [2.0, 1.0], [1.0, 0.0]]])  # spilt, bell
    world = ti.MDP.from_arrays(moves, features, discount=0.5, first="state")
    several = ti.Rewards.listed([[-1.0, 0.0], [-2.0, 0.0]])
    blind = ti.Worldview(np.zeros((0, 2)))
    task = ti.Task(world, several, blind, np.eye(2), costs=[5.0, 0.1], names=["lamp", "bell"])
    rng = np.random.default_rng(0)
    planned = ti.teach(
        task,
        ti.teachers.GapGreedy(),
        ti.learners.MinNormPoint(),
        rng=rng,
        max_cost=99.0,
        tolerance=-1.0,
    )
    assert [task.names[each.taught] for each in planned.rounds[1:]] == ["bell", "lamp"]
    for until, bought in ((None, ["lamp"]), (1.0, ["lamp"]), (0.4, ["bell"])):
        found = ti.worth_buying(task, ti.teachers.GapGreedy(), rng=rng, until=until, max_cost=99.0)
        assert [each.name for each in found if each.share > 0] == bought


@pytest.mark.parametrize("goal", ["", "guarantee = 0.9\n"])
def test_money_that_is_never_short_changes_nothing_of_what_is_worth_buying(tmp_path, goal):
    """Prices count with a `max_cost` and without one."""
    priced = WITHIN + "".join(
        f'[[teach.feature]]\nname = "cell {i}"\ncost = {cost}\n'
        for i, cost in ((1, 8.0), (2, 1.0), (4, 3.0), (5, 5.0))
    )
    found = []
    for limit in ("", "max_cost = 99.0\n"):
        problem = read(tmp_path, f"{priced}[plan]\n{goal}{limit}")
        planned = plan(problem)
        found.append((planned.taught, planned.worth_buying))
    assert found[0] == found[1] and any(each.share > 0 for each in found[0][1])


def test_one_reward_has_no_such_section(tmp_path):
    problem = read(tmp_path, '[reward.weights]\n"cell 5" = 1.0\n')
    assert problem.rewards is None and assess(problem).over_rewards is None


def cheapest(problem, weights, guarantee):
    """The features of the cheapest set with so much, or with what is shown has itself, by all
    sets; each by an exact worst case."""
    task = problem.task.with_weights(weights)
    shown, found = task.demonstration, []
    guarantee = min(guarantee, task.relative(weights @ shown.expectations) - 1e-6)
    for count in range(len(task.names) + 1):
        for chosen in itertools.combinations(range(len(task.names)), count):
            view = task.worldview.extend(task.teachable[list(chosen)]) if chosen else task.worldview
            if task.guaranteed(view, shown, problem.matching) >= guarantee - 1e-9:
                found.append((float(task.costs[list(chosen)].sum()), count, chosen))
    return min(found)


@pytest.mark.parametrize("seed", range(4))
def test_plans_for_other_rewards_are_the_cheapest_there_are(tmp_path, seed):
    """Against all sets of features, for all rewards that are listed."""
    rng = np.random.default_rng(seed)
    world = '[world]\nname = "gridworld"\nsize = 4\nblock = 2\nslip = 0.2\n'
    rows = rng.normal(size=(5, 4)).round(3)
    table = "\n".join(",".join(map(str, row)) for row in rows)
    (tmp_path / "opinions.csv").write_text(f"{','.join(f'cell {i}' for i in range(4))}\n{table}\n")
    text = world + '[reward]\nplausible = "opinions.csv"\n[learner]\nsees = []\n'
    for i, cost in enumerate(rng.integers(1, 9, size=4)):
        text += f'[[teach.feature]]\nname = "cell {i}"\ncost = {cost}.5\n'
    mixed = (
        "{ " + ", ".join(f'"cell {i}" = {w:.2f}' for i, w in enumerate(rows.mean(axis=0))) + " }"
    )
    text += f'[[teach.feature]]\nname = "mixed"\ncost = 7.25\nweights = {mixed}\n'
    path = tmp_path / "problem.toml"
    path.write_text(f"{text}[plan]\nguarantee = 0.7\n")
    problem = ti.read_problem(path)
    found = plan(problem).worth_buying
    assert {(each.tried, each.exact) for each in found} == {(5, 5)}
    bought = [cheapest(problem, row, 0.7)[-1] for row in rows]
    shares = [np.mean([i in each for each in bought]) for i in range(5)]
    assert [each.share for each in found] == pytest.approx(shares)
