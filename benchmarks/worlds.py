"""What it takes to make a world at its largest size: seconds of processor time, and memory."""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import teachirl as ti
from harness import in_fresh_process, machine, table


class Counters:
    """Two counters that go up and down: n² states of four actions."""

    def __init__(self, n: int) -> None:
        self.last = n - 1

    def start(self) -> list[tuple[float, tuple[int, int]]]:
        return [(1.0, (0, 0))]

    def actions(self, state: Any) -> tuple[int, ...]:
        return 0, 1, 2, 3

    def outcomes(self, state: Any, action: int) -> list[tuple[float, tuple[int, int]]]:
        x, y = state
        step = 1 if action % 2 else -1
        if action < 2:
            return [(1.0, (min(max(x + step, 0), self.last), y))]
        return [(1.0, (x, min(max(y + step, 0), self.last)))]

    def features(self, state: Any, action: int) -> dict[str, float]:
        return {"x": state[0], "y": state[1]}


def from_storm(name: str, constants: dict[str, Any]) -> ti.MDP:
    """One of the PRISM models that come with stormpy."""
    import importlib.util

    spec = importlib.util.find_spec("stormpy.examples")
    assert spec is not None and spec.origin is not None
    path = Path(spec.origin).parent / "files" / "mdp" / f"{name}.nm"
    return ti.worlds.from_model_file(path, 0.99, constants=constants)


# By name: how it is made.
CASES: dict[str, Any] = {
    "from_model, two counters": lambda: ti.worlds.from_model(Counters(1000), 0.99),
    "from_model_file, firewire (Storm builds it)": lambda: from_storm(
        "firewire", {"delay": 36, "fast": 0.5}
    ),
    "from_simulator, Taxi": lambda: ti.worlds.from_simulator("Taxi-v4", 0.99),
    "from_simulator, MiniGrid-DoorKey-8x8": lambda: ti.worlds.from_simulator(
        "MiniGrid-DoorKey-8x8-v0", 0.99
    ),
    "from_simulator, MiniGrid-UnlockPickup": lambda: ti.worlds.from_simulator(
        "MiniGrid-UnlockPickup-v0", 0.99
    ),
    "mountain_car, 501 points": lambda: ti.worlds.mountain_car(501),
    "pendulum, 501 points": lambda: ti.worlds.pendulum(501),
    "cart_pole, 21 points": lambda: ti.worlds.cart_pole(21),
    "objectworld, size 200, 100 objects": lambda: ti.worlds.objectworld(
        np.random.default_rng(0), 200, objects=100
    ),
}


def measured(name: str) -> tuple[int, int, float, int]:
    """States, pairs, seconds of processor time, and bytes above those of the imports."""
    ti.worlds.chain(3)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.process_time()
    made = CASES[name]()
    spent = time.process_time() - begin
    mdp = made if isinstance(made, ti.MDP) else made.mdp
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return mdp.n_states, mdp.n_pairs, spent, 1024 * (after - before)


def main() -> int:
    """Make each world in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", help="only those whose name has this in it", default="")
    chosen = parser.parse_args().cases
    rows = []
    for name in CASES:
        if chosen in name:
            states, pairs, spent, memory = in_fresh_process(measured, name)
            rows.append((name, f"{states:,}", f"{pairs:,}", f"{spent:.1f} s", f"{memory >> 20} MB"))
    print(table(("world", "states", "pairs", "processor time", "memory"), rows))
    print()
    print(machine(("teachirl", "numpy", "gymnasium", "minigrid", "stormpy")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
