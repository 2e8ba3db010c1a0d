"""A situation to choose in, for tests of teachers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import teachirl as ti
from teachirl.teachers import Situation
from teachirl.teaching.matching import Matching


def situation(task: ti.Task, **changes: Any) -> Situation:
    """The first round of a lesson without limits, but for the changes."""
    arguments: dict[str, Any] = {
        "task": task,
        "view": task.worldview,
        "demonstration": task.demonstration,
        "policy": ti.Policy.uniform(task.mdp),
        "taught": (),
        "candidates": np.arange(len(task.teachable)),
        "features_left": len(task.teachable),
        "cost_left": math.inf,
        "matching": Matching(0.0),
    }
    return Situation(**{**arguments, **changes})
