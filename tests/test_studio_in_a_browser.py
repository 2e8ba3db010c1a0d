"""The desk in a real browser: every control, by mouse and by keyboard alone; kills and restarts."""

import json
import re
import tomllib

import psutil
import pytest
from playwright.sync_api import expect, sync_playwright

import teachirl as ti
from browsing import emptied, launched, nothing_is_wrong, opened
from greyscale import stands_out
from studio_server import DESK, begun, ended
from teachirl.app.problem import read_problem

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("studio")]
SETTLED = "body[data-settled]"
PATIENCE = 300_000  # the first test may compile; nothing here is about speed
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright, launched(playwright) as running:
        yield running


class Desk:
    def __init__(self, folder):
        self.folder = folder
        (folder / "problem.toml").write_text(DESK, encoding="utf-8")
        self.start(0)

    def start(self, port):
        self.process, self.link = begun("studio", "problem.toml", "--port", port, cwd=self.folder)
        self.port = int(re.search(r":(\d+)/", self.link)[1])


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    made = Desk(tmp_path_factory.mktemp("desk"))
    yield made
    assert ended(made.process) == 0


@pytest.fixture(scope="module")
def tab(browser):
    with browser.new_context(accept_downloads=True) as context:
        context.set_default_timeout(PATIENCE)
        yield opened(context)


@pytest.fixture
def page(tab, desk):
    tab.goto(desk.link)
    tab.wait_for_selector(SETTLED)
    yield tab
    own = (desk.link, "data:", "blob:")
    assert [url for url in tab.asked if not url.startswith(own)] == []
    emptied(tab)


def feature(page, name):
    return page.locator(f'#features button[data-name="{name}"]')


def guaranteed(page):
    page.wait_for_selector(SETTLED)
    return page.locator("#guaranteed").inner_text()


def test_every_control_of_the_desk(page, desk):
    assert guaranteed(page) == "≥ 0 %"
    feature(page, "cell 1").click()
    assert guaranteed(page) == "≥ 100 %"
    assert "taught=cell+1" in page.url
    expect(page.locator("#facts")).to_contain_text("met")
    feature(page, "cell 3").click()  # what if the learner did not see it?
    page.wait_for_selector(SETTLED)
    assert "sees=" in page.url
    expect(feature(page, "cell 3")).to_contain_text("what if")
    # Undo, redo, back and reload lead to the same.
    page.click("#undo")
    page.click("#undo")
    assert guaranteed(page) == "≥ 0 %"
    page.click("#redo")
    assert guaranteed(page) == "≥ 100 %"
    page.reload()
    assert guaranteed(page) == "≥ 100 %"
    page.go_back()
    assert guaranteed(page) == "≥ 0 %"
    page.keyboard.press("Shift+U")  # undoes the step back
    assert guaranteed(page) == "≥ 100 %"
    page.keyboard.press("Shift+R")
    assert guaranteed(page) == "≥ 0 %"
    # What is shown, and how closely it is matched.
    page.check('input[name="show"][value="choose"]')
    chosen = guaranteed(page)
    assert "show=choose" in page.url and chosen != "≥ 0 %"
    page.click("#undo")
    page.locator("#mismatch").focus()
    page.keyboard.press("PageUp")
    page.wait_for_selector(SETTLED)
    assert "mismatch=" in page.url
    # The episode is played, paused and stepped through.
    page.click("#undo")
    page.wait_for_selector(SETTLED)
    before = page.locator("#now").inner_text()
    page.click("#step")
    assert page.locator("#now").inner_text() != before
    page.click("#back")
    assert page.locator("#now").inner_text() == before
    page.click("#play")
    expect(page.locator("#play")).to_have_text("Pause")
    expect(page.locator("#now")).not_to_have_text(before)
    page.click("#play")
    expect(page.locator("#play")).to_have_text("Play")
    # The problem file with the choice.
    feature(page, "cell 5").click()
    page.wait_for_selector(SETTLED)
    with page.expect_download() as download:
        page.click("#save-problem")
    saved = tomllib.loads(download.value.path().read_text(encoding="utf-8"))
    assert saved["teach"]["required"] == ["cell 5"]
    # The door to the lesson.
    page.click("#door")
    link = page.locator("#door-link a").get_attribute("href")
    lesson = page.context.new_page()
    lesson.goto(link)
    lesson.wait_for_selector("text=Before you begin")
    lesson.close()
    assert page.complaints == []


def test_the_curve_is_kept_and_its_points_are_taken(page, desk):
    page.click("text=Draw the curve")
    page.wait_for_selector("#points button")
    points = page.locator("#points button")
    assert points.count() == 2
    points.nth(1).click()
    page.wait_for_selector(SETTLED)
    assert "taught=" in page.url
    page.click("text=Make a plan")
    with page.expect_download() as download:
        page.click("text=Download the plan")
    plan = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert plan["plan"]["steps"]
    # kill -9, and a server that is started again: what was found is there, and the address holds.
    thinker = psutil.Process(desk.process.pid).children()[0]
    desk.process.kill()
    desk.process.wait()
    desk.process.stdout.close()
    thinker.wait(timeout=300)  # it ends when nobody asks any more
    desk.start(desk.port)
    page.reload()
    page.wait_for_selector(SETTLED)
    page.wait_for_selector("#points button[aria-pressed=true]")
    page.wait_for_selector("text=Download the plan")


def test_work_that_was_begun_for_another_choice_is_not_shown(page, desk):
    def slowly(route):
        feature(page, "cell 3").click()
        page.wait_for_selector(SETTLED)
        route.continue_()

    # Nobody has asked for the curve of those who miss so much.
    page.goto(f"{desk.link}?problem=problem&mismatch=0.07")
    page.wait_for_selector(SETTLED)
    page.route("**/api/work/*/frontier", slowly)
    with page.expect_response("**/api/work/*/frontier"):
        page.click("text=Draw the curve")
    page.evaluate("fetch('/api/problems').then((answer) => answer.text())")  # and one more way
    expect(page.locator("[data-kind=frontier] button")).to_have_text("Draw the curve", timeout=5000)
    assert page.locator("#points button").count() == 0


def test_a_question_that_cannot_be_answered_does_not_stay_open(page, desk):
    page.goto(f"{desk.link}?problem=problem&taught=nonsense")
    expect(page.locator("#trouble")).to_contain_text("nonsense")
    expect(page.locator("#state")).to_have_text("no answer", timeout=5000)


def reopened(desk, text):
    """Change the problem on the desk: whoever comes next finds it so."""
    (desk.folder / "problem.toml").write_text(text, encoding="utf-8")


def test_points_have_what_is_required_and_opening_is_told(page, desk):
    required = '[teach]\nrequired = ["cell 5"]\n\n[[teach.feature]]'
    reopened(desk, DESK.replace("[[teach.feature]]", required, 1))
    said = []

    def heard(route):
        said.append(page.locator("#state").inner_text())
        route.continue_()

    page.route("**/api/problem/*", heard)
    page.reload()
    page.wait_for_selector(SETTLED)
    assert said == ["opening the problem"]
    page.click("text=Draw the curve")
    point = page.locator("#points button").last
    expect(point).to_contain_text("cell 5")
    point.click()
    expect(point).to_have_attribute("aria-pressed", "true", timeout=5000)
    reopened(desk, DESK)


def working(server):
    """The processes of long work that a server has."""
    return [each for each in server.children() if "studio.work" in command_line(each)]


def command_line(process):
    try:
        return " ".join(process.cmdline())
    except psutil.Error:  # it has just ended
        return ""


def until(page, holds):
    while not holds():
        page.wait_for_timeout(20)


def test_a_killed_process_is_replaced_and_work_can_be_cancelled(page, desk):
    server = psutil.Process(desk.process.pid)
    server.children()[0].kill()
    feature(page, "cell 5").click()
    page.wait_for_selector(SETTLED)
    expect(page.locator("#trouble")).to_be_hidden()
    page.click("text=Write a report")
    until(page, lambda: working(server))
    page.click("text=Cancel")
    expect(page.locator('.work[data-kind="report"]')).to_contain_text("Cancelled.")
    until(page, lambda: not working(server))
    page.click("text=Write a report")
    until(page, lambda: working(server))
    [process] = working(server)
    process.kill()
    expect(page.locator('.work[data-kind="report"]')).to_contain_text("has ended")


def test_two_desks_at_once_by_keyboard_alone(page, browser, desk):
    other = browser.new_page(viewport={"width": 800, "height": 800}, reduced_motion="reduce")
    other.set_default_timeout(PATIENCE)
    other.goto(f"{desk.link}?taught=cell+1")
    other.wait_for_selector(SETTLED)
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.name ?? ''") == "cell 3":
            break
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.name") == "cell 1"
    page.keyboard.press("Space")
    assert guaranteed(page) == "≥ 100 %"
    assert page.evaluate("document.activeElement.dataset.name") == "cell 1"
    page.keyboard.press("u")
    assert guaranteed(page) == "≥ 0 %"
    page.keyboard.press("r")
    assert guaranteed(page) == "≥ 100 %"
    # Everything that can be used can be come to with Tab.
    page.evaluate("document.activeElement.blur()")
    reached, usable = set(), "a[href], button:enabled, input:enabled, textarea:enabled"
    for _ in range(80):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.outerHTML"))
    count = page.evaluate(
        f"""[...document.querySelectorAll('{usable}')].filter(e => e.offsetParent
            && (e.type !== 'radio' || e.checked)).length"""
    )
    assert len(reached - {page.evaluate("document.body.outerHTML")}) >= count - 1
    assert guaranteed(other) == "≥ 100 %"
    assert (
        other.evaluate("getComputedStyle(document.querySelector('.token')).transitionDuration")
        == "0s"
    )
    other.close()


def test_axe_finds_nothing_and_several_rewards_are_told(page, desk):
    several = DESK.replace("[reward.weights]", "[reward]\nwithin = 0.3\n[reward.weights]")
    reopened(desk, several)
    page.reload()
    feature(page, "cell 5").click()
    page.wait_for_selector(SETTLED)
    expect(page.locator("#whatever")).to_contain_text("The reward is not known exactly")
    expect(page.locator("#whatever")).to_contain_text("Every learner who matches reaches")
    expect(page.locator("#facts")).to_contain_text("whatever the reward")
    page.click("text=Draw the curve")
    page.wait_for_selector("#points button")
    nothing_is_wrong(page)
    assert stands_out(page) > 20
    assert page.complaints == []
    reopened(desk, DESK)


UNKNOWN = DESK.replace('sees = ["cell 3"]', "unknown = true")


def test_the_desk_walks_through_probes(page, desk):
    reopened(desk, UNKNOWN)
    problem = read_problem(desk.folder / "problem.toml")
    mdp, view = problem.mdp, ti.Worldview.select(problem.mdp, ["cell 3"])
    page.reload()
    expect(page.locator("#known")).to_contain_text("Open: cell 1, cell 2, cell 3")
    nothing_is_wrong(page)
    page.click("#draw")
    page.click("#drawn button")
    expect(page.locator("#drawn")).to_have_text("Cancelled.")
    page.click("#draw")
    page.wait_for_selector("#drawn a")
    page.reload()  # a probe that waits for its answer is there again
    with page.expect_download() as download:
        page.click("#drawn a")
    shown = ti.Demonstration.of_policy(mdp, ti.Policy.load(download.value.path(), mdp))
    # A learner who sees one cell makes this of it.
    target = view.matrix @ shown.expectations
    learned = ti.learners.MinNormPoint().learn(view.observe(mdp), target).policy
    learned.save(desk.folder / "its.csv")
    page.fill("#answer-text", "state,action\nnowhere,left\n")
    page.click("#send-answer")
    expect(page.locator("#trouble")).to_contain_text("nowhere")
    page.fill("#answer-text", (desk.folder / "its.csv").read_text(encoding="utf-8"))
    page.click("#send-answer")
    expect(page.locator("#known")).to_contain_text("Does not see: cell 1")
    page.reload()  # what was answered is beside the problem file
    expect(page.locator("#known")).to_contain_text("Does not see: cell 1")
    assert (desk.folder / "problem.toml").read_text(encoding="utf-8") == UNKNOWN
    reopened(desk, DESK)
