"""The studio without a browser: who is let in, what is chosen, what is written."""

import asyncio
import json
import tomllib

import httpx
import pytest
from starlette.datastructures import Headers

import teachirl as ti
from studio_server import DESK
from teachirl.app.problem import read_problem
from teachirl.app.studio.answers import Answers
from teachirl.app.studio.choice import Choice
from teachirl.app.studio.describe import most_visited
from teachirl.app.studio.desk import desk_app
from teachirl.app.studio.processes import Job
from teachirl.app.studio.security import BURST, Guard, hosts_of
from teachirl.app.studio.serving import Address, examples
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
