"""Pages in a real browser, with the application itself behind them: no server, no waiting."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from playwright.sync_api import expect, sync_playwright

import browsing
from browsing import emptied, launched, nothing_is_wrong
from greyscale import stands_out
from studio_server import DESK
from teachirl.app.problem import read_problem
from teachirl.app.studio.desk import desk_app
from teachirl.app.studio.lesson_server import Classroom, lesson_app
from teachirl.app.studio.security import Guard, hosts_of
from teachirl.app.studio.serving import examples
from teachirl.app.studio.study import Condition, Study

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("studio")]
HOME = "http://127.0.0.1:8765"
ONE = Study(
    watch=1,
    episodes=1,
    steps=2,
    features=1,
    condition=(Condition(name="taught", teacher="TRGreedy"),),
)
MANY = 30  # actions: more than there are digits, and than there are letters


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright, launched(playwright) as running:
        yield running


@pytest.fixture
def many(tmp_path):
    """Three states in a ring, and so many actions that lead on or stay."""
    rows = ["state,action,next_state,probability"]
    for state in range(3):
        to = [(state + i % 2) % 3 for i in range(MANY)]
        rows += [f"s{state},act {i},s{to[i]},1" for i in range(MANY)]
    (tmp_path / "transitions.csv").write_text("\n".join(rows), encoding="utf-8")
    features = "state,here,there\ns0,1,0\ns1,0,1\ns2,0,0\n"
    (tmp_path / "features.csv").write_text(features, encoding="utf-8")
    (tmp_path / "start.csv").write_text("state,probability\ns0,1\n", encoding="utf-8")
    text = """\
[world]
transitions = "transitions.csv"
features = "features.csv"
start = "start.csv"
discount = 0.9
[reward.weights]
there = 1.0
[learner]
sees = ["here"]
[[teach.feature]]
name = "there"
cost = 1.0
"""
    (tmp_path / "problem.toml").write_text(text, encoding="utf-8")
    return read_problem(tmp_path / "problem.toml")


async def answered(app, asked):
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport) as client:
        return await client.request(
            asked.method, asked.url, content=asked.post_data_buffer, headers=asked.headers
        )


@pytest.fixture(scope="module")
def tab(browser):
    with browser.new_context() as context:
        yield browsing.opened(context)


def visited(page, elsewhere, app, path):
    """Lead a page to an application that answers in another thread."""

    def answer(route):
        given = elsewhere.submit(asyncio.run, answered(app, route.request)).result()
        route.fulfill(status=given.status_code, body=given.content, headers=given.headers)

    page.route(f"{HOME}/**", answer)
    page.goto(f"{HOME}/{path}")
    return page


@pytest.fixture
def opened(tab, tmp_path):
    """Opens the lesson of a problem for its only participant; the page and the participant."""
    # The browser is driven from this thread, so the application is in another.
    with ThreadPoolExecutor(1) as elsewhere:
        rooms = []

        def open_lesson(problem, study=ONE):
            room = elsewhere.submit(Classroom, problem, study, tmp_path / "room").result()
            rooms.append(room)
            guard = Guard(hosts_of("127.0.0.1", 8765), "0123456789abcdef", True, room.secret_of)
            page = visited(tab, elsewhere, lesson_app(room, guard), room.links()[0][1])
            return page, next(iter(room.people.values()))

        yield open_lesson
        emptied(tab)
        for room in rooms:
            elsewhere.submit(room.ledger.close).result()


def stage(page, name):
    page.wait_for_selector(f"body[data-at^='[\"{name}\"']")


def test_every_page_of_a_lesson_is_accessible(opened, tmp_path):
    (tmp_path / "problem.toml").write_text(DESK, encoding="utf-8")
    page, person = opened(read_problem(tmp_path / "problem.toml"))
    seen, drawn = [], {}
    while True:
        stage(page, person.stage)
        before = page.evaluate("document.body.dataset.at")
        if person.stage not in seen:
            nothing_is_wrong(page)
            drawn[person.stage] = stands_out(page)
            seen.append(person.stage)
        if person.stage == "end":
            break
        if person.stage == "act":
            page.keyboard.press(
                {"←": "ArrowLeft", "→": "ArrowRight"}[page.inner_text("button.act kbd")]
            )
        else:
            if person.stage == "watch":
                page.focus("#to-end")
                page.keyboard.press("Enter")
            page.focus("#go")
            page.keyboard.press("Enter")
        page.wait_for_selector(f"body:not([data-at='{before}'])")
    assert seen == ["consent", "instructions", "watch", "act", "new", "end"]
    # On a map there are a token and where it was; hatched cells; at the end a bar and two words.
    assert drawn["act"] >= 2 and drawn["watch"] >= 2 and drawn["new"] >= 1 and drawn["end"] >= 4
    assert page.complaints == []


def test_thirty_actions_by_keyboard_alone(opened, many):
    page, person = opened(many)
    for name in ("consent", "instructions", "watch"):
        stage(page, name)
        if name == "watch":
            page.focus("#to-end")
            page.keyboard.press("Enter")
        page.focus("#go")
        page.keyboard.press("Enter")
    stage(page, "act")
    assert page.locator("button.act").all_inner_texts() == person.course.surroundings()["keys"]
    page.keyboard.press("b")
    expect(page.locator("#typed")).to_have_text("B …")
    page.keyboard.press("c")  # the 29th: it stays
    page.wait_for_selector("body[data-at='[\"act\",0,0,1]']")
    assert person.pairs == [28] and person.state == 0
    page.keyboard.press("z")  # leads nowhere, and is forgotten
    page.keyboard.press("b")
    page.keyboard.press("B")  # the 28th: it leads on
    stage(page, "new")
    assert person.done[0] == [([28, 27], False)]
    nothing_is_wrong(page, [320])


CONSENT = """\
## What is kept

Nothing but *what you do*, under a number. Ask [us](https://example.org) about it.

1. You may stop at any time.
2. Nobody pays.

```
a line of code that is much longer than a telephone is wide, and has to go somewhere all the same
```

> So be it.
"""


def test_texts_of_a_study_are_accessible(opened, many):
    page, _ = opened(many, ONE.model_copy(update={"consent": CONSENT}))
    expect(page.locator("main h2")).to_have_text("What is kept")
    nothing_is_wrong(page)


def test_the_gallery_is_accessible_and_leads_to_desks(tab, tmp_path):
    with ThreadPoolExecutor(1) as elsewhere:
        guard = Guard(hosts_of("127.0.0.1", 8765), "0123456789abcdef", True)
        app = elsewhere.submit(desk_app, examples(), tmp_path, guard).result()
        page = visited(tab, elsewhere, app, "")
        names = page.locator("#cards a")
        expect(names).to_have_count(len(examples()))
        nothing_is_wrong(page)
        for name in examples():
            page.keyboard.press("Tab")
            while page.evaluate("document.activeElement.closest('#cards') === null"):
                page.keyboard.press("Tab")
            href = page.evaluate("document.activeElement.getAttribute('href')")
            assert href == f"/?problem={name}"
        assert page.complaints == []
        emptied(page)
