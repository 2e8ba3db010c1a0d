"""Models in the UMB format, and stormpy's examples; as a script, compared with Storm's own rows."""

from __future__ import annotations

import argparse
import functools
import importlib.util
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from harness import duration, table
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


def differences(path: Path) -> tuple[int, int, int, int, float, float]:
    """States, choices and branches of a file, how many numbers differ from Storm's own, and the
    seconds that both take: transitions, labels and rewards, row by row."""
    import stormpy

    begin = time.perf_counter()
    ours = read_umb(path)
    read_in = time.perf_counter() - begin
    begin = time.perf_counter()
    theirs = stormpy.build_model_from_umb(str(path))
    matrix = theirs.transition_matrix
    wrong = int(theirs.nr_states != len(ours.offsets) - 1)
    for choice in range(matrix.nr_rows):
        part = slice(*ours.indptr[choice : choice + 2])
        found = sorted(zip(ours.targets[part].tolist(), ours.chances[part].tolist(), strict=True))
        wrong += found != sorted((each.column, each.value) for each in matrix.get_row(choice))
    for state, first in enumerate(ours.offsets[:-1]):
        wrong += matrix.get_row_group_start(state) != first
    for label, holds in ours.labels.items():
        there = np.zeros(len(holds), dtype=bool)
        there[list(theirs.labeling.get_states(label))] = True
        wrong += int(np.count_nonzero(there != holds))
    for rewards, kind in ((ours.state_rewards, "state"), (ours.choice_rewards, "state_action")):
        for name, values in rewards.items():
            model = theirs.reward_models["" if name == "default" else name]
            wrong += int(np.count_nonzero(np.array(getattr(model, f"{kind}_rewards")) != values))
    rows = time.perf_counter() - begin
    counts = len(ours.offsets) - 1, len(ours.indptr) - 1, len(ours.targets)
    return *counts, wrong, read_in, rows


def main() -> int:
    """Compare all files of a folder; the exit code is 1 if a number differs."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path, help="with .umb files")
    found = [
        (path.name, *differences(path)) for path in sorted(parser.parse_args().folder.glob("*.umb"))
    ]
    heads = (
        "model",
        "states",
        "choices",
        "branches",
        "other than Storm",
        "reading",
        "Storm's rows",
    )
    cells = [
        (name, f"{s:,}", f"{c:,}", f"{b:,}", str(wrong), duration(ours), duration(theirs))
        for name, s, c, b, wrong, ours, theirs in found
    ]
    print(table(heads, cells))
    return int(any(each[4] for each in found))


if __name__ == "__main__":
    sys.exit(main())
