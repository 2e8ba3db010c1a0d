"""Problem files with several plausible rewards, and what is said of them."""

from __future__ import annotations

import numpy as np
import pytest

import teachirl as ti
from teachirl.app.decisions import OverRewards, assess, over_rewards, plan
from teachirl.app.document.documents import answer
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
    over = over_rewards(problem, found)
    assert isinstance(over, OverRewards)
    assert over.certificate.guaranteed <= found.stakes.performance + 1e-9
    bought = {step.name for step in found.taught}
    assert bought <= {each.name for each in over.worth if each.share > 0}
    assert [each.tried for each in over.worth] == [12] * 4


def test_several_rewards_with_chances(tmp_path):
    rows = "cell 1,cell 5,chance\n-1,1,0.5\n0,1,0.3\n1,0,0.2\n"
    problem = read(tmp_path, '[reward]\nplausible = "opinions.csv"\ntail = 0.2\n', opinions=rows)
    assert problem.rewards.chances.tolist() == [0.5, 0.3, 0.2]
    assert problem.weights == pytest.approx([-0.3, 0, 0, 0, 0.8])
    assert problem.task.rewards is problem.rewards
    document = answer(problem, assess(problem))
    said = contents(document)
    assert said["over_rewards"]["left_out"] == 0.2
    assert any("told further down" in each for each in said["doubts"])
    assert any("under rewards that have 80 % of the chances" in each for each in said["plausible"])
    assert np.shape(said["over_rewards"]["worst_weights"]) == (5,)


def test_samples_of_the_posterior(tmp_path):
    mdp, rng = ti.worlds.chain(5), np.random.default_rng(0)
    right = ti.Policy.deterministic(mdp, [1, 1, 1, 1, 0])
    seen = ti.sample_trajectories(mdp, right, episodes=20, horizon=10, rng=rng)
    ti.write_trajectories(tmp_path / "seen.jsonl", seen, mdp)
    text = '[reward]\ntrajectories = "seen.jsonl"\nposterior = 30\ntail = 0.1\n'
    problem = read(tmp_path, text)
    assert problem.rewards.kind == "sampled" and len(problem.rewards.points) == 30
    assert problem.task.rewards is None and (problem.task.weights == problem.weights).all()
    over = over_rewards(problem, assess(problem))
    assert over.worth == () and over.certificate.beyond == 0.1
    assert over.certificate.confidence == pytest.approx(0.95)


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
    loss, reward = over_rewards(problem, found).goals
    assert loss.amount == pytest.approx(1.2 * lost, rel=1e-4) and reward.met
    assert (loss.met, loss.fails) == (slack == 1.3, slack == 1.1)
    said = contents(answer(problem, found))
    how = "holds under all" if slack == 1.3 else "fails under some"
    assert any(f"That {how} of these: every learner" in each for each in said["plausible"])
    assert [each["met"] for each in said["over_rewards"]["goals"]] == [slack == 1.3, True]
    reason = contents(answer(problem, plan(problem)))["reason"]
    assert reason.endswith("are guaranteed under the weights that it is planned for.")


def test_what_cannot_be_said_of_all_of_them_is_not(tmp_path):
    asked = 'max_loss = "99 %"\nguarantee = 0.01\nbaseline = "uniform"\nlimits = { "cell 2" = 9 }'
    problem = read(tmp_path, f"{WITHIN}[plan]\n{asked}\n")
    found = assess(problem)
    over = over_rewards(problem, found).goals
    assert [(each.goal.kind.value, each.met, each.fails) for each in over] == [
        ("guarantee", None, False),
        ("max_loss", None, False),
    ]
    said = contents(answer(problem, found))["plausible"]
    assert sum("was not looked at" in each for each in said) == 2


def test_worth_buying_asks_for_what_the_file_does(tmp_path):
    """A goal that holds as things stand is one for which nothing is bought."""
    lost = assess(read(tmp_path, WITHIN)).stakes.loss
    for share, buys in ((2.0, False), (0.5, True)):
        problem = read(tmp_path, f"{WITHIN}[plan]\nmax_loss = {share * lost}\n")
        found = plan(problem)
        worth = over_rewards(problem, found).worth
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


def test_one_reward_has_no_such_section(tmp_path):
    problem = read(tmp_path, '[reward.weights]\n"cell 5" = 1.0\n')
    assert problem.rewards is None and over_rewards(problem, assess(problem)) is None
