"""A browser for tests: any Chromium, Chrome or Edge."""

import os
import shutil

import pytest
from axe_core_python.sync_playwright import Axe
from playwright.sync_api import Error

NAMES = ("chromium", "chromium-browser", "google-chrome", "microsoft-edge")


def launched(playwright):
    """A browser: one on the path, one where it is usually installed, or Playwright's own."""
    # Chromium's sandbox does not work for root, as whom containers run.
    flags = ["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    on_path = [{"executable_path": path} for path in map(shutil.which, NAMES) if path]
    for which in [*on_path, {"channel": "chrome"}, {"channel": "msedge"}, {}]:
        try:
            return playwright.chromium.launch(args=flags, **which)
        except Error as error:
            reason = str(error).splitlines()[0]
    missing = pytest.fail if os.environ.get("REQUIRE_BROWSER") else pytest.skip
    return missing(f"no Chromium, Chrome or Edge can be started; of the last: {reason}")


def opened(context):
    """A page that notes what it asks for and complains of.

    Another one costs more than most tests: they share it, each after `emptied`.
    """
    page = context.new_page()
    page.complaints, page.asked = [], []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    return emptied(page)


def emptied(page):
    """The page as a new one is, of a browser that has been nowhere yet."""
    page.unroute_all()
    page.context.unroute_all()
    page.goto("about:blank")
    page.context.clear_cookies()
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 1200, "height": 900})
    page.complaints.clear()
    page.asked.clear()
    return page


def nothing_is_wrong(page, widths=(1200, 390, 320)):
    """Nothing has to be scrolled sideways at any of these widths, and axe, which takes most of the
    time, finds nothing at the widest and at the narrowest."""
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if width in (max(widths), min(widths)):
            found = Axe().run(page, options={"resultTypes": ["violations"]})
            assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []
            assert len(found["passes"]) > 10
