"""The page on certificates: its examples, and the picture's numbers by other means."""

import doctest
import runpy
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

import teachirl as ti

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "certificates.md"

pytestmark = pytest.mark.xdist_group("certificates page")


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(ROOT / "examples" / "fibre.py"))


@pytest.fixture(scope="module")
def record(script):
    return script["fibre"](script["world"]())


def extreme_mixture(points, weights, height, sign):
    """min or max of ⟨weights, μ⟩ over mixtures μ of the points [n, 2] with μ₀ = height."""
    solved = linprog(
        sign * points @ weights,
        A_eq=np.vstack([np.ones(len(points)), points[:, 0]]),
        b_eq=[1.0, height],
    )
    assert solved.status == 0
    return sign * solved.fun, solved.x @ points


@pytest.fixture(scope="module")
def page():
    """Runs the page once; what went wrong, and what its names stand for in the end."""
    text = PAGE.read_text(encoding="utf-8").replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, PAGE.name, 0)
    report: list[str] = []
    result = doctest.DocTestRunner().run(test, out=report.append, clear_globs=False)
    return result, "".join(report), test.globs


def test_the_examples_run(page):
    result, report, _ = page
    assert result.attempted > 0
    assert result.failed == 0, report


def test_the_page_is_about_the_picture(page, script, record):
    _, _, names = page
    np.testing.assert_array_equal(names["weights"], script["WEIGHTS"])
    np.testing.assert_allclose(names["mu"], record.shown, rtol=1e-12)
    np.testing.assert_allclose(names["nu"], record.worst, rtol=1e-9)


def test_the_ends_of_the_fibre(script, record):
    weights, height = script["WEIGHTS"], record.shown[0]
    assert record.policies.shape == (3**6, 2)
    for end, sign in ((record.worst, 1.0), (record.best, -1.0)):
        value, point = extreme_mixture(record.policies, weights, height, sign)
        assert weights @ end == pytest.approx(value, abs=1e-5)
        np.testing.assert_allclose(end, point, atol=1e-5)
        assert end[0] == pytest.approx(height, abs=1e-9)
    assert record.worst[1] < record.shown[1] < record.best[1]


def test_the_corners_are_those_of_m(script, record):
    mdp = script["world"]()
    for angle in np.linspace(0.0, 2 * np.pi, 12, endpoint=False):
        direction = np.array([np.cos(angle), np.sin(angle)])
        most = (record.corners @ direction).max()
        assert most == pytest.approx(ti.optimal_policy(mdp, direction).value, abs=1e-8)
    best = ti.optimal_policy(mdp, script["WEIGHTS"]).value
    assert script["WEIGHTS"] @ record.best_policy == pytest.approx(best, abs=1e-8)


def test_what_the_page_says_about_the_picture(page, script, record):
    proved = page[2]["proved"]
    weights = script["WEIGHTS"]
    # The width is the height above the lowest corner; Theorem 2's is the way along the bar.
    above = record.shown[1] - record.corners[:, 1].min()
    assert proved.width.gap == pytest.approx(weights[1] * above, abs=1e-6)
    right = record.corners[:, 0].max()
    assert proved.theorem_2.suboptimality == pytest.approx(right - record.shown[0], abs=1e-6)
    assert proved.exact.gap == pytest.approx(weights @ (record.shown - record.worst), abs=1e-5)


def test_positive_risk_goes_with_no_gap_at_a_corner(page, record):
    names = page[2]
    rightmost, plain = record.policies[:, 0].max(), names["plain"]
    low, point = extreme_mixture(record.policies, plain, rightmost, 1.0)
    high, _ = extreme_mixture(record.policies, plain, rightmost, -1.0)
    # The fibre is a point, and it is the best policy of all.
    assert high - low < 1e-9
    assert plain @ point == pytest.approx((record.policies @ plain).max(), abs=1e-9)
    assert ti.teaching_risk(names["view"], plain) > 0.04
    assert ti.relative_risk(names["mdp"], names["view"], plain) > 0.04
    assert names["corner"].exact.gap < 2e-5
    assert names["corner"].theorem_2.suboptimality < 1e-6
    # So too on the grid, for a learner who misses half of the reward.
    grid, twenty, w, top = (names[name] for name in ("grid", "twenty", "w", "top"))
    assert ti.teaching_risk(twenty, w) > 0.5
    found = ti.worst_case(grid, twenty, w, top.policy, tolerance=1e-11)
    assert top.upper - found.lower < 1e-8


def test_the_script_draws(script, record, tmp_path, capsys):
    script["main"](str(tmp_path))
    story = capsys.readouterr().out
    for point in (record.best_policy, record.shown, record.best, record.worst):
        assert f"reward {script['WEIGHTS'] @ point:+.4f}" in story
    assert "reward -1.0986" in story
    assert (tmp_path / "fibre.png").read_bytes().startswith(b"\x89PNG")


def test_the_picture_is_light():
    picture = (ROOT / "docs" / "images" / "fibre.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 150_000
