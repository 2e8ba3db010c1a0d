"""A small part of the campaign against exact arithmetic; `make soundness` runs the whole."""

import numpy as np
import pytest
from flint import fmpq

import soundness
from teachirl.precision import length_at_least, length_at_most

CASES, CHUNK = 200, 10


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, CASES, CHUNK))
def test_every_bound_holds_exactly(first):
    for seed in range(first, first + CHUNK):
        tried, broken = soundness.check(seed)
        assert tried.total() >= 10
        assert broken == []


@pytest.mark.parametrize("seed", [2017, 4010, 4528, 5172, 5743, 6323, 6710])
@pytest.mark.filterwarnings("error")
def test_what_the_campaign_has_found(seed):
    """Four bounds that were on the wrong side, two programs on which HiGHS went on for ever, and a
    θ whose length overflowed."""
    _, broken = soundness.check(seed)
    assert broken == []


def test_a_bound_on_the_wrong_side_is_noticed(monkeypatch):
    def by_a_bit(case):
        yield "never", soundness.fmpq(1, 10**30), soundness.fmpq(0)

    monkeypatch.setattr(soundness, "PROMISES", (by_a_bit,))
    tried, broken = soundness.check(0)
    assert tried == {"never": 1}
    assert broken == ["never (seed 0): by 1e-30 of 0"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-200, 1e-160, 1.0, 1e160, 1e308])
def test_lengths_whose_squares_under_or_overflow(size):
    vector = size * np.array([0.6, -0.8, 0.0])
    least, most = length_at_least(vector), length_at_most(vector)
    squared = sum(fmpq(*float(entry).as_integer_ratio()) ** 2 for entry in vector)
    assert fmpq(*least.as_integer_ratio()) ** 2 <= squared
    assert squared <= fmpq(*most.as_integer_ratio()) ** 2
    assert most - least <= 1e-14 * most
