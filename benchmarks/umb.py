"""Models in the UMB format, and stormpy's examples."""

from __future__ import annotations

import functools
import importlib.util
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teachirl.worlds.umb import read_umb

# PRISM models that come with stormpy, each with the constants that it leaves open.
EXAMPLES = {
    "die_selection": "",
    "maze_2": "",
    "slipgrid": "",
    "wlan0-2-2": "",
    "two_dice": "",
    "coin2-2": "",
    "leader3": "",
    "csma2-2": "",
    "leader4": "",
    "firewire3-0.5": "",
    "wlan0_collide": "COL=2,TRANS_TIME_MAX=10",
    "coin2": "K=64",
    "firewire": "delay=36,fast=0.5",
}


@dataclass(frozen=True, eq=False)
class Model:
    """offsets [S + 1] of the choices of a state, and the transitions [P, S] of the choices."""

    offsets: NDArray[np.int64]
    transitions: sp.csr_array


@functools.lru_cache(maxsize=2)
def read(path: Path) -> Model:
    """The states, choices and branches of a UMB file."""
    found = read_umb(path)
    shape = (len(found.indptr) - 1, len(found.offsets) - 1)
    rows = sp.csr_array((found.chances, found.targets, found.indptr), shape=shape)
    rows.sum_duplicates()
    return Model(found.offsets, rows)


@functools.lru_cache(maxsize=2)
def example(name: str) -> Model:
    """One of `EXAMPLES`, built by stormpy, all of its choices and states kept."""
    import stormpy
    from stormpy import io

    spec = importlib.util.find_spec("stormpy.examples")
    assert spec is not None and spec.origin is not None
    program = stormpy.parse_prism_program(
        str(Path(spec.origin).parent / "files" / "mdp" / f"{name}.nm")
    )
    if EXAMPLES[name]:
        program, _ = stormpy.instantiate_constants(program, EXAMPLES[name])
    model = stormpy.build_model[float](program, options=stormpy.BuilderOptions(build_full=True))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.umb"
        io.export_to_umb(model, str(path))
        return read(path)
