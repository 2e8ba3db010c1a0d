"""What holds the benchmarks together: their last screen, and that they end in time."""

from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
COMMANDS = [["certify: Taxi", 0.4, 0.5], ["teach: driving example", 2.5, 2.0]]


@pytest.fixture
def scripts(monkeypatch):
    """The scripts, which import each other by their names."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import harness
    import summary
    import teachers
    import worst_case

    return harness, summary, worst_case, teachers


def scored(harness, titles, contestants, *, slowest="", table=None):
    """Rows as a script writes them: the first takes 1 s, the next 30, 60, …; one is too slow."""
    rules, rows = harness.Rules(), []
    for title in titles:
        scores = [
            harness.Score(name, 30.0 * i or 1.0, 0.0, 1e-8, 1)
            if name != slowest
            else harness.Score(name, note="over 60 s", over_limit=True)
            for i, name in enumerate(contestants)
        ]
        first = [] if table is None else [table]
        rows += [[*first, title, *harness.score_row(each, scores[0], rules)] for each in scores]
    return rows


def lines_of(text):
    """The cells of each line of a table."""
    lines = [line for line in text.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_last_screen_has_every_aim(scripts, tmp_path):
    harness, summary, worst_case, teachers = scripts
    header = ["case", *harness.SCORE_HEADER]
    peers = ["teachirl", "QuantEcon", "Storm"]
    grids = ["grid 20×20, γ 0.9, slip 0.3", "grid 128×128, γ 0.99, slip 0.3"]
    singles = scored(
        harness, [*grids, "Taxi-v4, γ 0.99", "garnet 1,000, γ 0.9"], peers, table="single"
    )
    batched = scored(
        harness, grids[:1], ["teachirl, batched", "teachirl, one by one"], table="batched"
    )
    harness.write_csv(tmp_path / "planning.csv", ["table", *header], [*batched, *singles])
    models = scored(harness, ["coin2, γ 0.9", "coin2, γ 0.99"], peers, slowest="QuantEcon")
    harness.write_csv(tmp_path / "models.csv", header, models)
    million = worst_case.Case(1000, 50, 0.9, 0.0)
    driving = worst_case.WorldCase("driving", 3, 10)
    worst = scored(harness, [million.title], worst_case.PLANS)
    worst += scored(harness, [driving.title], worst_case.OTHERS)
    harness.write_csv(tmp_path / "worst_case.csv", header, worst)
    rounds = [case.title for case in teachers.all_cases()]
    harness.write_csv(tmp_path / "teachers.csv", header, scored(harness, rounds, teachers.FIELDS))
    harness.write_csv(tmp_path / "commands.csv", ["command", "seconds", "aim"], COMMANDS)

    text = summary.summary(tmp_path)
    found = {(row[0], row[5]): row for row in lines_of(text)}
    # In the median Storm takes 60 times as long; of the slip grids none is without Storm.
    median = found["planning, all of these", "≥ ×5"]
    assert median[1:5] == ["4 cases", "", "Storm", "×60 in the median"]
    assert found["planning, models", "≥ ×1"][3] == "Storm, 60 s"
    assert found["planning, slip grids", "≥ ×8"][1] in grids
    assert found["planning, slip grids", "≥ ×10"][3:5] == ["QuantEcon, 30 s", "×30 at least"]
    assert found["planning, Taxi", "≥ ×1"][4] == found["planning, garnets", "≥ ×1"][4] == "×30"
    assert found["worst case", "≤ 60"][4] == "0.0333 solves"
    assert found["worst case", "≥ ×20"][4] == "×60"
    assert found["worst case, a million states", "≤ 30"][-1] == "met"
    for aim, verdict in (("×100", "missed"), ("×40", "met"), ("×10", "met")):
        assert found["GapGreedy, a round", f"≥ {aim}"][-1] == verdict
    assert found["certify: Taxi", "≤ 0.5 s"][-1] == "met"
    assert found["teach: driving example", "≤ 2 s"][-1] == "missed"
    assert text.endswith(
        f"{sum(row[-1] == 'met' for row in found.values())} of {len(found)} aims met."
    )


def test_what_was_not_measured_is_left_out(scripts, tmp_path):
    assert scripts[1].summary(tmp_path) == f"There is nothing in {tmp_path} yet."


def test_no_case_is_begun_when_the_time_is_up(scripts, capsys):
    harness, done = scripts[0], []
    with harness.Run([1.0] * 3, minutes=1e-9) as run:
        done.append("what was measured before")
        run.progress.step("the first")
        done.append("the first")
    assert (run.status, done) == (0, ["what was measured before"])
    assert "3 cases are left out" in capsys.readouterr().err
    with harness.Run([1.0]) as run:
        run.progress.step("without a limit")
