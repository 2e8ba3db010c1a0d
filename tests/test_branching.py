"""Random numbers that come out in every way."""

import math
import time
from collections import Counter

import numpy as np
import pytest

import teachirl as ti
from teachirl.worlds.branching import BranchingGenerator

# What simulators do with a generator, whose results are counted.
PROGRAMS = {
    "a coin": lambda rng: bool(rng.random() < 0.3),
    "the other way round": lambda rng: bool(rng.random() < 0.25),
    "cumulated": lambda rng: int(np.argmax(np.cumsum([0.2, 0.0, 0.5, 0.3]) > rng.random())),
    "one draw, compared twice": lambda rng: [bool((u := rng.random()) > 0.5), bool(u > 0.75)],
    "searched": lambda rng: int((np.array([0.1, 0.6]) <= rng.random()).sum()),
    "scaled": lambda rng: bool(3.0 * rng.random() - 1.0 >= 0.5),
    "from one": lambda rng: bool(1.0 - rng.random() < 0.2),
    "rounded down": lambda rng: int(4 * rng.random()),
    "towards zero": lambda rng: int(rng.uniform(-2.0, 2.0)),
    "floor": lambda rng: math.floor(rng.uniform(-1.5, 1.5)),
    "divided": lambda rng: bool(rng.random() / 2 < 0.1),
    "dice": lambda rng: int(rng.integers(1, 7) + rng.integers(1, 6, endpoint=True)),
    "several": lambda rng: rng.integers(3, size=2).tolist(),
    "several coins": lambda rng: (rng.random(2) < 0.5).tolist(),
    "until": lambda rng: next((i for i in range(3) if rng.random() < 0.5), 3),
    "chosen": lambda rng: str(rng.choice(["a", "b", "c"], p=[0.5, 0.0, 0.5])),
    "a number chosen": lambda rng: int(rng.choice(3)),
    "a hand": lambda rng: rng.choice(4, size=2, replace=False).tolist(),
    "an order": lambda rng: rng.permutation(3).tolist(),
    "nothing": lambda rng: 5,
}


def shuffled(rng):
    cards = ["x", "y", "y"]
    rng.shuffle(cards)
    return cards


PROGRAMS["shuffled"] = shuffled


def branched(program, max_branches=1000):
    generator = BranchingGenerator(max_branches)
    found = Counter()
    for chance, result in generator.every(lambda: program(generator)):
        found[repr(result)] += chance
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_drawn_often_has_that_probability(name):
    """The slow twin: numpy's own generator, 4,000 times."""
    rng, n = np.random.default_rng(0), 4000
    drawn = Counter(repr(PROGRAMS[name](rng)) for _ in range(n))
    found = branched(PROGRAMS[name])
    assert math.fsum(found.values()) == pytest.approx(1.0, abs=1e-15)
    assert drawn.keys() <= found.keys()
    for result, chance in found.items():
        # Five standard deviations; the seed is fixed.
        assert drawn[result] / n == pytest.approx(chance, abs=5 * math.sqrt(0.25 / n))


def test_probabilities_are_exact():
    assert branched(PROGRAMS["a coin"]) == {"True": 0.3, "False": 0.7}
    assert branched(PROGRAMS["dice"])["7"] == pytest.approx(5 / 30, rel=1e-15)
    assert branched(PROGRAMS["until"]) == {"0": 0.5, "1": 0.25, "2": 0.125, "3": 0.125}
    assert len(branched(PROGRAMS["an order"])) == 6
    assert branched(PROGRAMS["one draw, compared twice"]) == {
        "[False, False]": 0.5,
        "[True, False]": 0.25,
        "[True, True]": 0.25,
    }


def test_sums_that_end_just_below_one_leave_nothing_over():
    """As rounding makes them; where none is larger, argmax would be the first."""
    cumulated = np.cumsum(np.full(300, 1 / 300))
    assert cumulated[-1] < 1.0
    found = branched(lambda rng: int(np.argmax(cumulated > rng.random())))
    assert len(found) == 300
    assert max(found.values()) - min(found.values()) < 1e-14


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (lambda rng: rng.normal(), "it draws by normal, whose ways are not counted"),
        (lambda rng: float(rng.random()), "the value of a draw, of which there is no end"),
        (lambda rng: rng.random() < rng.random(), "two draws with each other"),
        (lambda rng: rng.random() == 0.5, "whether a draw equals something"),
        (lambda rng: rng.integers(10**9), "has more than 1000 ways"),
        (lambda rng: rng.integers(3, 3), "there is none"),
        (lambda rng: [rng.integers(2) for _ in range(20)], "more than 1000 ways to come out"),
        (lambda rng: rng.choice([]), "choice from nothing"),
    ],
)
def test_what_has_no_end_is_refused(program, message):
    with pytest.raises(ti.InvalidInputError, match=message):
        branched(program)


def test_what_is_drawn_until_it_fits_ends_too():
    def fitting(rng):
        while rng.integers(2) == 0:
            pass

    with pytest.raises(ti.InvalidInputError, match="draws more than 1000 times"):
        branched(fitting)
    generator = BranchingGenerator(10**9, time.monotonic() - 1.0)
    with pytest.raises(ti.InvalidInputError, match="took too long; allow max_seconds"):
        list(generator.every(lambda: generator.random() < 0.5))


def test_a_draw_is_not_kept_for_later():
    generator = BranchingGenerator(10)
    [(_, draw)] = generator.every(generator.random)
    with pytest.raises(ti.InvalidInputError, match="a draw of an earlier step"):
        assert draw < 0.5


def test_what_draws_otherwise_when_repeated():
    calls = []

    def forgetful(rng):
        calls.append(1)
        return rng.integers(2 if len(calls) == 1 else 3)

    with pytest.raises(ti.InvalidInputError, match="draws otherwise when it is repeated"):
        branched(forgetful)
