"""What policies collect in plain amounts, beside the discounted ones that rewards are made of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from ...arrays import Floats, Ints
from ...demonstrations.trajectories import Trajectories
from ...figures.digits import visible
from ...mdp.policy import Policy
from ...precision import INVISIBLE, ranks
from ..decisions import Patience, Undiscounted, undiscounted
from ..problem import Problem
from .elements import Column, Data, Element, Section, Sentence, Table

# Amounts that differ by less than this share of the largest are the same.
SAME = 1e-6
NOT_DISCOUNTED = "What is not discounted, on average."
WORST = (
    " The worst policy is the one that earns least with discounting, as all guarantees count: in "
    "plain amounts another may be worse."
)


def plain_amounts(
    problem: Problem,
    policies: Mapping[str, Policy | Trajectories | None],
    when: str,
    patience: Patience,
    whose: str = "expert",
) -> Section:
    """How much of each feature policies collect in an episode, or in 1000 steps.

    Parameters
    ----------
    problem : Problem
    policies : each Policy, or Trajectories that were recorded, by what it is called, in JSON as
        well; None if it is not known
    when : in whose eyes they look the same, which tells one table of a report from another
    patience : Patience: once there is an answer there is a moment for it, and no more
    whose : what the policy called ``expert`` is called in the table, as it may be another's

    Returns
    -------
    Section: the features that count, and those of which the policies have different amounts, what
    differs most in reward first; empty if the world is too large, no policy is known, or time is up
    """
    mdp, weights = problem.mdp, problem.weights
    patience.renew()
    found = {
        name: patience.spared(partial(undiscounted, mdp, policy))
        for name, policy in policies.items()
    }
    known = {name: each for name, each in found.items() if each is not None}
    title = "In plain amounts"
    if not known:
        return Section(title, ())
    amounts = np.array([each.amounts for each in known.values()])
    apart = np.ptp(amounts, axis=0)
    apart[apart <= SAME * np.abs(amounts).max(initial=0.0)] = 0.0
    told = np.flatnonzero((weights != 0.0) | (apart > 0.0))
    matters = (_places(apart[told]), _places(np.abs(weights * apart)[told]))
    order = told[np.lexsort(matters)]
    columns = [Column("name", "feature", value=mdp.feature_name)]
    called = {"expert": whose, "worst": "worst if discounted"}
    columns += [_column(name, called.get(name, name), each) for name, each in known.items()]
    elements: tuple[Element, ...] = (
        Sentence(NOT_DISCOUNTED + (WORST if "worst" in known else "")),
        Table(f"{title}, {when}", tuple(columns), tuple(int(i) for i in order), "amounts", brief=8),
        Data("amounts_per", lambda: {name: each.per for name, each in known.items()}),
    )
    return Section(title, elements)


def of_recordings(problem: Problem) -> Trajectories | None:
    """The episodes that are shown, or that the weights were inferred from; None if there are none.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    Trajectories, or None
    """
    shown = problem.expert.trajectories if problem.expert.policy is None else None
    return shown or (problem.reward.expert if problem.guessed else None)


def _places(values: Floats) -> Ints:
    return ranks(values, INVISIBLE * float(values.max(initial=0.0)))


def _column(name: str, called: str, found: Undiscounted) -> Column:
    shown = partial(visible, scale=float(np.abs(found.amounts).max(initial=0.0)))
    heading = f"{called}, per {found.per}"
    return Column(name, heading, shown, lambda i: float(found.amounts[i]))


__all__ = ["of_recordings", "plain_amounts"]
