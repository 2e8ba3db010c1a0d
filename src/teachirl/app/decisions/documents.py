"""The decisions as JSON has them; `docs/decisions.md` says what each field means."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from ...mdp.policy import Policy
from ..problem import Problem
from .advice import Advice
from .frontier import Frontier
from .standing import Standing


def standing_document(problem: Problem, standing: Standing) -> dict[str, Any]:
    """What `teachirl certify --json` prints."""
    spread, weights = standing.spread, standing.weights
    return {
        "title": standing.title,
        "world": standing.world,
        "notes": list(standing.notes),
        "reward": {"best": standing.best, "worst": standing.worst, "expert": standing.expert},
        "weights": [
            {
                "name": problem.mdp.feature_name(int(i)),
                "weight": float(weights[i]),
                "spread": None if spread is None else float(spread[i]),
            }
            for i in np.flatnonzero(weights)
        ],
        "risk": standing.risk,
        "relative_risk": standing.relative_risk,
        "blind_spot": standing.blind_spot.sentence,
        "guaranteed": standing.guaranteed,
        "mismatch": standing.mismatch,
        "confidence": standing.confidence,
        "guarantees": [_plain(asdict(each)) for each in standing.guarantees],
        "worst_policy": policy_rows(standing.witness),
        "differences": [asdict(each) for each in standing.differences],
        "looks": list(standing.looks),
        "learners": [asdict(each) for each in standing.learners],
        "below": standing.below,
    }


def advice_document(advice: Advice) -> dict[str, Any]:
    """What `teachirl teach --json` prints."""
    gap = advice.gap
    return {
        "title": advice.title,
        "notes": list(advice.notes),
        "teacher": advice.teacher,
        "learner": advice.learner,
        "steps": [_plain(asdict(each)) for each in advice.steps],
        "stop": advice.stop,
        "reason": advice.reason,
        "wanted": advice.wanted,
        "reached": advice.reached,
        "optimal": None if gap is None else {"risk": gap.risk, "lower": gap.lower},
        "nearness": advice.nearness,
        "below": advice.below,
        "demonstrate": advice.demonstrate,
        "policy": policy_rows(advice.policy),
        "differences": [asdict(each) for each in advice.differences],
    }


def frontier_document(frontier: Frontier) -> dict[str, Any]:
    """What `teachirl frontier --json` prints."""
    document: dict[str, Any] = _plain(asdict(frontier))
    return document


def policy_rows(policy: Policy | None) -> list[dict[str, Any]] | None:
    """A row for each action that is ever taken, as a file with a policy has them."""
    if policy is None:
        return None
    dynamics, chances = policy.dynamics, policy.probabilities
    return [
        {
            "state": dynamics.state_name(int(dynamics.pair_states[pair])),
            "action": dynamics.action_name(int(dynamics.actions[pair])),
            "probability": float(chances[pair]),
        }
        for pair in np.flatnonzero(chances)
    ]


def _plain(value: Any) -> Any:
    """Without infinities and NaN, which JSON does not have: they become null."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


__all__ = ["advice_document", "frontier_document", "policy_rows", "standing_document"]
