"""What actions are called in a lesson: by the keys that do them, which tell of nothing hidden.

The name of an action may tell of a feature that the participant does not see (*divide both sides*).
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable
from string import ascii_uppercase

from ...arrays import Floats

ARROWS = {(-1.0, 0.0): "↑", (1.0, 0.0): "↓", (0.0, -1.0): "←", (0.0, 1.0): "→"}
NEUTRAL = {"↑": "up", "↓": "down", "←": "left", "→": "right"}


def keys_of(steps: Floats | None, count: int) -> list[str]:
    """A key for each action: an arrow if it alone leads there on the map, letters otherwise.

    Where letters are too few, all have two or more, which are pressed one after the other.

    Parameters
    ----------
    steps : array [A, 2], how far down and right each action leads; None without a map
    count : number of actions

    Examples
    --------
    >>> keys_of(None, 3)
    ['A', 'B', 'C']
    >>> keys_of(None, 30)[24:28]
    ['AY', 'AZ', 'BA', 'BB']
    """
    moves = [(0.0, 0.0)] * count if steps is None else [(down, right) for down, right in steps]
    leading = Counter(moves)
    arrows = [ARROWS.get(move) if leading[move] == 1 else None for move in moves]
    others, length = arrows.count(None), 1
    while len(ascii_uppercase) ** length < others:
        length += 1
    letters = map("".join, itertools.product(ascii_uppercase, repeat=length))
    return [next(letters) if arrow is None else arrow for arrow in arrows]


def neutral_names(keys: list[str]) -> list[str]:
    """What actions with these keys are called.

    >>> neutral_names(["→", "A"])
    ['right', 'A']
    """
    return [NEUTRAL.get(key, key) for key in keys]


def telling(names: Iterable[str], hidden: Iterable[str]) -> tuple[str, str] | None:
    """A name that has one of the hidden ones in it, as words, and that one; None if there is none.

    >>> telling(["hand in", "Check the answer"], ["line", "check"])
    ('Check the answer', 'check')
    >>> telling(["uncheck"], ["check"])
    """
    patterns = [(each, re.compile(rf"(?<!\w){re.escape(each)}(?!\w)", re.I)) for each in hidden]
    found = ((name, each) for name in names for each, pattern in patterns if pattern.search(name))
    return next(found, None)


__all__ = ["keys_of", "neutral_names", "telling"]
