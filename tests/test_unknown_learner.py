"""A problem file whose learner is unknown: probes, answers, and what is then said."""

import json
import shlex
import sys

import numpy as np
import pytest

import teachirl as ti
from teachirl.app import cli
from teachirl.diagnosis.probe_files import load_probe, save_probe

FILE = """
[world]
name = "chain"
[reward.weights]
"cell 1" = -1.0
"cell 5" = 1.0
[learner]
unknown = true
[teach]
features = "all"
"""


ALONE = ("--set", 'learner.library=["cell 3", "cell 5"]', "--set", "learner.answer=[]")


@pytest.fixture
def teachirl(monkeypatch, capsys, tmp_path):
    """Call the command in this process, in a folder with the problem."""
    (tmp_path / "p.toml").write_text(FILE)
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["teachirl", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        captured = capsys.readouterr()
        return stop.value.code, captured.out, captured.err

    return call


def answered(folder, name, seen=("cell 3",)):
    """The learner, who sees some cells, makes something of a probe; the file says what."""
    mdp = ti.worlds.chain(5)
    probe = load_probe(mdp, folder / f"{name}.json")
    view = ti.Worldview.select(mdp, list(seen))
    target = view.matrix @ probe.demonstration.expectations
    policy = ti.learners.MinNormPoint().learn(view.observe(mdp), target).policy
    policy.save(folder / f"{name}-answer.csv")
    with (folder / "p.toml").open("a") as file:
        file.write(f'[[learner.answer]]\nshown = "{name}.json"\npolicy = "{name}-answer.csv"\n')


def test_from_nothing_to_a_plan(teachirl, tmp_path):
    code, out, _ = teachirl("diagnose", "p.toml")
    assert code == 0 and "teachirl probe p.toml --out probe-1.json" in out
    for number in (1, 2):
        name = f"probe-{number}"
        code, out, err = teachirl("probe", "p.toml", "--out", f"{name}.json", "--episodes", 3)
        assert code == 0 and f'shown = "{name}.json"' in out
        assert err.count("wrote") == 3
        assert (tmp_path / f"{name}.jsonl").exists()
        answered(tmp_path, name)
    code, out, _ = teachirl("diagnose", "p.toml", "--json")
    found = json.loads(out)["diagnosis"]
    assert found["status"] == "IDENTIFIED" and found["next_file"] is None
    standing = {each["name"]: each["standing"] for each in found["candidates"]}
    assert [name for name, each in standing.items() if each == "PROVED"] == ["cell 3"]
    assert found["p_value"] < 1e-6
    code, out, _ = teachirl("teach", "p.toml")
    assert "Nobody knows what the learner sees" in out
    assert "has it" in out and "lacks it" in out
    problem = ti.read_problem(tmp_path / "p.toml")
    assert problem.worldview.names == ("cell 3",)
    assert problem.task.forbidden == (2,)  # what the learner has is not for sale


def test_guarantees_do_not_count_with_what_is_open(teachirl, tmp_path):
    teachirl("probe", "p.toml", "--out", "probe-1.json", "--seed", 1)
    answered(tmp_path, "probe-1", ("cell 1", "cell 3"))
    _, out, _ = teachirl("diagnose", "p.toml", "--json")
    found = json.loads(out)["diagnosis"]
    assert found["guaranteed"] == 0.0 and found["at_most"] == pytest.approx(1.0)
    assert found["status"] == "OPEN"
    _, out, _ = teachirl("certify", "p.toml")
    in_short = out.partition("What this rests on")[0]
    assert "It is open whether the learner has 3 candidates." in in_short
    assert "may be there already: before one is bought" in out
    # Each follows from the other two, so that none can be tested alone.
    assert "test it, as in teachirl probe p.toml --out probe-2.json" in out
    command = "teachirl probe p.toml --feature 'cell 3' --out probe-2.json"
    _, out, _ = teachirl("diagnose", "p.toml", *ALONE)
    assert command in out
    assert teachirl(*shlex.split(command)[1:], *ALONE)[0] == 0


def test_a_seed_repeats_the_draw_and_none_does_not(teachirl, tmp_path):
    for name, options in (("a", ["--seed", 7]), ("b", ["--seed", 7]), ("c", []), ("d", [])):
        assert teachirl("probe", "p.toml", "--out", f"{name}.json", *options)[0] == 0
    texts = {name: (tmp_path / f"{name}.json").read_text() for name in "abcd"}
    assert texts["a"] == texts["b"]
    assert len(set(texts.values())) == 3


def test_one_candidate_near_the_expert(teachirl, tmp_path):
    code, *_ = teachirl(
        "probe",
        "p.toml",
        "--out",
        "p.json",
        "--feature",
        "cell 3",
        "--share",
        0.2,
        "--set",
        'learner.library=["cell 3", "cell 5"]',
    )
    assert code == 0
    probe = load_probe(ti.worlds.chain(5), tmp_path / "p.json")
    assert (probe.tested, probe.share, probe.dimension) == ("cell 3", 0.2, 1)
    assert probe.near is not None


def test_before_anything_is_shown(teachirl):
    _, out, _ = teachirl("diagnose", "p.toml")
    assert "The learner has not been shown anything yet." in out
    assert 'shown = "probe-1.json", policy = "probe-1-answer.csv"' in out


def test_what_was_taught_since(teachirl, tmp_path):
    for name in ("probe-1", "probe-2"):
        teachirl("probe", "p.toml", "--out", f"{name}.json")
        answered(tmp_path, name)
    _, out, _ = teachirl("diagnose", "p.toml", "--json", "--set", 'learner.taught=["cell 1"]')
    found = json.loads(out)["diagnosis"]
    assert (found["proved"], found["excluded"], found["open"]) == (3, 2, 0)


def test_a_learner_from_episodes(teachirl, tmp_path):
    """Who learns from episodes matches their mean: how far that is off is said, and allowed for."""
    arguments = ("--out", "probe-1.json", "--episodes", 200, "--seed", 0)
    _, out, _ = teachirl("probe", "p.toml", *arguments)
    assert "not probe-1.json, which says what was drawn" in out
    off = out.split("off by a share of up to ")[1].split()[0]
    mdp = ti.worlds.chain(5)
    shown = ti.Demonstration.from_trajectories(mdp, ti.read_trajectories("probe-1.jsonl", mdp))
    every = ti.Worldview.select(mdp, range(5))
    learned = ti.learners.MinNormPoint().learn(every.observe(mdp), shown.expectations)
    learned.policy.save(tmp_path / "a.csv")
    with (tmp_path / "p.toml").open("a") as file:
        file.write('[[learner.answer]]\nshown = "probe-1.json"\npolicy = "a.csv"\n')
    _, out, _ = teachirl("diagnose", "p.toml")
    assert "misses all candidates: it sees none of them, or it does not match" in out
    assert "is nearest: it is off by a share of" in out
    _, out, _ = teachirl("diagnose", "p.toml", "--json", "--set", f"learner.mismatch={off}")
    assert json.loads(out)["diagnosis"]["excluded"] == 0


def test_episodes_come_back(teachirl, tmp_path):
    """The next probe is one that episodes can prove something by."""
    mdp, rng = ti.worlds.chain(5), np.random.default_rng(0)
    teachirl("probe", "p.toml", "--out", "probe-1.json", *ALONE[:2])
    policy = load_probe(mdp, tmp_path / "probe-1.json").policy
    its = ti.sample_trajectories(mdp, policy, episodes=5, horizon=20, rng=rng)
    ti.write_trajectories(tmp_path / "its.jsonl", its, mdp)
    with (tmp_path / "p.toml").open("a") as file:
        file.write('[[learner.answer]]\nshown = "probe-1.json"\ntrajectories = "its.jsonl"\n')
    _, out, _ = teachirl("diagnose", "p.toml", *ALONE[:2])
    assert "Some candidates are neither proved nor excluded." in out
    assert "Next: teachirl probe p.toml --feature 'cell 3' --out probe-2.json" in out
    assert 'trajectories = "probe-2-answer.jsonl"' in out
    three = 'learner.library=["cell 1", "cell 3", "cell 5"]'
    _, out, _ = teachirl("diagnose", "p.toml", "--set", three)
    assert "each that is open follows from others: ask for the learner's policy instead" in out


def test_a_probe_used_twice_is_told(teachirl, tmp_path):
    teachirl("probe", "p.toml", "--out", "probe-1.json")
    answered(tmp_path, "probe-1")
    answered(tmp_path, "probe-1")
    _, out, _ = teachirl("diagnose", "p.toml")
    assert "1 probe was used more than once" in out


class TestMistakes:
    def _refused(self, teachirl, *arguments):
        code, out, err = teachirl(*arguments)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        return err

    def test_a_probe_that_was_changed(self, teachirl, tmp_path):
        teachirl("probe", "p.toml", "--out", "probe-1.json")
        answered(tmp_path, "probe-1")
        path = tmp_path / "probe-1.json"
        document = json.loads(path.read_text())
        document["policy"]["chances"][1:3] = [0.5, 0.5]
        path.write_text(json.dumps(document))
        err = self._refused(teachirl, "diagnose", "p.toml")
        assert "p.toml, learner.answer[0].shown" in err and "changed after it was drawn" in err

    def test_a_probe_of_another_world(self, teachirl, tmp_path):
        other = ti.worlds.chain(6)
        probe = ti.next_probe(other, None, rng=np.random.default_rng(0))
        save_probe(other, probe, tmp_path / "probe-1.json")
        ti.Policy.uniform(ti.worlds.chain(5)).save(tmp_path / "a.csv")
        with (tmp_path / "p.toml").open("a") as file:
            file.write('[[learner.answer]]\nshown = "probe-1.json"\npolicy = "a.csv"\n')
        err = self._refused(teachirl, "diagnose", "p.toml")
        assert "world is another than that of this problem; draw a new probe" in err

    def test_a_file_that_is_there(self, teachirl, tmp_path):
        (tmp_path / "probe-1.json").write_text("used")
        err = self._refused(teachirl, "probe", "p.toml", "--out", "probe-1.json")
        assert "probe-1.json is there already" in err
        assert (tmp_path / "probe-1.json").read_text() == "used"

    def test_an_answer_before_any_probe(self, teachirl, tmp_path):
        with (tmp_path / "p.toml").open("a") as file:
            file.write('[[learner.answer]]\nshown = "probe-1.json"\npolicy = "a.csv"\n')
        err = self._refused(teachirl, "diagnose", "p.toml")
        assert "cannot read 'probe-1.json'" in err

    def test_the_policy_of_a_probe_instead_of_the_probe(self, teachirl, tmp_path):
        teachirl("probe", "p.toml", "--out", "probe-1.json")
        with (tmp_path / "p.toml").open("a") as file:
            file.write('[[learner.answer]]\nshown = "probe-1.csv"\npolicy = "probe-1.csv"\n')
        err = self._refused(teachirl, "diagnose", "p.toml")
        assert "learner.answer[0].shown" in err
        assert "expected the probe 'probe-1.json', got the policy that it shows" in err

    def test_a_learner_that_is_known(self, teachirl, tmp_path):
        (tmp_path / "p.toml").write_text(FILE.replace("unknown = true", "sees = []"))
        for arguments in (("diagnose", "p.toml"), ("probe", "p.toml", "--out", "p.json")):
            assert "learner.unknown = true" in self._refused(teachirl, *arguments)

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("sees = []", "sees is for a learner who is not unknown"),
            ('library = ["cell 9"]', "there is no feature 'cell 9'"),
            ('taught = ["cell 9"]', "there is no 'cell 9' in the library"),
            ("mismatch = -1", "expected at least 0"),
        ],
    )
    def test_keys(self, teachirl, tmp_path, line, message):
        (tmp_path / "p.toml").write_text(FILE.replace("unknown = true", f"unknown = true\n{line}"))
        assert message in self._refused(teachirl, "diagnose", "p.toml")

    def test_keys_of_the_unknown_alone(self, teachirl, tmp_path):
        (tmp_path / "p.toml").write_text(FILE.replace("unknown = true", "sees = []\nmismatch = 0"))
        assert "mismatch is for unknown = true only" in self._refused(teachirl, "certify", "p.toml")
