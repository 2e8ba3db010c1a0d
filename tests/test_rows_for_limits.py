"""A curve with a row that guarantees less than a cheaper one says why it is there; a headline that
does not know through what most is lost says that."""

from dataclasses import replace

import numpy as np

import teachirl as ti
from teachirl.app.decisions import frontier
from teachirl.app.document.documents import answer
from teachirl.app.document.frontier import _for_limits
from teachirl.app.document.stakes import NOT_YET
from teachirl.app.render.json import contents

FILE = """
[world]
name = "gridworld"
size = 3
slip = 0.2
[reward.weights]
"cell 0" = -1.0
"cell 8" = 2.0
"cell 6" = 1.8
[learner]
sees = []
[[teach.feature]]
name = "cell 8"
cost = 1
[[teach.feature]]
name = "cell 0"
cost = 3
[plan.limits]
"cell 0" = {limit}
"""


def asking(folder, limit):
    path = folder / "problem.toml"
    path.write_text(FILE.format(limit=limit))
    return ti.read_problem(path)


def test_a_row_for_a_limit_says_what_it_is_for(tmp_path):
    free = asking(tmp_path, 100.0)
    task = free.task
    most = {}
    for name in ("cell 8", "cell 0"):
        view = ti.Worldview.select(free.mdp, [name])
        amount = ti.best_case(free.mdp, view, np.eye(9)[0], task.demonstration).upper
        least = ti.worst_case(free.mdp, view, free.weights, task.demonstration).lower
        most[name] = (amount, least)
    # What costs 1 guarantees more of the reward, and has more of the feature.
    assert most["cell 8"][0] > most["cell 0"][0] + 0.1
    assert most["cell 8"][1] > most["cell 0"][1] + 0.1
    curve = frontier(asking(tmp_path, 0.5 * (most["cell 8"][0] + most["cell 0"][0])))
    assert curve.enough is not None and curve.enough.features == ("cell 0",)
    assert _for_limits(curve) == (
        "The row for 3 (cell 0) is there for the limit on cell 0: cell 8, for 1, guarantees more "
        "of the reward, and breaks it."
    )
    assert "and is further from it." in _for_limits(replace(curve, enough=None))
    assert _for_limits(frontier(free)) == ""


def test_a_headline_says_if_no_feature_of_the_loss_was_found(tmp_path):
    problem = asking(tmp_path, 100.0)
    curve = frontier(problem)
    lost = replace(curve.stakes, most_lost=None, early=True, loss=1.0, reward=0.0)
    said = contents(answer(problem, replace(curve, stakes=lost)))["in_reward"]
    assert "may earn up to 1 less than the expert" in said and said.endswith(f". {NOT_YET}")
    whole = contents(answer(problem, curve))["in_reward"]
    assert NOT_YET not in whole
