"""Goals: amounts of reward, of loss and of single features, and what counts as 0."""

from types import SimpleNamespace

import numpy as np
import pytest

import teachirl as ti
from exact_lp import expectations, worst_case
from problem_files import TOML, copied, message_of
from teachirl.app.decisions import Known
from teachirl.app.document.charts import frontier_figure, sensitivity_figure
from teachirl.app.document.live import live_table
from teachirl.app.problem import read_problem
from teachirl.teaching.goal import Promise

WEIGHTS = np.array([-1.0, 0.0, 0.0, 0.0, 2.0])


@pytest.fixture(scope="module")
def chain():
    mdp = ti.worlds.chain(5)
    return ti.Task(mdp, WEIGHTS, ti.Worldview.select(mdp, ["cell 3"]), np.eye(5))


def test_amounts_are_those_of_the_worst_case_of_each(chain):
    limits = (ti.Limit("cell 1", at_most=0.5), ti.Limit(4, at_least=1.0))
    goals = ti.Goals(guarantee=0.5, max_loss=1.0, max_loss_share=0.5, at_least=2.0, limits=limits)
    asked = goals.of(chain)
    view, shown = chain.worldview, chain.demonstration
    promise = asked.promise(view, shown)
    expert = float(WEIGHTS @ shown.expectations)
    worst = ti.worst_case(chain.mdp, view, WEIGHTS, shown).lower
    most = ti.best_case(chain.mdp, view, np.eye(5)[0], shown).upper
    least = ti.worst_case(chain.mdp, view, np.eye(5)[4], shown).lower
    wanted = (promise.performance, expert - worst, expert - worst, worst, most, least)
    assert promise.amounts == pytest.approx(wanted, abs=1e-5)
    assert [goal.wanted for goal in asked] == pytest.approx([0.5, 1, expert / 2, 2, 0.5, 1])
    missing = [goal.missing(promise) for goal in asked]
    assert missing == pytest.approx(
        [
            0.5 - promise.performance,
            expert - worst - 1,
            expert / 2 - worst,
            2 - worst,
            most - 0.5,
            1 - least,
        ],
        abs=1e-5,
    )
    assert asked.unmet(promise) == asked.goals


def test_a_limit_is_that_of_exact_arithmetic(chain):
    asked = ti.Goals(limits=(ti.Limit("cell 1", 0.5, 0.0), ti.Limit("cell 5", 9.0, 1.0))).of(chain)
    view = ti.Worldview.select(chain.mdp, ["cell 2"])
    amounts = asked.promise(view, chain.demonstration).amounts
    mu = expectations(chain.mdp, chain.demonstration.policy)
    for goal, amount in zip(asked, amounts, strict=True):
        sign = -1 if goal.most else 1
        truth = float(worst_case(chain.mdp, view, sign * np.eye(5)[goal.feature], mu))
        assert truth - 1e-7 <= sign * amount <= truth + 1e-12


def test_rounding_alone_breaks_no_goal(chain):
    [goal] = ti.Goals(limits=(ti.Limit("cell 1", at_most=0.0),)).of(chain).goals
    assert goal.scale > 1.0
    assert goal.missing(Promise(0.0, 0.0, 0.0, (1e-10,))) == 0.0
    assert goal.missing(Promise(0.0, 0.0, 0.0, (1e-6,))) == 1e-6


def test_where_nobody_matches_nothing_is_promised(chain):
    """Recorded episodes that no policy could have had."""
    shown = ti.Demonstration(np.array([0.0, 0.0, 100.0, 0.0, 0.0]))
    limits = (ti.Limit("cell 1", at_most=0.5), ti.Limit("cell 5", at_least=1.0))
    promise = ti.Goals(at_least=0.0, limits=limits).of(chain).promise(chain.worldview, shown)
    most = ti.optimal_policy(chain.mdp, np.eye(5)[0]).upper
    least = ti.worst_policy(chain.mdp, np.eye(5)[4]).lower
    assert promise.amounts == (chain.worst.lower, most, least)
    assert promise.performance == 0.0


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        ({"guarantee": 1.5}, "guarantee must be a relative performance"),
        ({"max_loss": -1.0}, "max_loss must be a finite number from 0 on"),
        ({"at_least": np.nan}, "at_least must be a finite number"),
    ],
)
def test_what_cannot_be_a_goal(mistake, said):
    with pytest.raises(ti.InvalidInputError, match=said):
        ti.Goals(**mistake)


def test_a_limit_needs_a_number_and_a_feature(chain):
    with pytest.raises(ti.InvalidInputError, match="at_most or at_least"):
        ti.Limit("cell 1")
    with pytest.raises(ti.InvalidInputError, match="there is no feature 'cell 9'"):
        ti.Goals(limits=(ti.Limit("cell 9", 1.0),)).of(chain)


def test_a_baseline_is_0_and_less_is_negative(chain):
    uniform = ti.Policy.uniform(chain.mdp)
    task = ti.Task(chain.mdp, WEIGHTS, chain.worldview, np.eye(5), baseline=uniform)
    zero = float(WEIGHTS @ ti.feature_expectations(chain.mdp, uniform))
    assert task.relative(zero) == 0.0
    assert task.relative(task.best.value) == 1.0
    low = task.relative(task.worst.value)
    assert low == pytest.approx((task.worst.value - zero) / (task.best.value - zero))
    for reward in (task.worst.lower, zero, (zero + task.best.value) / 2, task.best.upper):
        assert (
            task.relative(reward) - 1e-9 <= task.relative_at_least(reward) <= task.relative(reward)
        )
    with pytest.raises(ti.InvalidInputError, match="must earn less than the best policy"):
        ti.Task(chain.mdp, WEIGHTS, chain.worldview, np.eye(5), baseline=chain.best.policy)


@pytest.mark.parametrize("share", [0.5, 1.0])
@pytest.mark.parametrize(("missing", "met"), [(0.5e-9, True), (2e-9, False)])
def test_rounding_is_a_share_of_the_reward_whatever_counts_as_0(chain, share, missing, met):
    """A baseline that is nearly as good as the best makes a tiny loss a share that is not tiny."""
    uniform = ti.Policy.uniform(chain.mdp)
    chances = 0.99 * chain.best.policy.probabilities + 0.01 * uniform.probabilities
    nearly = ti.Policy(chain.mdp.dynamics, chances=chances)
    for baseline in (None, uniform, nearly):
        task = ti.Task(chain.mdp, WEIGHTS, chain.worldview, np.eye(5), baseline=baseline)
        asked = ti.Goals(guarantee=share).of(task)
        (goal,) = asked.goals
        reward = asked.reward_asked(goal) - missing * (task.best.value - task.worst.value)
        assert (goal.missing_at(task.relative(reward)) == 0.0) is met
    assert goal.scale > 50.0


@pytest.fixture(scope="module")
def garnet():
    mdp = ti.worlds.garnet(np.random.default_rng(3), 12, 3, 2, 5, per_pair=True)
    shown, view = ti.Policy.uniform(mdp), ti.Worldview.select(mdp, [])
    return ti.Task(mdp, [1.0, 0, 0, 0, 0], view, np.eye(5), demonstration=shown)


def taught(task, teacher, goals):
    rng, learner = np.random.default_rng(0), ti.learners.MinNormPoint()
    lesson = ti.teach(task, teacher, learner, rng=rng, until=goals)
    assert lesson.status is ti.LessonStatus.GUARANTEED
    return lesson


def test_a_lesson_goes_on_until_the_limits_are_kept(garnet):
    """The limit is on a feature without weight, of which the reward alone proves little."""
    little = ti.Limit(3, at_most=float(garnet.demonstration.expectations[3]) + 0.05)
    both = ti.Goals(max_loss_share=0.01, limits=(little,))
    reward = taught(garnet, ti.teachers.GapGreedy(), ti.Goals(max_loss_share=0.01))
    lesson = taught(garnet, ti.teachers.GapGreedy(), both)
    assert lesson.taught[: len(reward.taught)] == reward.taught == (0,)
    asked = both.of(garnet)
    [left] = asked.unmet(asked.promise(reward.worldview, garnet.demonstration))
    assert (left.kind, left.feature) == ("limit", 3)
    assert not asked.unmet(asked.promise(lesson.worldview, garnet.demonstration))


def test_without_a_goal_for_the_reward_the_limit_comes_first(garnet):
    little = ti.Limit(3, at_most=float(garnet.demonstration.expectations[3]) + 0.05)
    assert taught(garnet, ti.teachers.TRGreedy(), ti.Goals(limits=(little,))).taught == (3,)


@pytest.fixture
def lake(tmp_path):
    def written(plan, also=""):
        path = copied(tmp_path) / "asked.toml"
        tables = TOML["lake"].partition("[plan]")[0]
        path.write_text(f"{tables}[plan]\n{plan}\n{also}")
        return path

    return written


def test_a_file_asks_for_amounts(lake):
    problem = read_problem(
        lake(
            'max_loss = "10 %"\nat_least = 1\nbaseline = "nothing"\n'
            "limits = { cold = 0.5, home = { at_least = 0.1 } }"
        )
    )
    limits = (ti.Limit(0, at_most=0.5), ti.Limit(2, at_least=0.1))
    assert problem.asked == ti.Goals(max_loss_share=0.1, at_least=1.0, limits=limits)
    assert (problem.baseline.kind, problem.baseline.name) == ("nothing", "wait")
    waits = ti.feature_expectations(problem.mdp, problem.baseline.policy)
    assert problem.task.zero == pytest.approx(float(problem.weights @ waits))
    assert [goal.name for goal in problem.goals] == ["", "", "cold", "home"]


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ('max_loss = "ten"', "plan.max_loss: expected a reward from 0 on, or a share of the"),
        ("max_loss = -1", "plan.max_loss: expected a reward from 0 on"),
        ('baseline = "unifrom"', "plan.baseline: expected worst, uniform, nothing, or a table"),
        ('baseline = { acton = "wait" }', "plan.baseline.acton: there is no such key; did you"),
        ('baseline = { action = "wiat" }', "plan.baseline.action: there is no action 'wiat'; did"),
        ('baseline = { policy = "none.csv" }', "plan.baseline.policy: cannot read 'none.csv'"),
        ("limits = { clod = 1.0 }", "plan.limits.clod: there is no feature 'clod'; did you mean"),
        ('limits = { cold = "few" }', "plan.limits.cold.at_most: expected a number, got 'few'"),
        ("limits = { cold = {} }", "plan.limits.cold: expected one of the keys at_most, at_least"),
        ("limits = { cold = { atmost = 1.0 } }", "plan.limits.cold.atmost: there is no such key"),
    ],
)
def test_mistakes_in_goals(lake, plan, said):
    assert said in message_of(lake(plan))


@pytest.fixture
def nearly_best(tmp_path):
    """A baseline beside which a part in 10⁹ of the range is more than a thousandth of a percent."""
    text = '[world]\nname = "chain"\n[reward.weights]\n"cell 1" = -1.0\n"cell 5" = 2.0\n'
    text += '[learner]\nsees = ["cell 5"]\n[teach]\nfeatures = "all"\n'
    text += '[plan]\nbaseline = { policy = "today.csv" }\n'
    mdp = ti.worlds.chain(5)
    best = ti.optimal_policy(mdp, WEIGHTS).policy.probabilities
    chances = 0.9999999 * best + 0.0000001 * ti.Policy.uniform(mdp).probabilities
    ti.Policy(mdp.dynamics, chances=chances).save(tmp_path / "today.csv")
    path = tmp_path / "problem.toml"
    path.write_text(text)
    return read_problem(path)


def test_what_is_missing_by_rounding_of_the_reward_is_missing_nowhere(nearly_best):
    """Neither beside a search, nor for who cannot see a curve, nor for a script."""
    task = nearly_best.task
    width = task.best.value - task.worst.value
    share = task.relative(task.best.value - 0.9e-9 * width)
    assert share < 1.0 - 1e-3
    rows = []
    progress = SimpleNamespace(drawn=True, show_table=lambda _, given: rows.extend(given))
    live_table(nearly_best, progress)((Known(3.0, share, 0.0, ("cell 1",)),))
    assert rows == [("3", "100 %", "cell 1")]
    (alt,) = sensitivity_figure(nearly_best, [(0.0, share), (0.01, 0.5)]).alts
    assert alt.startswith("A falling curve: 100 % are guaranteed")
    point = SimpleNamespace(cost=3.0, guaranteed=share)
    curve = SimpleNamespace(points=(point,), wanted=None, enough=None)
    (alt,) = frontier_figure(nearly_best, curve).alts
    assert alt.endswith("100 % from cost 3.")
