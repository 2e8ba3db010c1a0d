"""A whole lesson in a real browser, by two people: one who matches, and one who wanders."""

import csv
import json
import re

import pytest
from playwright.sync_api import Error, expect, sync_playwright

import teachirl as ti
from browsing import launched, nothing_is_wrong
from studio_server import DESK, begun, ended
from teachirl.app.cli import app
from teachirl.app.problem import read_problem

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("studio")]
STUDY = """\
seed = 2
participants = 2
watch = 2
episodes = 2
steps = 4
features = 1
consent = "You are asked to **agree**. <script>window.harm = 1</script>"

[[condition]]
name = "taught"
teacher = "TRGreedy"

[[condition]]
name = "on your own"
teacher = "none"
"""
PATIENCE = 300_000  # the first test may compile; nothing here is about speed
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright, launched(playwright) as running:
        yield running


class Lesson:
    def __init__(self, folder):
        self.folder = folder
        (folder / "problem.toml").write_text(DESK, encoding="utf-8")
        (folder / "study.toml").write_text(STUDY, encoding="utf-8")
        self.start(0)

    def start(self, port):
        options = ("--study", "study.toml", "--port", port)
        self.process, link = begun("lesson", "problem.toml", *options, cwd=self.folder)
        self.port = int(re.search(r":(\d+)/", link)[1])
        with (self.folder / "lesson" / "links.csv").open(encoding="utf-8", newline="") as file:
            self.links = [row["link"] for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def lesson(tmp_path_factory):
    made = Lesson(tmp_path_factory.mktemp("lesson"))
    yield made
    assert ended(made.process) == 0


class Person:
    """Somebody at a page, who uses the keyboard alone if `keys`."""

    def __init__(self, browser, link, *, keys, width):
        self.keys, self.width = keys, width
        self.context = browser.new_context(
            viewport={"width": width, "height": 800}, has_touch=not keys
        )
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.heard, self.complaints = [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.context.route("**/p/**", self._hear)
        self.page.goto(link)

    def _hear(self, route):
        """All that the server sends to this page goes through here."""
        try:
            response = route.fetch()
        except Error:
            route.abort()
            return
        self.heard.append(response.text())
        route.fulfill(response=response)

    @property
    def at(self):
        self.page.wait_for_selector("body[data-at]")
        return json.loads(self.page.evaluate("document.body.dataset.at"))

    def go_on(self):
        before = self.at
        button = self.page.locator("#go")
        if self.keys:
            button.focus()
            self.page.keyboard.press("Enter")
        else:
            button.tap()
        self.wait(before)

    def wait(self, before):
        self.page.wait_for_selector(
            f"body:not([data-at='{json.dumps(before, separators=(',', ':'))}'])"
        )

    def watch(self):
        self.page.click("#step")
        self.page.click("#to-end")
        expect(self.page.locator("#go")).to_be_enabled()
        self.go_on()

    def act(self, name):
        before = self.at
        arrow = {"left": "ArrowLeft", "right": "ArrowRight"}[name]
        if self.keys:
            self.page.keyboard.press(arrow)
        else:
            self.page.locator("button.act", has_text=name).tap()
        self.wait(before)

    def cell(self):
        # The middle of the token: cells are 40 wide.
        return int(float(self.page.locator(".token").get_attribute("cx")) // 40)


def episode(person, choose):
    number = person.at[2]
    while person.at[0] == "act" and person.at[2] == number:
        person.act(choose(person))


def expert(person):
    """Right, and from the last cell back again: what the demonstrations show."""
    return "right" if person.cell() < 4 else "left"


def wanderer(person):
    return "left" if person.cell() > 0 else "right"


def _says_no_more_than_it_was_told(page):
    def told(route):
        said = {"guaranteed": 0.96756, "off": 0.25, "mean": 0.5, "low": 0.12386, "high": 0.90011}
        route.fulfill(json=route.fetch().json() | said)

    page.route("**/now", told)
    page.set_viewport_size({"width": 1200, "height": 800})
    page.reload()
    expect(page.locator("#guaranteed")).to_have_text("96.7 %")
    expect(page.locator("#mean")).to_have_text("50 %")
    expect(page.locator("#off")).to_have_text("0.25")
    expect(page.locator("#performance")).to_have_text("12.3 % – 90.1 %")
    assert page.locator("#gauge svg").bounding_box()["width"] < 600
    page.unroute("**/now")


def test_a_lesson_of_two_people_and_a_killed_server(browser, lesson):
    problem = read_problem(lesson.folder / "problem.toml")
    people = [
        Person(browser, lesson.links[0], keys=True, width=1200),
        Person(browser, lesson.links[1], keys=False, width=390),
    ]
    one, other = people
    ways = {one: expert, other: wanderer}
    for person in people:
        expect(person.page.locator("strong")).to_have_text("agree")
        nothing_is_wrong(person.page, [person.width])
        person.go_on()
        person.go_on()
        nothing_is_wrong(person.page, [person.width])
        person.watch()
        nothing_is_wrong(person.page, [person.width])
        person.act(ways[person](person))
        person.act(ways[person](person))
    # kill -9 in the middle of an episode: what was acknowledged is there, and everybody goes on.
    places = [person.at for person in people]
    lesson.process.kill()
    lesson.process.wait()
    lesson.process.stdout.close()
    one.page.keyboard.press("ArrowLeft")  # is sent until there is somebody to answer
    expect(one.page.locator("#trouble")).to_contain_text("Nothing is lost")
    lesson.start(lesson.port)
    one.wait(places[0])
    assert one.at == ["act", 0, 0, 3]
    expect(one.page.locator("#trouble")).to_be_hidden()
    other.page.reload()
    assert other.at == places[1] == ["act", 0, 0, 2]
    for person in people:
        episode(person, ways[person])
        episode(person, ways[person])
        if person.at[0] == "new":
            expect(person.page.locator("main")).to_contain_text("From now on you can see")
            nothing_is_wrong(person.page, [320])
            person.page.go_back()
            person.page.go_forward()
            person.go_on()
        person.watch()
        episode(person, ways[person])
        episode(person, ways[person])
        assert person.at[0] == "end"
        nothing_is_wrong(person.page, [320])
        person.page.reload()
        expect(person.page.locator("#performance")).to_contain_text("%")
    _says_no_more_than_it_was_told(one.page)
    _no_secrets(problem, people)
    _recorded(lesson, problem)
    for person in people:
        assert [each for each in person.complaints if "net::ERR_" not in each] == []
        assert person.page.evaluate("window.harm") is None
        person.context.close()


def _no_secrets(problem, people):
    """Of all that came to a page: no feature that was not revealed by then, and no reward."""
    names = [problem.mdp.feature_name(i) for i in range(problem.mdp.n_features)]
    taught = 0
    for person in people:
        visible = {"cell 3"}
        for text in person.heard:
            new = re.search(r'"stage":"new".*"name":"([^"]+)"', text)
            visible |= {new[1]} if new else set()
            assert [name for name in names if name in text and name not in visible] == []
            assert not re.search(r"reward|weight|return", text)
        taught += len(visible) - 1
    assert taught == 1


def _recorded(lesson, problem):
    out = lesson.folder / "files"
    assert _run("lesson", "export", lesson.folder / "lesson", "--out", out) == 0
    episodes = ti.read_trajectories(out / "trajectories.jsonl", problem.mdp)
    assert len(episodes) == 8 and episodes.lengths.tolist() == [4] * 8
    with (out / "trials.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    means = [
        sum(float(row["performance"]) for row in rows if row["participant"] == who) / 4
        for who in ("p001", "p002")
    ]
    assert means[0] > means[1]
    assert _run("lesson", "analyse", out / "trials.csv", "--out", out) == 0
    assert "permutation" in (out / "report.html").read_text(encoding="utf-8")


def _run(*arguments):
    try:
        app([str(each) for each in arguments], standalone_mode=False)
    except SystemExit as error:
        return error.code
    return 0
