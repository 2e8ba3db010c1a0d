"""The report in a real browser: axe finds nothing, nothing is fetched, and it fits a phone.

Any Chromium, Chrome or Edge will do. Where there is none the tests are skipped, or fail if the
environment says REQUIRE_BROWSER=1, as `.ci/run` does.
"""

from functools import cache

import pytest
from axe_core_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

from browsing import emptied, launched, opened
from results import CHAIN, assessment_of, frontier_of, plan_of, written
from teachirl.app.document.documents import report as report_on
from teachirl.app.problem import example_text
from teachirl.app.render.html import write_report

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
WIDTHS = (1200, 390, 320)
PAPER = 680  # A4 without its margins
GRID = """\
[world]
name = "obstacles"
size = 4
goals = [2]
obstacles = [1]
[learner]
sees = ["cell 3"]
[teach]
features = "all"
"""
PROBLEMS = {
    "chain": CHAIN,
    "road": example_text(),
    "grid": GRID,
}


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright, launched(playwright) as running:
        yield running


@pytest.fixture(scope="module")
def tab(browser):
    with browser.new_context() as context:
        yield opened(context)


@pytest.fixture
def page(tab):
    yield tab
    emptied(tab)


@pytest.fixture(scope="module")
def report_of(tmp_path_factory):
    @cache
    def made(name):
        folder = tmp_path_factory.mktemp(name)
        problem = written(folder, PROBLEMS[name])
        found = assessment_of(problem), plan_of(problem), frontier_of(problem)
        return write_report(folder, report_on(problem, *found))

    return made


@pytest.mark.parametrize("name", PROBLEMS)
def test_nothing_is_wrong_at_any_width(page, report_of, name):
    report = report_of(name)
    page.goto(report.as_uri())
    assert [url for url in page.asked if not url.startswith("data:image/svg+xml;")] == [
        report.as_uri()
    ]
    assert page.evaluate("[...document.images].every(i => i.complete && i.naturalWidth > 100)")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.emulate_media(media="print")
    page.set_viewport_size({"width": PAPER, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER
    page.emulate_media(media="screen")
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    for width in (WIDTHS[0], WIDTHS[-1]):
        page.set_viewport_size({"width": width, "height": 800})
        # All rules are applied to all of the page; of what passes it need not name every element.
        found = Axe().run(page, options={"resultTypes": ["violations"]})
        assert [each["id"] for each in found["violations"]] == []
        assert len(found["passes"]) > 15
    assert page.complaints == []


def test_it_can_be_printed(page, report_of):
    page.goto(report_of("chain").as_uri())
    assert page.pdf(format="A4").startswith(b"%PDF")
