"""What the documentation shows is what happens."""

import doctest
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "page",
    ["README.md", "docs/learners.md", "docs/teaching.md", "docs/planning.md", "docs/risk.md"],
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


def test_the_demo_tells_the_story(tmp_path, capsys):
    demo = runpy.run_path(str(ROOT / "examples" / "figure_1.py"))
    demo["main"](str(tmp_path))
    story = capsys.readouterr().out
    # The table of the paper's chain at discount 0.9, and who looks like whom.
    for value in ("+3.9240", "+1.3242", "-1.3242", "-3.9240"):
        assert value in story
    assert "1 looks like → → → → ← to her: → ← ← ← ←" in story
    assert "1 looks like → → → ← ← to her: → → ← ← ←" in story
    assert (tmp_path / "figure_1.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "figure_1.svg").read_bytes()
