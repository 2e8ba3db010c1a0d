"""The studio without a browser: who is let in, what is chosen, what is written."""

import asyncio
import json
import queue
import socket
import tomllib
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from threading import Thread

import httpx
import pytest
import uvicorn
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

import teachirl as ti
from studio_server import DESK
from teachirl.app.cli.problems import changes_of
from teachirl.app.problem import read_problem
from teachirl.app.studio import serving
from teachirl.app.studio.answers import Answers
from teachirl.app.studio.choice import Choice
from teachirl.app.studio.course import Course
from teachirl.app.studio.describe import digest, most_visited
from teachirl.app.studio.desk import desk_app
from teachirl.app.studio.doors import Door
from teachirl.app.studio.kept import Kept
from teachirl.app.studio.processes import Job
from teachirl.app.studio.security import AT_ONCE, BURST, Guard, Guarded, hosts_of
from teachirl.app.studio.serving import Address, examples
from teachirl.app.studio.study import read_study
from teachirl.app.studio.toml import with_choice
from teachirl.mdp.occupancy import occupancy

TOKEN = "a-token-of-many-letters"
HOME = "http://127.0.0.1:8765"
WORK = "/api/work/problem/plan"


@pytest.fixture
def problem(tmp_path):
    path = tmp_path / "problem.toml"
    path.write_text(DESK, encoding="utf-8")
    return path


@pytest.fixture
def app(problem, tmp_path):
    made = desk_app(
        {"problem": problem}, tmp_path / "out", Guard(hosts_of("127.0.0.1", 8765), TOKEN, True)
    )
    yield made
    # Closes what a server would close at its end.
    asyncio.run(_lived(made))


async def _lived(made):
    async with made.app.router.lifespan_context(made.app):
        pass


def asked(app, method, path, **options):
    async def ask():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url=HOME) as client:
            request = client.build_request(method, path, **options)
            return await client.send(request)

    return asyncio.run(ask())


KNOWN = {"X-Token": TOKEN}
REFUSED = {
    "another host": (421, "GET", "/", {"Host": "evil.example"}, b""),
    "another port": (421, "GET", "/", {"Host": "127.0.0.1:80"}, b""),
    "another origin": (403, "POST", WORK, {**KNOWN, "Origin": "http://evil.example"}, b"{}"),
    "no origin at all": (403, "POST", WORK, {**KNOWN, "Origin": "null"}, b"{}"),
    "another origin that reads": (
        403,
        "GET",
        "/api/problems",
        {**KNOWN, "Origin": "https://evil.example"},
        b"",
    ),
    "a foreign page's fetch": (
        403,
        "GET",
        "/api/problems",
        {**KNOWN, "Sec-Fetch-Site": "cross-site"},
        b"",
    ),
    "no token": (401, "POST", WORK, {}, b"{}"),
    "a wrong token": (401, "POST", WORK, {"X-Token": TOKEN[:-1]}, b"{}"),
    "a cookie where something changes": (
        401,
        "DELETE",
        "/api/work/1",
        {"Cookie": f"teachirl-8765={TOKEN}"},
        b"",
    ),
    "the cookie of a desk on another port": (
        401,
        "GET",
        "/api/problems",
        {"Cookie": f"teachirl-8766={TOKEN}"},
        b"",
    ),
    "no token to read": (401, "GET", "/api/problems", {}, b""),
    "up a folder, encoded": (400, "GET", "/static/%2e%2e/desk.py", {}, b""),
    "up a folder for a file": (
        400,
        "GET",
        "/api/file/probe/problem/..%2f..%2fproblem.toml",
        KNOWN,
        b"",
    ),
    "another file": (400, "GET", "/api/file/probe/problem/problem.toml", KNOWN, b""),
    "another problem": (400, "GET", "/api/problem/passwd", KNOWN, b""),
    "no file of ours": (404, "GET", "/static/desk.html", {}, b""),
    "10 MB": (413, "POST", WORK, KNOWN, b"x" * 10_000_000),
    "10 MB of an answer": (
        413,
        "POST",
        "/api/upload/problem/probe-1.json",
        KNOWN,
        b"x" * 10_000_000,
    ),
    "no JSON": (400, "POST", WORK, KNOWN, b"[" * 50_000),
    "half a character": (400, "POST", WORK, KNOWN, b'{"taught": ["\\ud800"]}'),
    "half a character in a link": (
        400,
        "GET",
        "/api/file/problem/problem.toml?choice=%7B%22taught%22%3A%5B%22%5Cud800%22%5D%7D",
        KNOWN,
        b"",
    ),
    "half a character for a lesson": (
        400,
        "POST",
        "/api/lesson/problem",
        KNOWN,
        b'{"\\udfff": 1}',
    ),
    "no choice": (400, "POST", WORK, KNOWN, b'{"sees": 3}'),
    "no such work": (400, "POST", "/api/work/problem/rm", KNOWN, b"{}"),
    "no such method": (405, "PUT", "/", KNOWN, b""),
}


@pytest.mark.parametrize("case", REFUSED)
def test_these_requests_are_refused(app, case):
    status, method, path, headers, body = REFUSED[case]
    answer = asked(app, method, path, headers=headers, content=body)
    assert answer.status_code == status
    assert "desk_app" not in answer.text and "[world]" not in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    if status != 405:
        assert answer.json()["error"]


def test_a_body_that_does_not_say_its_length_is_cut_off(app):
    async def endless():
        for _ in range(200):
            yield b"x" * 1000

    answer = asked(app, "POST", WORK, headers=KNOWN, content=endless())
    assert answer.status_code == 413


def test_who_asks_too_often_has_to_wait(monkeypatch):
    now = 0.0
    monkeypatch.setattr("teachirl.app.studio.security.time.monotonic", lambda: now)
    guard = Guard(hosts_of("127.0.0.1", 8765), TOKEN, True)
    scope = {"method": "GET", "path": "/", "query_string": b"", "client": ("127.0.0.1", 1)}
    headers = Headers({"host": "127.0.0.1:8765"})
    codes = [guard.refusal(scope, headers) for _ in range(int(BURST) + 1)]
    assert codes[:-1] == [None] * int(BURST) and codes[-1][0] == 429
    assert guard.refusal({**scope, "client": ("127.0.0.2", 1)}, headers) is None
    now = 1.0
    assert guard.refusal(scope, headers) is None
    # Files of ours count less: a room full of people may come from one address.
    room = {**scope, "client": ("127.0.0.3", 1), "path": "/static/lesson.js"}
    assert [guard.refusal(room, headers) for _ in range(10 * int(BURST))] == [None] * 2400
    assert {(guard.refusal(room, headers) or [200])[0] for _ in range(4000)} == {200, 429}


def test_who_keeps_too_much_open_has_to_wait():
    guard = Guard(hosts_of("127.0.0.1", 8765), TOKEN, True)
    scope = {"method": "GET", "path": "/", "query_string": b"", "client": ("127.0.0.1", 1)}
    headers = Headers({"host": "127.0.0.1:8765"})
    with ExitStack() as open_ones:
        for _ in range(AT_ONCE):
            assert guard.refusal(scope, headers) is None
            open_ones.enter_context(guard.answering(scope))
        assert guard.refusal(scope, headers)[0] == 429
        assert guard.refusal({**scope, "client": ("127.0.0.2", 1)}, headers) is None
    assert guard.refusal(scope, headers) is None


def test_connections_are_limited(monkeypatch):
    """A server of its own, in a thread: connections that say nothing count, too."""
    servers, links = [], queue.Queue()

    class Server(uvicorn.Server):
        def __init__(self, config):
            super().__init__(config)
            servers.append(self)

    monkeypatch.setattr(serving, "CONNECTIONS", 4)
    monkeypatch.setattr(serving.gc, "freeze", lambda: None)
    monkeypatch.setattr(serving.uvicorn, "Server", Server)
    serve = Thread(
        target=serving.serve,
        args=(lambda guard: Guarded(PlainTextResponse("yes"), guard), Address()),
        kwargs={"announce": lambda link: links.put(link) or link},
    )
    serve.start()
    link = links.get(timeout=60)
    port = int(link.rpartition(":")[2].strip("/"))
    with ExitStack() as silent:
        for wanted in (200, 503):
            for _ in range(2):
                silent.enter_context(socket.create_connection(("127.0.0.1", port)))
            assert httpx.get(link, timeout=60).status_code == wanted
    servers[0].should_exit = True
    serve.join(timeout=60)
    assert not serve.is_alive()


def test_events_that_nobody_reads_are_counted(app):
    """The application itself: a stream is open until it ends."""

    async def counts():
        guard, seen = app.guard, []

        async def send(message):
            seen.append(sum(guard._open.values()))

        async def receive():
            await asyncio.Event().wait()  # nobody goes away

        path = "/api/answer/problem"
        scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode()}
        scope |= {"query_string": b"choice=%7B%7D", "client": ("127.0.0.1", 1), "root_path": ""}
        scope["headers"] = [(b"host", b"127.0.0.1:8765"), (b"x-token", TOKEN.encode())]
        await app({**scope, "asgi": {"version": "3.0"}, "scheme": "http"}, receive, send)
        left = sum(guard._open.values())
        async with app.app.router.lifespan_context(app.app):
            pass
        return seen, left

    seen, left = asyncio.run(counts())
    assert set(seen) == {1} and left == 0 and len(seen) > 3


def test_a_store_that_cannot_be_used_is_told_to_no_page(tmp_path, monkeypatch, capfd):
    def fails(*_):
        raise ti.TeachirlError(f"{tmp_path / 'results.sqlite'}: disk I/O error")

    kept = Kept(tmp_path)
    monkeypatch.setattr(kept.store, "finished", fails)
    assert kept.get("plan", {}) is None and "disk I/O" in capfd.readouterr().err
    monkeypatch.setattr(kept.store, "begin", fails)
    kept.add("plan", {}, {"found": 1}, 0.1)  # what was found is given all the same
    assert capfd.readouterr().err.count("disk I/O") == 2
    kept.close()


def test_the_page_is_given_with_its_token_and_nothing_inline(app):
    page = asked(app, "GET", "/")
    assert page.status_code == 200 and TOKEN in page.text
    assert page.headers["set-cookie"].startswith("teachirl-8765=")
    assert "httponly" in page.headers["set-cookie"].lower()
    assert "samesite=strict" in page.headers["set-cookie"].lower()
    assert "<style" not in page.text and " style=" not in page.text and "onclick" not in page.text
    assert "http://" not in page.text and "https://" not in page.text
    script = asked(app, "GET", "/static/desk.js")
    assert script.headers["content-type"].startswith("text/javascript")


def test_elsewhere_a_token_is_needed_for_the_page(problem, tmp_path):
    with pytest.raises(ti.InvalidInputError, match="choose a --token"):
        Address("192.0.2.1")
    with pytest.raises(ti.InvalidInputError, match="at least 16"):
        Address("192.0.2.1", token="short")
    with pytest.raises(ti.InvalidInputError, match="every address"):
        Address("0.0.0.0", token=TOKEN)
    guard = Guard(frozenset({"127.0.0.1:8765"}), TOKEN, False)
    made = desk_app({"problem": problem}, tmp_path / "out", guard)
    assert asked(made, "GET", "/").status_code == 401
    assert asked(made, "GET", f"/?token={TOKEN}").status_code == 200
    assert asked(made, "GET", "/", headers={"Cookie": f"teachirl-8765={TOKEN}"}).status_code == 200
    asyncio.run(_lived(made))


def test_a_link_out_of_the_folder_is_not_followed(app, problem, tmp_path_factory):
    secret = tmp_path_factory.mktemp("elsewhere") / "secret.csv"
    secret.write_text("what nobody may read", encoding="utf-8")
    problem.with_name("probe-1.csv").symlink_to(secret)
    problem.with_name("probe-2.csv").write_text("state,action\n", encoding="utf-8")
    answer = asked(app, "GET", "/api/file/probe/problem/probe-1.json", headers=KNOWN)
    assert answer.status_code == 400 and "nobody" not in answer.text
    answer = asked(app, "GET", "/api/file/probe/problem/probe-2.json", headers=KNOWN)
    assert answer.status_code == 200 and answer.text == "state,action\n"
    assert asked(app, "GET", "/api/file/probe/problem/probe-3.json", headers=KNOWN).is_error


def test_work_that_is_cancelled_before_it_has_a_process_is_not_done(problem):
    async def cancelled():
        job = Job("1", "plan", "problem", Choice().plain())
        await job.cancel()
        await job.run(problem, lambda result: pytest.fail("it was done"))
        return job

    job = asyncio.run(cancelled())
    assert job.status == "cancelled" and job.process.returncode < 0


def test_the_end_is_not_what_is_visited_most():
    mdp = read_problem(examples()["classroom"]).mdp
    rows = most_visited(mdp, occupancy(mdp, ti.Policy.uniform(mdp)))
    assert len(rows) > 5 and "end" not in {row["state"] for row in rows}


def test_a_choice_is_a_problem_file(problem):
    choice = Choice.of(
        {"sees": ["cell 2", "cell 3"], "taught": ["cell 1"], "mismatch": 0.25, "show": "choose"}
    )
    assert Choice.of(choice.plain()) == choice
    text = with_choice(problem, choice)
    other = problem.with_name("chosen.toml")
    other.write_text(text, encoding="utf-8")
    again, meant = read_problem(other), choice.problem(problem, required=True)
    assert again.view.names == meant.view.names == ("cell 2", "cell 3")
    assert again.task.required == meant.task.required == (0,)
    assert again.mismatch == meant.mismatch == 0.25 and again.show == meant.show
    assert again.teachables.costs.tolist() == [3.0, 2.5]
    assert "# --sees cell 2,cell 3" in text


@pytest.mark.parametrize("path", examples().values(), ids=examples())
def test_every_example_survives_its_own_writing(path):
    assert tomllib.loads(with_choice(path, Choice())) == tomllib.loads(path.read_text("utf-8"))


def test_bounds_hold_and_tighten(problem):
    answers = Answers({"problem": problem})
    for taught in ([], ["cell 1"], ["cell 1", "cell 5"]):
        for more in ({}, {"mismatch": 0.3}, {"show": "choose"}):
            choice = Choice.of({"taught": taught, **more})
            events = list(answers.answer("problem", choice, lambda: False))
            json.dumps(events, allow_nan=False)
            bounds = [each for each in events if each["event"] == "bounds"]
            last = bounds[-1]
            assert last["exact"] and len(bounds) >= 2
            for each in bounds:
                assert each["guaranteed"] <= last["guaranteed"] + 1e-12
                assert last["guaranteed"] <= each["possible"] + 1e-6
            if not more:
                direct = read_problem(problem).task
                rows = [direct.index(name) for name in taught]
                view = direct.worldview.extend(direct.teachable[rows])
                wanted = direct.guaranteed(
                    view, direct.demonstration, read_problem(problem).matching
                )
                assert last["guaranteed"] == pytest.approx(wanted, abs=2e-6)
            simulated = next(each for each in events if each["event"] == "simulated")
            assert simulated["performance"] >= last["guaranteed"] - 0.2
    stopped = list(answers.answer("problem", Choice(), lambda: True))
    assert len(stopped) < len(events)


def test_what_an_optimal_policy_guarantees_comes_before_a_better_one_is_sought(
    problem, monkeypatch
):
    answers = Answers({"problem": problem})
    plain = list(answers.answer("problem", Choice(), lambda: False))
    least = [each for each in plain if each["event"] == "bounds"][-1]["guaranteed"]

    def nothing(*arguments, **options):
        raise AssertionError("this takes time")

    monkeypatch.setattr("teachirl.app.studio.answers.best_demonstration", nothing)
    monkeypatch.setattr("teachirl.app.problem.problem.best_demonstration", nothing)
    told: list[dict[str, object]] = []
    with pytest.raises(AssertionError, match="takes time"):
        told.extend(answers.answer("problem", Choice(show="choose"), lambda: False))
    first = [each["guaranteed"] for each in told if each["event"] == "bounds"]
    assert first == sorted(first)
    assert first[-1] == pytest.approx(least, abs=1e-6)


def test_where_several_rewards_are_plausible_the_least_is_told(problem):
    text = DESK.replace("[reward.weights]", "[reward]\nwithin = 0.3\n[reward.weights]")
    problem.write_text(text, encoding="utf-8")
    answers, given = Answers({"problem": problem}), read_problem(problem)
    assert answers.describe("problem")["rewards"] == given.rewards.sentence
    view = given.worldview.extend(given.task.teachable[[given.task.index("cell 5")]])
    wanted = ti.certify(given.mdp, view, given.rewards, given.task.demonstration)
    events = list(answers.answer("problem", Choice.of({"taught": ["cell 5"]}), lambda: False))
    told = [each for each in events if each["event"] == "rewards"][-1]
    assert told["guaranteed"] == pytest.approx(wanted.lower, abs=1e-6)
    assert told["sentence"] == wanted.sentence and told["matchable"]
    bounds = [each for each in events if each["event"] == "bounds"][-1]
    assert 0.0 < told["guaranteed"] < bounds["guaranteed"] + 1e-9


def test_a_door_leads_to_a_lesson_with_the_choice(problem, tmp_path):
    choice = Choice.of(
        {"sees": ["cell 2"], "taught": ["cell 1", "cell 5"], "mismatch": 0.2, "show": "choose"}
    )
    arguments = Door(problem, choice, tmp_path / "lesson", "192.0.2.1")._arguments()
    options = dict(zip(arguments[1::2], arguments[2::2], strict=True))
    assert options["--host"] == "192.0.2.1" and len(options["--token"]) >= 16
    sets = [after for each, after in pairwise(arguments) if each == "--set"]
    opened = read_problem(problem, changes=changes_of(None, sets))
    meant = choice.problem(problem, required=True)
    assert opened.view.names == meant.view.names == ("cell 2",)
    assert opened.task.required == meant.task.required and opened.show == meant.show
    assert opened.mismatch == 0.2
    study = read_study(Path(options["--study"]))
    course = Course(opened, study)
    order = course.order(study.condition[0], 0)
    assert {opened.task.names[i] for i in order} == {"cell 1", "cell 5"}
    assert digest(opened) != digest(read_problem(problem))
    assert "--study" not in Door(problem, Choice(), tmp_path, "127.0.0.1")._arguments()


def test_the_link_of_a_lesson_is_at_the_address_of_its_desk(problem, tmp_path):
    """127.0.0.2 is this machine, too, and yet another address."""
    guard = Guard(hosts_of("127.0.0.2", 8765), TOKEN, False)
    made = desk_app({"problem": problem}, tmp_path / "out", guard, "127.0.0.2")

    async def visited():
        transport = httpx.ASGITransport(app=made)
        async with (
            made.app.router.lifespan_context(made.app),
            httpx.AsyncClient(transport=transport, base_url="http://127.0.0.2:8765") as desk,
            httpx.AsyncClient() as outside,
        ):
            body = json.dumps({"taught": ["cell 5"]})
            answer = await desk.post("/api/lesson/problem", headers=KNOWN, content=body)
            link = answer.json()["link"]
            page = await outside.get(link)
            bare = await outside.get(link.partition("p/")[0])
            return link, page, bare

    link, page, bare = asyncio.run(visited())
    assert link.startswith("http://127.0.0.2:") and "8765" not in link
    assert page.status_code == 200 and "lesson.js" in page.text and bare.status_code == 401


def test_mistakes_in_a_choice_are_told(problem):
    answers = Answers({"problem": problem})
    for given, said in (
        ({"taught": ["cell 9"]}, "cell 9"),
        ({"sees": ["nothing"]}, "nothing"),
        ({"taught": ["cell 1", "cell 1"]}, "distinct"),
        ({"mismatch": -1}, "negative"),
        ({"mismatch": True}, "negative"),
        ({"show": "all"}, "optimal or choose"),
        ({"colour": 1}, "colour"),
    ):
        with pytest.raises(ti.TeachirlError, match=said):
            list(answers.answer("problem", Choice.of(given), lambda: False))
