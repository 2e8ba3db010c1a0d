"""The report of a problem: complete, escaped, well-formed, and asking for nothing."""

import html
import itertools
import pickle
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import teachirl as ti
from problem_files import PROBLEMS
from results import CHAIN, assessment_of, differences, frontier_of, plan_of, written
from teachirl.app.decisions import assess, frontier, plan
from teachirl.app.document.documents import report
from teachirl.app.document.elements import Column, Table
from teachirl.app.problem import read_problem
from teachirl.app.render import markup
from teachirl.app.render.html import page as page_of
from teachirl.app.render.html import write_report
from teachirl.app.render.markup import table, text
from teachirl.figures.drawing import panel_svg
from teachirl.guarantees.bounds import WorstCaseStatus

VOID = {"img", "meta"}
NASTY = """<script>alert("1")</script>'&amp;<!--"""
SECTIONS = {
    "assessment": ("How things stand", "The world, and the worst that could happen in it"),
    "plan": ("What to teach",),
    "frontier": ("What a budget buys",),
}
COMMANDS = {"assessment": "certify", "plan": "teach", "frontier": "frontier"}


DRAWN = {}


def drawn_once(panel):
    """A panel's picture is always the same, as `test_pictures` holds it to: one is enough."""
    same = pickle.dumps(panel)
    if same not in DRAWN:
        DRAWN[same] = panel_svg(panel)
    return DRAWN[same]


def report_page(problem, **found):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markup, "panel_svg", drawn_once)
        return page_of(report(problem, *found.values()))


class Page(HTMLParser):
    """A page in which every element that is opened is closed, in order."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.said = [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        assert len(dict(attributes)) == len(attributes)
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.said.append((self.open[-1] if self.open else "", data))

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    def texts(self, tag):
        return [said for name, said in self.said if name == tag]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A problem, and all three results on it."""
    problem = written(tmp_path_factory.mktemp("chain"), CHAIN, "my chain.toml")
    results = {
        "assessment": assessment_of(problem),
        "plan": plan_of(problem),
        "frontier": frontier_of(problem),
    }
    return problem, results


@pytest.fixture(scope="module")
def full(made):
    problem, results = made
    return report_page(problem, **results)


@pytest.mark.parametrize(
    "kinds", [c for n in (1, 2, 3) for c in itertools.combinations(SECTIONS, n)]
)
def test_what_was_found_is_there_and_nothing_else(made, kinds):
    problem, results = made
    page = Page(report_page(problem, **{kind: results[kind] for kind in kinds}))
    titles = page.texts("h2")
    assert titles[0] == "In short" and titles[-1] == "To do it again"
    for kind, wanted in SECTIONS.items():
        assert [title in titles for title in wanted] == [kind in kinds] * len(wanted)
    assert ("The world" in titles) == ("assessment" not in kinds)
    assert len(titles) == len(set(titles))
    # What teach and frontier report includes how things stand.
    run = [COMMANDS[kind] for kind in kinds if kind != "assessment"] or ["certify"]
    commands = [f"teachirl {command} 'my chain.toml' --out report" for command in run]
    assert page.texts("pre")[0].strip().splitlines() == commands


def test_without_results_there_is_no_report(made, tmp_path):
    with pytest.raises(ti.InvalidInputError, match="needs an assessment, a plan or a frontier"):
        write_report(tmp_path / "out", report(made[0]))
    assert not (tmp_path / "out").exists()


def test_the_page_asks_for_nothing(full):
    page = Page(full)
    for _, attributes in page.elements:
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("src", "href", "data", "action", "poster", "srcset"):
                assert value.startswith("data:image/svg+xml;base64,")
    assert not {"script", "link", "iframe", "object", "embed", "base", "form", "a"} & {
        tag for tag, _ in page.elements
    }
    assert not re.search(
        r"https?:|//[a-z]|url\(|@import", full.split("<pre>")[0].split("<body>")[0]
    )
    assert "http://" not in full and "https://" not in full
    [policy] = [m["content"] for m in page.all("meta") if "http-equiv" in m]
    assert policy == "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def test_it_can_be_read_by_everyone(full):
    page = Page(full)
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("h1")) == len(page.all("main")) == len(page.all("title")) == 1
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(later <= earlier + 1 for earlier, later in itertools.pairwise(levels))
    assert page.all("img") and all(len(image["alt"]) > 30 for image in page.all("img"))
    assert all(head["scope"] in ("row", "col") for head in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table"))
    regions = [div["aria-label"] for div in page.all("div") if div.get("role") == "region"]
    assert len(regions) == len(set(regions)) == len(page.all("table"))
    # Five figures have their numbers in tables of their own right, the others can be unfolded.
    summaries = page.texts("summary")
    folded = sum(said.startswith("Numbers: ") for said in summaries)
    tables = {
        "Sets of features worth their cost",
        "How the worst policy differs",
        "The plan of GapGreedy; stop at the star",
        "What is guaranteed at a few mismatches",
        "What is guaranteed at a few mismatches, after the plan",
    }
    assert tables <= set(page.texts("caption"))
    assert folded + 5 == len(page.all("figure"))


def test_certificates_are_explained_in_two_sentences(full):
    page = Page(full)
    for name in ("Theorem 1", "Width", "Exact"):
        place = page.said.index(("h3", name))
        explained, here = (said for tag, said in page.said[place + 1 : place + 3])
        assert len(re.findall(r"\.(?: |$)", explained.replace("Theorem 1.", ""))) == 2
        assert here.startswith("Here: ")


def test_guarantees_are_not_rounded_up(full):
    said = [text for _, text in Page(full).said]
    assert {"89.9 %", "93.3 %", "another (2)", "33.3 %"} <= set(said)
    assert not {"90 %", "93.4 %", "89.999", "90.0 %"} & set(said)


def test_the_input_is_there_word_for_word(made, full):
    problem, _ = made
    [source] = re.findall(r"<pre>\n(.*?)</pre>", full, re.DOTALL)[1:]
    assert html.unescape(source) == problem.source
    assert ti.__version__ in Page(full).texts("td")


def test_files_are_named_with_their_digests():
    problem = read_problem(PROBLEMS / "lake.toml")
    page = Page(report_page(problem, frontier=frontier_of(problem)))
    assert {"transitions.csv", "features.csv", "start.csv", "policy.csv"} <= set(page.texts("th"))
    assert sum(bool(re.fullmatch("[0-9a-f]{64}", cell)) for cell in page.texts("td")) == 4


def test_nothing_is_claimed_if_nobody_can_match(made):
    problem, results = made
    found = results["assessment"]
    unmatched = replace(found.certificate.worst, status=WorstCaseStatus.INFEASIBLE)
    proved = replace(found.certificate, worst=unmatched)
    doubtful = replace(found, proved=proved, witness=None, differences=())
    # What would be computed when it is asked for.
    vars(doubtful).update(certificate=proved, learners=found.learners, below=None, sensitivity=None)
    page = report_page(problem, assessment=doubtful)
    assert "so that nothing is guaranteed." in page
    assert "every learner who matches" not in page
    assert "The worst that looks the same to the learner" not in page
    assert "every learner who matches" in report_page(problem, assessment=found)


def test_names_stay_text(tmp_path):
    quoted = NASTY.replace('"', '\\"')
    (tmp_path / "t.csv").write_text(
        f'state,action,next_state,probability\n"{NASTY.replace(chr(34), chr(34) * 2)}",go,b,1\n'
        f'b,"<i>",b,1\nb,$x$,"{NASTY.replace(chr(34), chr(34) * 2)}",1\n'
    )
    (tmp_path / "f.csv").write_text(
        f'state,"{NASTY.replace(chr(34), chr(34) * 2)}","a""b",$c$\n'
        f'"{NASTY.replace(chr(34), chr(34) * 2)}",1,0,2\nb,0,1,0\n'
    )
    source = f"""
        title = "{quoted}"
        [world]
        transitions = "t.csv"
        features = "f.csv"
        discount = 0.5
        [reward.weights]
        "{quoted}" = 1.0
        [learner]
        sees = []
        [teach]
        features = "all"
    """
    problem = written(tmp_path, source, "<i>&'.toml")
    page = report_page(
        problem,
        assessment=assessment_of(problem),
        plan=plan_of(problem),
        frontier=frontier_of(problem),
    )
    read = Page(page)
    assert "<script" not in page and "<i>" not in page and "<!--" not in page
    assert read.texts("h1") == read.texts("title") == [NASTY]
    assert NASTY in read.texts("th")
    assert any(NASTY in image["alt"] for image in read.all("img"))


def test_texts_lose_what_cannot_be_printed():
    assert text("a\x00b\ud800") == "a\ufffdb\ufffd"
    assert text("火 ≤ \t\n") == "火 ≤ \t\n"


def test_columns_of_numbers_are_aligned():
    headings = ("name", "n", "share", "words", "if any", "nothing")
    columns = tuple(Column("", h, value=lambda row, i=i: row[i]) for i, h in enumerate(headings))
    rows = ("a", "1.5", "3 %", "x", "", ""), ("b", "−2", "–", "1", "7", "")
    made = table(Table("it", columns, rows))
    assert made.count('class="n"') == 9
    assert '<td class="n"></td>' in made and made.endswith("<td></td></tr></tbody></table></div>")
    assert '<td class="n">−2</td>' in made
    assert table(Table("none", columns, ())) == ""


def test_what_to_show_is_drawn_if_it_is_not_the_optimal_policy(made):
    problem, _ = made
    found = plan_of(problem)
    other = ti.Demonstration.of_policy(problem.mdp, ti.Policy.uniform(problem.mdp))
    best = ti.feature_expectations(problem.mdp, problem.task.best.policy)
    differ = differences(problem, best, other.expectations)
    page = Page(report_page(problem, plan=replace(found, demonstration=other, differences=differ)))
    assert "Numbers: visits, what to show" in page.texts("summary")
    assert "What to show, state by state" in page.texts("summary")
    assert {"An optimal policy", "What to show"} <= set(page.texts("p"))


def test_writing_is_atomic_and_repeats_itself(made, tmp_path, monkeypatch):
    problem, results = made
    folder, curve = tmp_path / "a" / "b", results["frontier"]
    path = write_report(folder, report(problem, curve))
    assert path == folder / "report.html"
    assert [each.name for each in folder.iterdir()] == ["report.html"]
    first = path.read_bytes()
    assert write_report(folder, report(problem, curve)).read_bytes() == first

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_report(folder, report(problem, results["plan"]))
    assert [each.name for each in folder.iterdir()] == ["report.html"]
    assert path.read_bytes() == first


def test_without_matplotlib_nothing_is_written(made, tmp_path, monkeypatch):
    problem, results = made
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ti.MissingExtraError, match=r"teachirl\[plot\]"):
        write_report(tmp_path / "out", report(problem, results["frontier"]))
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["grid", "lake", "recorded", "rewards", "road"])
def test_problems_from_beginning_to_end(name, tmp_path):
    problem = read_problem(PROBLEMS / f"{name}.toml")
    found = assess(problem), plan(problem), frontier(problem)
    path = write_report(tmp_path, report(problem, *found))
    page = Page(path.read_text(encoding="utf-8"))
    regions = [div["aria-label"] for div in page.all("div") if div.get("role") == "region"]
    assert len(regions) == len(set(regions))
    assert len(page.all("img")) >= 2
    assert "–" not in page.texts("dd")
