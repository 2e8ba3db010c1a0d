"""Lessons for people without a browser: what is recorded, what is sent, what is found."""

import asyncio
import csv
import json
import re
import sqlite3
import subprocess
import sys
import time
import tomllib
from collections import defaultdict
from pathlib import Path
from string import ascii_uppercase

import httpx
import numpy as np
import pytest

import teachirl as ti
from studio_server import DESK
from teachirl.app.cli.lesson import serve
from teachirl.app.problem import read_problem
from teachirl.app.render import html
from teachirl.app.studio.analysis import analyse, analysis_document
from teachirl.app.studio.course import Course
from teachirl.app.studio.exporting import COLUMNS, export_lesson
from teachirl.app.studio.labels import keys_of
from teachirl.app.studio.ledger import Ledger
from teachirl.app.studio.lesson_server import Classroom, lesson_app
from teachirl.app.studio.security import Guard, hosts_of
from teachirl.app.studio.serving import examples
from teachirl.app.studio.study import Condition, Study, markup, read_study

CONDITIONS = [
    {"name": "greedy", "teacher": "TRGreedy"},
    {"name": "gap, chosen", "teacher": "GapGreedy", "show": "choose", "order": "reversed"},
    {"name": "random", "teacher": "Random", "order": "shuffled"},
    {"name": "nobody", "teacher": "none"},
]
STUDY = Study(
    seed=1, participants=4, watch=3, episodes=2, steps=5, features=2, condition=CONDITIONS
)


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    path = tmp_path_factory.mktemp("lesson") / "problem.toml"
    path.write_text(DESK, encoding="utf-8")
    return read_problem(path)


def played(person, choose):
    """Everything that a page receives in a whole lesson."""
    heard = [person.now()]
    while heard[-1]["stage"] != "end":
        now = heard[-1]
        if now["stage"] == "act":
            heard.append(person.act(now["at"], choose(person, now), 20.0))
        else:
            heard.append(person.next(now["at"]))
    return heard


def wander(person, now):
    return now["actions"][0]


def expert(person, now):
    """Does what the optimal policy does, which no page says."""
    course = person.course
    policy = course.problem.task.best.policy
    return int(policy.actions[person.state])


@pytest.fixture(scope="module")
def room(problem, tmp_path_factory):
    made = Classroom(problem, STUDY, tmp_path_factory.mktemp("room"))
    for number, person in enumerate(made.people.values()):
        person.heard = played(person, expert if number % 2 else wander)
    asyncio.run(made.ledger.kept())
    yield made
    made.ledger.close()


def test_the_study_of_the_documentation_is_one():
    page = Path(__file__).parents[1] / "docs" / "studio.md"
    text = page.read_text(encoding="utf-8").split("```toml")[1].split("```")[0]
    study = Study.model_validate(tomllib.loads(text))
    assert study.participants == 40 and [each.teacher for each in study.condition] == [
        "TRGreedy",
        "none",
    ]


def test_groups_are_as_large_as_each_other():
    for participants in (7, 12):
        study = Study(participants=participants, condition=CONDITIONS)
        counts = np.bincount(study.assigned(), minlength=4)
        assert counts.max() - counts.min() <= 1
    others = {
        tuple(Study(seed=seed, participants=8, condition=CONDITIONS).assigned())
        for seed in range(9)
    }
    assert len(others) > 3


def test_a_page_receives_no_hidden_feature_and_no_reward(room, problem):
    names = {problem.mdp.feature_name(i) for i in range(problem.mdp.n_features)}
    for person in room.people.values():
        visible = set(person.blocks[0].view.names)
        for now in person.heard:
            visible |= {now["name"]} if now["stage"] == "new" else set()
            text = json.dumps([room.around, now])
            assert [name for name in names - visible if name in text] == []
            assert not {"reward", "weight", "return", "state", "condition"} & set(now)
            if now["stage"] in ("act", "watch"):
                assert now["features"] == list(person.blocks[now["at"][1]].view.names)
        # What was taught is what became visible, and nothing else.
        assert visible - set(person.blocks[0].view.names) == {
            problem.task.names[i] for i in person.order
        }


def words_in(names, text):
    return [name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.I)]


def test_actions_are_called_by_nothing_that_is_hidden(tmp_path):
    """*divide both sides* would tell of *both sides*, and a check of a check."""
    classroom = read_problem(examples()["classroom"])
    mdp = classroom.mdp
    called = [mdp.dynamics.action_name(each) for each in range(mdp.n_actions)]
    taught = (Condition(name="taught", teacher="TRGreedy"),)
    study = STUDY.model_copy(update={"participants": 1, "features": 1, "condition": taught})
    made = Classroom(classroom, study, tmp_path)
    for person in made.people.values():
        visible = set(person.blocks[0].view.names)
        for now in played(person, wander):
            visible |= {now["name"]} if now["stage"] == "new" else set()
            text = json.dumps([made.around, now], ensure_ascii=False)
            hidden = {mdp.feature_name(i) for i in range(mdp.n_features)} - visible
            assert words_in(hidden, text) == [] and words_in(set(called) - visible, text) == []
    assert made.around["keys"] == made.around["actions"] == list(ascii_uppercase[: len(called)])
    made.ledger.close()
    # Who says that names may be shown is told of one that may not.
    named = study.model_copy(update={"action_names": True})
    with pytest.raises(ti.InvalidInputError, match="'multiply every term' tells of 'every term'"):
        Course(classroom, named)


def test_directions_are_arrows_and_other_actions_letters(problem):
    around = Course(problem, STUDY).surroundings()
    assert around["actions"] == ["left", "right"] and around["keys"] == ["←", "→"]
    unplaced = STUDY.model_copy(update={"place": False})
    around = Course(problem, unplaced).surroundings()
    assert around["actions"] == ["A", "B"] and around["map"] is None
    named = unplaced.model_copy(update={"action_names": True})
    around = Course(problem, named).surroundings()
    assert around["actions"] == ["left", "right"] and around["keys"] == ["A", "B"]
    # Of two actions that lead the same way, neither has the arrow.
    steps = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    assert keys_of(steps, 4) == ["A", "B", "↓", "C"]
    for count in (26, 27, 676, 677):
        keys = keys_of(None, count)
        assert len(set(keys)) == count and len({len(key) for key in keys}) == 1


def test_other_weights_that_want_the_same_are_sent_the_same(problem, tmp_path):
    """The reward does not get to the page in any other way either."""
    text = DESK.replace("-2.0", "-20.0").replace("= 2.0", "= 20.0").replace("-1.0", "-10.0")
    text = text.replace('"cell 4" = 1.0', '"cell 4" = 10.0')
    path = tmp_path / "problem.toml"
    path.write_text(text, encoding="utf-8")
    heard = []
    for number, each in enumerate((problem, read_problem(path))):
        made = Classroom(each, STUDY, tmp_path / str(number))
        heard.append([played(person, wander)[:-1] for person in made.people.values()])
        made.ledger.close()
    assert heard[0] == heard[1]


def test_what_is_watched_has_the_mean_that_is_said(room):
    for person in room.people.values():
        for block in person.blocks:
            matrix = block.view.matrix
            total = np.zeros(len(matrix))
            for i, times in enumerate(block.times):
                own = slice(block.episodes.offsets[i], block.episodes.offsets[i + 1])
                total += times * (matrix @ person.course.collected(block.episodes.pairs[own]))
            assert sum(block.times) == STUDY.watch
            off = np.linalg.norm(total / STUDY.watch - block.target)
            assert off <= block.off


def test_a_move_that_is_sent_again_counts_once(problem, tmp_path):
    made = Classroom(problem, STUDY, tmp_path)
    person = next(iter(made.people.values()))
    for _ in range(3):
        here = person.now()["at"]
        first = person.next(here)
        assert person.next(here) == first
    at = person.now()["at"]
    first = person.act(at, person.now()["actions"][0], 5.0)
    assert person.act(at, person.now()["actions"][0], 5.0) == first
    for wrong in (["act", 0, 0, 4], ["act", 1, 0, 0], ["watch", 0, 0, 0]):
        with pytest.raises(ti.TeachirlError, match="reload"):
            person.act(wrong, 0, 1.0)
    with pytest.raises(ti.TeachirlError, match="cannot be done"):
        person.act(person.at, 99, 1.0)
    person.act(person.at, person.now()["actions"][0], 10**400)  # a page may say any number
    # A server that begins anew knows all of it.
    made.ledger.close()
    again = Classroom(problem, STUDY, tmp_path)
    other = again.people[person.participant.secret]
    assert other.now() == person.now() and other.state == person.state
    again.ledger.close()
    with pytest.raises(ti.TeachirlError, match="another problem, study or version"):
        Classroom(problem, STUDY.model_copy(update={"seed": 5}), tmp_path)


def test_a_folder_has_one_server(tmp_path):
    first = Ledger(tmp_path)
    with pytest.raises(ti.TeachirlError, match="in use by another"):
        Ledger(tmp_path)
    reader = Ledger(tmp_path, write=False)
    assert reader.events() == []
    reader.close()
    first.close()
    Ledger(tmp_path).close()


def test_damage_is_noticed(problem, tmp_path):
    made = Classroom(problem, STUDY, tmp_path)
    person = next(iter(made.people.values()))
    person.next(person.now()["at"])
    made.ledger.close()
    with sqlite3.connect(tmp_path / "lesson.sqlite") as connection:
        connection.execute("UPDATE events SET kind = 'step'")
    connection.close()
    ledger = Ledger(tmp_path, write=False)
    with pytest.raises(ti.FileFormatError, match="not as it was written"):
        ledger.events()
    ledger.close()


def test_files_and_their_analysis(room, problem, tmp_path):
    people, trials = export_lesson(room.ledger.path.parent, tmp_path)
    assert (people, trials) == (4, 4 * 3 * 2)
    with (tmp_path / "trials.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    episodes = ti.read_trajectories(tmp_path / "trajectories.jsonl", problem.mdp)
    assert len(episodes) == trials
    phi, gamma = np.asarray(problem.mdp.features), problem.mdp.discount
    for i, row in enumerate(rows):
        own = episodes.states[episodes.offsets[i] : episodes.offsets[i + 1]]
        earned = sum(gamma**t * float(problem.weights @ phi[s]) for t, s in enumerate(own))
        assert float(row["return"]) == pytest.approx(earned, abs=1e-12)
        assert int(row["steps"]) == len(own) == 5
    found = analyse(tmp_path / "trials.csv")
    assert {each.condition for each in found.blocks} == {each["name"] for each in CONDITIONS}
    figure = analysis_document(found, "What it says").sections[1].elements[0]
    assert figure.panels[0].x_label == "features taught" and len(figure.panels[0].marks) == 4
    for mark in figure.panels[0].marks:
        done = defaultdict(list)
        for row in rows:
            if row["condition"] == mark.label:
                done[int(row["taught"])].append(float(row["performance"]))
        if mark.label == "nobody":  # is at 0 in every block, and drawn as a level
            done[2] = done[0]
        assert mark.x.tolist() == sorted(done) and len(done) > 1
        assert mark.y == pytest.approx([100 * np.mean(done[at]) for at in sorted(done)])
    assert 0.0 < found.p_value <= 1.0
    page = html.page(analysis_document(found, "What it says"))
    assert "Performance against features taught" in page and "data:image/svg" in page


def test_the_test_finds_what_is_there_and_not_what_is_not(tmp_path):
    def written(name, shift):
        rng, rows = np.random.default_rng(0), []
        for person in range(40):
            condition = "a" if person % 2 else "b"
            for block in range(2):
                value = rng.normal() + (shift if condition == "a" and block else 0.0)
                rows.append(
                    [f"p{person}", condition, block, block, 0, "", 1, 1, "false", 0, value, 0, 0]
                )
        path = tmp_path / name
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([COLUMNS, *rows])
        return analyse(path)

    assert written("same.csv", 0.0).p_value > 0.05
    apart = written("apart.csv", 2.0)
    assert apart.p_value < 0.001
    last = {each.condition: each for each in apart.blocks if each.at == 1}
    assert last["a"].low > last["b"].high and last["a"].people == 20
    (tmp_path / "no.csv").write_text("participant,block\na,b\n", encoding="utf-8")
    with pytest.raises(ti.FileFormatError, match="line 2"):
        analyse(tmp_path / "no.csv")
    (tmp_path / "no.csv").write_bytes(b"\xe4")
    with pytest.raises(ti.FileFormatError, match="UTF-8"):
        analyse(tmp_path / "no.csv")


def test_the_analysis_promises_no_more_than_was_proved(tmp_path):
    rows = [
        ["p1", "a", 0, 0, 0, "", 1, 1, "false", 0, 0.5, 0, 0.96756],
        ["p1", "a", 1, 1, 0, "", 1, 1, "false", 0, 0.5, 0, 0.99999],
        ["p2", "b", 0, 0, 0, "", 1, 1, "false", 0, 0.7, 0, 0.96756],
    ]
    with (tmp_path / "trials.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    page = html.page(analysis_document(analyse(tmp_path / "trials.csv"), "What it says"))
    assert "96.7 %" in page and "99.9 %" in page
    assert "96.8 %" not in page and "100 %</td>" not in page
    assert "one condition alone" in page and "of 2 conditions" not in page


def test_the_page_that_is_opened_is_the_first_participants(problem, tmp_path, monkeypatch):
    async def lived(app):
        async with app.router.lifespan_context(app):
            pass

    def begun_and_ended(server, sockets):
        sockets[0].close()
        asyncio.run(lived(server.config.app.app))

    opened = []
    monkeypatch.setattr("teachirl.app.studio.serving.webbrowser.open", opened.append)
    monkeypatch.setattr("uvicorn.Server.run", begun_and_ended)
    serve(problem.path, out=tmp_path, port=0, browse=True)
    [*_, link] = (tmp_path / "links.csv").read_text(encoding="utf-8").split(",")
    assert opened == [link.strip()] and "/p/" in link


def test_texts_of_an_experimenter_can_do_nothing(tmp_path):
    said = markup(
        "# Hi\n<script>x</script> <b onclick=y>z</b> ![p](http://elsewhere/p.png) "
        "[a](javascript:alert(1)) [b](https://example.org)"
    )
    assert "<script" not in said and "<b " not in said and "<img" not in said
    assert 'href="javascript' not in said and '<a href="https://example.org">' in said
    path = tmp_path / "study.toml"
    (tmp_path / "consent.md").write_text("*Read* this.", encoding="utf-8")
    path.write_text('consent = "consent.md"\nparticipants = 3\n', encoding="utf-8")
    assert read_study(path).consent == "*Read* this." and read_study(None).participants == 1
    (tmp_path / "latin.md").write_bytes(b"\xe4")
    for text, expected in (
        ('consent = "latin.md"', "UTF-8"),
        ('consent = "../secret.md"', "study's folder"),
        ('consent = "none.md"', "there is no none.md"),
        ("particpants = 3", "no such key"),
        ("participants = 0", "participants"),
        ("[[condition]]\nname = 'a'\n[[condition]]\nname = 'a'", "distinct"),
        ("[[condition]]\nname = 'a'\nteacher = 'Me'", "teacher"),
        ("= 3", "not TOML"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ti.TeachirlError, match=expected):
            read_study(path)


def test_who_has_no_link_is_refused(problem, tmp_path):
    made = Classroom(problem, STUDY, tmp_path)
    secret = next(iter(made.people))
    guard = Guard(hosts_of("127.0.0.1", 8765), "a-token-of-many-letters", False, made.secret_of)
    app = lesson_app(made, guard)

    async def statuses():
        transport, base = httpx.ASGITransport(app=app), "http://127.0.0.1:8765"
        own = {"X-Token": "participant"}
        at = json.dumps({"at": ["consent", 0, 0, 0]})
        cases = [
            ("GET", f"/p/{secret}/", {}, "", 200),
            ("GET", f"/p/{secret}/now", {}, "", 200),
            ("GET", "/p/somebody/now", {}, "", 401),
            ("GET", "/", {}, "", 401),
            ("POST", f"/p/{secret}/next", {}, at, 401),
            ("POST", f"/p/{secret}/next", {**own, "Origin": "http://evil.example"}, at, 403),
            ("POST", f"/p/{secret}/next", {**own, "Host": "evil.example"}, at, 421),
            ("POST", f"/p/{secret}/next", own, "x" * 10_000_000, 413),
            ("POST", f"/p/{secret}/next", own, "[]", 400),
            ("POST", f"/p/{secret}/next", own, '{"at": ["consent", 0, 0, true]}', 400),
            ("POST", f"/p/{secret}/next", own, '{"at": ["\\ud800", 0, 0, 0]}', 400),
            ("POST", f"/p/{secret}/act", own, at, 400),
            ("POST", f"/p/{secret}/act", own, at[:-1] + ', "action": 0, "took": NaN}', 400),
            ("POST", f"/p/{secret}/act", own, at[:-1] + ', "action": 0, "took": 1}', 200),
            ("GET", f"/p/{secret}/../../lesson.sqlite", {}, "", 401),
            ("GET", "/static/%2e%2e/person.py", {}, "", 400),
            ("POST", f"/p/{secret}/next", own, at, 200),
        ]
        async with httpx.AsyncClient(transport=transport, base_url=base) as client:
            found = [
                (await client.request(method, path, headers=headers, content=body)).status_code
                for method, path, headers, body, _ in cases
            ]
        return found, [each[-1] for each in cases]

    found, wanted = asyncio.run(statuses())
    assert found == wanted
    made.ledger.close()


def test_what_is_wrong_with_the_machine_is_told_to_no_participant(problem, tmp_path, capfd):
    made = Classroom(problem, STUDY, tmp_path)
    secret, person = next(iter(made.people.items()))
    guard = Guard(hosts_of("127.0.0.1", 8765), "a-token-of-many-letters", False, made.secret_of)
    app, body = lesson_app(made, guard), json.dumps({"at": person.at})
    made.ledger._connection.execute("PRAGMA query_only = ON")  # as on a disk that is worn out

    async def sent():
        transport, base = httpx.ASGITransport(app=app), "http://127.0.0.1:8765"
        async with httpx.AsyncClient(transport=transport, base_url=base) as client:
            known = {"X-Token": "participant"}
            return await client.post(f"/p/{secret}/next", headers=known, content=body)

    answer = asyncio.run(sent())
    assert answer.status_code == 503 and "try again" in answer.json()["error"]
    assert "sqlite" not in answer.text and str(tmp_path) not in answer.text
    assert str(tmp_path / "lesson.sqlite") in capfd.readouterr().err
    # Nothing was acknowledged; what is sent again is kept, once it can be, and counts once.
    assert made.ledger.events() == []
    made.ledger._connection.execute("PRAGMA query_only = OFF")
    answer = asyncio.run(sent())
    assert answer.status_code == 200 and answer.json()["at"] == ["instructions", 0, 0, 0]
    assert len(made.ledger.events()) == 1
    made.ledger.close()


def test_what_is_told_is_on_the_disk(problem, tmp_path, monkeypatch):
    """Whoever acts while others are written waits for the next writing, and all are in the file."""
    made = Classroom(problem, STUDY, tmp_path)
    writings, write = [], made.ledger._write

    def slowly(rows):
        writings.append(len(rows))
        time.sleep(0.05)
        write(rows)

    monkeypatch.setattr(made.ledger, "_write", slowly)

    async def all_at_once():
        async def consents(person):
            person.next(person.at)
            await made.ledger.kept()
            reader = Ledger(tmp_path, write=False)
            there = {event[0] for event in reader.events()}
            reader.close()
            assert person.participant.number in there

        first, *others = (asyncio.create_task(consents(each)) for each in made.people.values())
        await asyncio.sleep(0.02)  # the first is being written
        late = [asyncio.create_task(made.ledger.kept()) for _ in range(2)]
        late[0].cancel()
        await asyncio.gather(first, *others, late[1])

    asyncio.run(all_at_once())
    assert sum(writings) == 4 and len(writings) <= 2
    assert made.ledger._connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    made.ledger.close()


def test_the_end_says_what_was_done_and_an_interval_that_holds_it(room):
    for person in room.people.values():
        end = person.heard[-1]
        earned = [
            person.course.collected(pairs) @ person.course.problem.weights
            for pairs, _ in person.done[-1]
        ]
        assert all(
            person.course.earnable[0] <= each <= person.course.earnable[1] for each in earned
        )
        mean = person.course.performance(float(np.mean(earned)))
        assert end["mean"] == pytest.approx(mean, abs=1e-12)
        assert end["off"] == person.blocks[-1].off
        done = min(max(mean, 0.0), 1.0)
        assert 0.0 <= end["low"] <= done <= end["high"] <= 1.0


def test_a_lesson_behind_a_door_ends_with_its_desk(problem, tmp_path):
    command = [sys.executable, "-m", "teachirl.app.studio.behind_a_door", str(problem.path)]
    command += ["--port", "0", "--out", str(tmp_path / "lesson")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert b"http://127.0.0.1:" in process.stdout.readline()
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(timeout=120) in (0, 130)
