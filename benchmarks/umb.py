"""Models in the UMB format, a tar of index.json and little-endian arrays; stormpy's examples."""

from __future__ import annotations

import functools
import importlib.util
import json
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

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
    """The states, choices and branches of a UMB file, probabilities as floats."""
    with tarfile.open(path) as archive:
        index = json.loads(_member(archive, "index.json"))["transition-system"]
        kind = index.get("branch-probability-type", {}).get("type")
        if kind != "double":
            raise ValueError(f"{path.name}: probabilities are {kind}, not double")
        offsets = _array(archive, "state-to-choices.bin", "<u8")
        indptr = _array(archive, "choice-to-branches.bin", "<u8")
        targets = _array(archive, "branch-to-target.bin", "<u8")
        chances = _array(archive, "branch-to-probability.bin", "<f8")
    rows = sp.csr_array((chances, targets, indptr), shape=(len(indptr) - 1, len(offsets) - 1))
    rows.sum_duplicates()
    return Model(offsets, rows)


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    assert file is not None
    return file.read()


def _array(archive: tarfile.TarFile, name: str, dtype: str) -> NDArray[Any]:
    array = np.frombuffer(_member(archive, name), dtype)
    return array.astype(np.int64) if dtype == "<u8" else array.astype(float)


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
