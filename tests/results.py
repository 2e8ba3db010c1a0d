"""Results to report on, put together from the library's parts."""

from dataclasses import replace
from itertools import accumulate

import numpy as np

import teachirl as ti
from teachirl.app.decisions import (
    Alternative,
    Assessment,
    Cut,
    Difference,
    Ending,
    Frontier,
    Outcome,
    Patience,
    Point,
    Searched,
    SetToTeach,
    Simulated,
    Step,
    TeachingPlan,
    WhatToShow,
    expert_account,
)
from teachirl.app.decisions.stakes import stakes
from teachirl.app.problem import read_problem

CHAIN = """\
title = "Which cells must the learner know?"

[world]
name = "chain"

[reward.weights]
"cell 1" = -2.0
"cell 2" = -1.0
"cell 4" = 1.0
"cell 5" = 2.0

[learner]
sees = ["cell 3"]

[teach]
features = "all"
"""


def written(folder, text, name="problem.toml"):
    """The problem that a text says, read from a file."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_problem(path)


def assessment_of(problem):
    mdp, view, weights = problem.mdp, problem.worldview, problem.weights
    shown = problem.task.demonstration
    proved = ti.certify(mdp, view, weights, shown)
    witness = proved.worst.witness
    found = Assessment(
        best=problem.task.best.upper,
        worst=problem.task.worst.lower,
        expert=float(weights @ shown.expectations),
        weights=weights,
        doubt=None,
        readings=None,
        risk=ti.teaching_risk(view, weights),
        blind_spot=ti.blind_spot(mdp, view, weights),
        guaranteed=proved.guaranteed,
        stakes=stakes_of(problem, proved.least_reward, witness),
        account=expert_account(problem),
        mismatch=proved.mismatch,
        confidence=proved.confidence,
        demonstration=shown,
        witness=witness,
        differences=differences(problem, shown.expectations, ti.feature_expectations(mdp, witness)),
        proved=proved,
        problem=problem,
        patience=Patience(),
        parts=(),
    )
    # What would be computed when it is asked for.
    vars(found).update(
        certificate=proved,
        sensitivity=ti.sensitivity(mdp, view, weights, shown),
        learners=(
            Simulated("Projection", Outcome.LEARNED, 0.75, 1e-7, ti.learners.LearnStatus.MATCHED),
            Simulated("MaxMargin", Outcome.TOO_LARGE),
        ),
        below=None,
    )
    return found


def stakes_of(problem, reward, witness=None):
    promise = problem.goals.promise(problem.worldview, problem.task.demonstration, least=reward)
    worst = None if witness is None else ti.feature_expectations(problem.mdp, witness)
    return stakes(problem, problem.task.demonstration, promise, worst)


def differences(problem, expert, other):
    lost = problem.weights * (expert - other)
    return tuple(
        Difference(
            problem.mdp.feature_name(i),
            float(problem.weights[i]),
            float(expert[i]),
            float(other[i]),
            float(lost[i]),
        )
        for i in np.argsort(-lost, kind="stable")
        if abs(expert[i] - other[i]) > 1e-9
    )


def plan_of(problem, *, wanted=0.8996):
    problem, task = replace(problem, asked=ti.Goals(wanted)), problem.task
    names = task.names[:3]
    costs = list(accumulate(task.costs[:3], initial=0.0))
    guaranteed = (0.1, 0.45, 0.89999, 0.97)
    steps = tuple(
        Step(
            feature=None if number == 0 else number - 1,
            name="" if number == 0 else names[number - 1],
            price=0.0 if number == 0 else float(task.costs[number - 1]),
            cost=float(costs[number]),
            risk=1.0 - 0.2 * number,
            guaranteed=guaranteed[number],
            reward=10.0 * guaranteed[number],
            amounts=(guaranteed[number],),
            performance=min(1.0, guaranteed[number] + 0.1),
            mismatch=0.0,
            new_demonstration=number == 2,
            alternative=Alternative("another", 2.0, 0.33333, 3.3333) if number == 1 else None,
        )
        for number in range(len(names) + 1)
    )
    return TeachingPlan(
        teacher="GapGreedy",
        learner="MinNormPoint",
        chosen=SetToTeach(Searched.ALL, (0, 1), 4, 7),
        cut=None,
        steps=steps,
        stop=min(2, len(steps) - 1),
        ending=Ending.REACHED,
        stakes=stakes_of(problem, task.worst.value),
        cap=None,
        gap=None,
        below=None,
        view=problem.worldview,
        demonstration=task.demonstration,
        witness=None,
        show=WhatToShow(None, 1.0, 10.0, 0.1, 1.0, ()),
        differences=(),
        lesson=None,
        problem=problem,
        patience=Patience(),
    )


def frontier_of(problem, *, wanted=0.9):
    names = problem.task.names
    points = (
        Point(0.0, 0.1, -9.0, 0.1, 1.0, ()),
        Point(1.0, 0.45, -1.0, 0.5, 0.8, names[:1]),
        Point(3.0, 0.93339, 9.0, 1.0, 0.3, names[:2]),
    )
    return Frontier(
        points=points,
        worth=1e-3,
        cut=Cut.OUT_OF_TIME,
        sets=7,
        free=9,
        left_out=0,
        solves=21,
        patience=Patience(60.0),
        wanted=wanted,
        stakes=stakes_of(replace(problem, asked=ti.Goals(wanted)), problem.task.worst.value),
        told=points[2],
        enough=None if wanted is None else points[2],
        enough_at_least=None if wanted is None else 2.0,
        view=problem.worldview,
        demonstration=problem.task.demonstration,
        problem=problem,
    )
