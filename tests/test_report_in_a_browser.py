"""The report in a real browser: axe finds nothing, nothing is fetched, and it fits a phone.

It runs where playwright, axe_core_python and a Chromium are installed, and is skipped elsewhere.
"""

import os
import shutil

import pytest

from results import CHAIN, advice_of, frontier_of, standing_of, written
from teachirl.problem import example_text
from teachirl.report.html import write_report

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip(
    "axe_core_python.sync_playwright", reason="axe_core_python is not installed"
)
NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed"),
]
GRID = """\
[world]
name = "obstacles"
[learner]
sees = ["cell 4"]
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
    # Chromium's sandbox does not work for root, as whom containers run.
    flags = ["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield launched
        launched.close()


@pytest.fixture(scope="module", params=PROBLEMS)
def report(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    problem = written(folder, PROBLEMS[request.param])
    return write_report(
        folder,
        problem,
        standing=standing_of(problem),
        advice=advice_of(problem),
        frontier=frontier_of(problem),
    )


@pytest.mark.parametrize("width", [1200, 390, 320])
def test_nothing_is_wrong_at_any_width(browser, report, width):
    page = browser.new_page(viewport={"width": width, "height": 800})
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(report.as_uri())
    assert [url for url in asked if not url.startswith("data:image/svg+xml;")] == [report.as_uri()]
    assert page.evaluate("[...document.images].every(i => i.complete && i.naturalWidth > 100)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    found = axe.Axe().run(page)
    assert [each["id"] for each in found["violations"]] == []
    assert len(found["passes"]) > 15
    assert complaints == []
    page.close()


def test_a_printed_table_fits_the_paper(browser, report):
    page = browser.new_page(viewport={"width": 680, "height": 900})  # A4 without its margins
    page.goto(report.as_uri())
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 680
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.close()
