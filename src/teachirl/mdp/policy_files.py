"""Policies as tables: a row for each state and action, by their names."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import ROW_SUM_TOLERANCE, Floats, some
from ..errors import FileFormatError
from ..files import kind_of, neutral, plain, replacing

if TYPE_CHECKING:
    from .dynamics import Dynamics
    from .policy import Policy

HEADER = ["state", "action", "probability"]


def save_policy(policy: Policy, path: Path) -> None:
    """Write the table of a policy, whole or not at all; a certain action has no probability."""
    dynamics, chances = policy.dynamics, policy.probabilities
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER[:2] if policy.is_deterministic else HEADER)
    states, actions = set(dynamics.state_names or ()), set(dynamics.action_names or ())
    for pair in np.flatnonzero(chances):
        state, action = int(dynamics.pair_states[pair]), int(dynamics.actions[pair])
        row = [
            neutral(dynamics.state_name(state), states),
            neutral(dynamics.action_name(action), actions),
        ]
        if not policy.is_deterministic:
            row.append(repr(float(chances[pair])))
        writer.writerow(row)
    with replacing(path) as file:
        file.write(text.getvalue().encode())


def load_chances(path: Path, dynamics: Dynamics) -> tuple[Floats, bool]:
    """The probability of each pair [P] that a table says, and whether all actions are certain.

    A file that is no such table is a `FileFormatError` that names the line and what is wrong; one
    that cannot be opened is an `OSError`.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileFormatError(f"{path}: a policy is a table, as UTF-8 text: {error}") from error
    if not rows or rows[0] not in (HEADER, HEADER[:2]):
        got = kind_of(",".join(rows[0])) if rows else "nothing"
        raise FileFormatError(f"{path}: the first line must be {','.join(HEADER)}, got {got}")
    states = {dynamics.state_name(state): state for state in range(dynamics.n_states)}
    chances = np.zeros(dynamics.n_pairs)
    for line, row in enumerate(rows[1:], 2):
        if not row:
            continue
        where = f"{path}, row {line}"
        if len(row) != len(rows[0]):
            raise FileFormatError(f"{where}: must have {len(rows[0])} entries, got {len(row)}")
        pair = _pair(where, states, dynamics, row)
        if chances[pair] != 0.0:
            raise FileFormatError(
                f"{where}: state {row[0]!r} and action {row[1]!r} are there twice"
            )
        chances[pair] = _chance(where, row[2]) if len(row) == 3 else 1.0
    sums = np.add.reduceat(chances, dynamics.offsets[:-1])
    worst = int(np.abs(sums - 1.0).argmax())
    if abs(sums[worst] - 1.0) > ROW_SUM_TOLERANCE:
        raise FileFormatError(
            f"{path}: the probabilities of state {dynamics.state_name(worst)!r} must sum to 1, "
            f"got {sums[worst]:.12g}"
        )
    return chances, len(rows[0]) == 2


def _pair(where: str, states: dict[str, int], dynamics: Dynamics, row: list[str]) -> int:
    state = row[0] if row[0] in states else plain(row[0])
    if state not in states:
        raise FileFormatError(
            f"{where}: there is no state {kind_of(row[0])}; there are: {some(list(states))}"
        )
    first, last = (int(dynamics.offsets[states[state] + step]) for step in (0, 1))
    names = [dynamics.action_name(int(action)) for action in dynamics.actions[first:last]]
    action = row[1] if row[1] in names else plain(row[1])
    if action not in names:
        raise FileFormatError(
            f"{where}: state {row[0]!r} has no action {kind_of(row[1])}; it has: {some(names)}"
        )
    return first + names.index(action)


def _chance(where: str, text: str) -> float:
    try:
        chance = float(text)
    except ValueError:
        chance = np.nan
    if not 0.0 <= chance <= 1.0:
        raise FileFormatError(f"{where}: must have a probability from 0 to 1, got {kind_of(text)}")
    return chance


__all__ = ["load_chances", "save_policy"]
