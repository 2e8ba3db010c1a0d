"""That nothing which a learner is given leads to what it must not know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .cases import Case
from .mdp import promise


def check_barrier(case: Case) -> None:
    """Nothing that a learner is given leads to φ or A."""
    phi: Any = case.mdp.features
    secrets = (
        ("true features", phi if isinstance(phi, np.ndarray) else phi.data),
        ("worldview", case.view.matrix),
        ("worldview", case.view.basis),
    )
    for root in (case.seen, case.observations):
        for found in _holdings(root):
            for name, secret in secrets:
                promise(
                    not (isinstance(found, np.ndarray) and np.may_share_memory(found, secret)),
                    f"{case.name}: what a learner sees must not hold the {name}",
                )


def _holdings(root: object) -> Iterator[object]:
    """All that can be reached from an object by attributes, entries and what an array views."""
    ahead, met = [root], set()
    while ahead:
        found = ahead.pop()
        if id(found) in met or isinstance(found, type):
            continue
        met.add(id(found))
        yield found
        ahead += list(getattr(found, "__dict__", {}).values())
        if isinstance(found, np.ndarray):
            ahead.append(found.base)
        elif isinstance(found, (tuple, list, set, frozenset)):
            ahead += found
        elif isinstance(found, dict):
            ahead += [*found.keys(), *found.values()]


__all__ = ["check_barrier"]
