"""What the documentation shows is what happens."""

import doctest
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/demonstrations.md",
        "docs/learners.md",
        "docs/teaching.md",
        "docs/planning.md",
        "docs/risk.md",
        "docs/uncertainty.md",
        "docs/unknown_learner.md",
    ],
)
def test_examples_run(page):
    text = (ROOT / page).read_text(encoding="utf-8").replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    report: list[str] = []
    result = doctest.DocTestRunner().run(test, out=report.append)
    assert result.attempted > 0
    assert result.failed == 0, "".join(report)


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for part in page.read_text(encoding="utf-8").split("](")[1:]:
            target = part.split(")")[0].split("#")[0]
            if target and "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_readme_begins_with_what_it_does_for_whom():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = text.split("\n\n")[1]
    assert first.startswith("You have an expert, a learner that lacks features, and a price list")
    for word in ("inverse", "reinforcement", "MDP", "expectation", "policy"):
        assert word not in first
    # The picture of a report is next, and the paper comes after one's own problem.
    picture = ROOT / "docs" / "images" / "report.png"
    assert text.split("\n\n")[2].endswith("(docs/images/report.png)")
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size < 200_000
    assert text.index("teachirl init") < text.index("NeurIPS")


def test_the_demo_ends_with_a_problem_of_ones_own():
    done = subprocess.run(
        ["make", "--no-print-directory", "-n", "demo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    *_, first, second, third = done.stdout.splitlines()
    for line, command in ((first, "init"), (second, "check"), (third, "teach")):
        assert f"teachirl {command} problem.toml" in line
