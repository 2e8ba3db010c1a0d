"""A small part of the campaign against exact arithmetic; `make soundness` runs the whole."""

import pytest

import soundness

CASES, CHUNK = 200, 10


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, CASES, CHUNK))
def test_every_bound_holds_exactly(first):
    for seed in range(first, first + CHUNK):
        tried, broken = soundness.check(seed)
        assert tried.total() >= 10
        assert broken == []


@pytest.mark.parametrize("seed", [2017, 4010, 4528, 5743, 6323, 6710])
def test_what_the_campaign_has_found(seed):
    """Four bounds that were on the wrong side, and two programs on which HiGHS went on for ever."""
    _, broken = soundness.check(seed)
    assert broken == []


def test_a_bound_on_the_wrong_side_is_noticed(monkeypatch):
    def by_a_bit(case):
        yield "never", soundness.fmpq(1, 10**30), soundness.fmpq(0)

    monkeypatch.setattr(soundness, "PROMISES", (by_a_bit,))
    tried, broken = soundness.check(0)
    assert tried == {"never": 1}
    assert broken == ["never (seed 0): by 1e-30 of 0"]
