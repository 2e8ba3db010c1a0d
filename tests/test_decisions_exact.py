"""Guarantees never overstate, nor understate by much; `soundness` tries many more problems."""

from functools import cache, partial

import numpy as np
import pytest

import exact_lp
from random_problems import least_performance, write_random
from teachirl.app.decisions import assess, frontier, plan, simulations
from teachirl.learners import Adversarial

PROBLEMS = 80


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(PROBLEMS))
def test_no_guarantee_overstates(tmp_path, monkeypatch, seed):
    monkeypatch.setattr(simulations, "LEARNERS", (Adversarial,))
    problem = write_random(tmp_path, np.random.default_rng([7, seed]))
    names = problem.task.names

    least_of = cache(partial(least_performance, problem))

    def check(guaranteed, taught):
        least = least_of(tuple(taught))
        assert exact_lp.exact(guaranteed) <= least
        return float(least)

    assessed = assess(problem)
    least = check(assessed.guaranteed, [])
    for each in assessed.guarantees:
        check(each.performance, [])
    # Nor do they understate by more than the tolerance; and the adversary is as bad as that. Where
    # all policies earn the same, rounding leaves nothing to be proved.
    if assessed.best - assessed.worst > 1e-6:
        assert assessed.guaranteed >= least - 1e-5
        assert assessed.learners[0].performance == pytest.approx(least, abs=1e-5)
    found, taught = plan(problem), []
    for step in found.steps[1:]:
        if step.alternative is not None:
            check(step.alternative.guaranteed, [*taught, names.index(step.alternative.name)])
        taught.append(step.feature)
        check(step.guaranteed, taught)
    if found.part_way is not None:
        other, step = found.part_way
        check(other.guaranteed, [names.index(name) for name in other.features])
        assert other.cost <= step.cost * (1 + 1e-9) < found.steps[found.stop].cost
        assert other.guaranteed > step.guaranteed
    for point in frontier(problem).points:
        check(point.guaranteed, [names.index(name) for name in point.features])
