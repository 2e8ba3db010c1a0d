"""What a million states cost in memory, seen from inside a process that does nothing else."""

from __future__ import annotations

import gc
import re
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import teachirl as ti


def memory_of_a_million_states() -> dict[str, int]:
    """Bytes of the arrays, and of the process while it builds and solves a 1000×1000 slip grid."""
    small = ti.worlds.gridworld(4, slip=0.3)
    ti.optimal_policy(small, np.arange(16.0))  # compiled code is not counted
    gc.collect()
    base = _resident("VmRSS")
    _reset_peak()
    mdp = ti.worlds.gridworld(1000, block=20, slip=0.3)
    building = _resident("VmHWM") - base
    _reset_peak()
    held = _resident("VmRSS") - base
    w = np.random.default_rng(0).standard_normal(mdp.n_features)
    plan = ti.optimal_policy(mdp, w)
    solving = _resident("VmHWM") - base
    arrays: list[NDArray[Any]] = [mdp.dynamics.offsets, mdp.dynamics.actions, mdp.dynamics.start]
    for matrix in (mdp.dynamics.transitions, sp.csr_array(mdp.features)):
        arrays += [matrix.data, matrix.indices, matrix.indptr]
    assert plan.status is ti.PlanStatus.OPTIMAL
    return {
        "arrays of the MDP": sum(array.nbytes for array in arrays),
        "peak while building": building,
        "held after building": held,
        "peak while solving": solving,
    }


def _resident(field: str) -> int:
    """VmRSS (now) or VmHWM (peak) in bytes; Linux only."""
    found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    if found is None:
        raise OSError(f"/proc/self/status has no {field}")
    return 1024 * int(found[1])


def _reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")
