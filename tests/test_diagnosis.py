"""What a learner sees, from what it does: known answers, and what must never be said."""

import itertools
import runpy
from pathlib import Path

import numpy as np
import pytest

import teachirl as ti
from teachirl.diagnosis.betting import for_seeing
from teachirl.diagnosis.diagnose import updated
from teachirl.diagnosis.library import Library
from teachirl.views.linear_algebra import without_span

WEIGHTS = [-2, -1, 0, 1, 2]
WIDTH_3 = (1 + 2 * 0.9 + 2 * 0.81) / (5 * (1 - 0.81)) - 1 / 5


@pytest.fixture(scope="module")
def chain():
    return ti.worlds.chain(5)


@pytest.fixture(scope="module")
def library(chain):
    return Library(chain, None)


def answer(view, mdp, shown, learner=None):
    """What a learner who matches makes of a demonstration, told nothing but Aμ."""
    target = view.matrix @ shown.expectations
    return (learner or ti.learners.MinNormPoint()).learn(view.observe(mdp), target).policy


def diagnosed(mdp, library, view, probes, rng, learner=None):
    """The diagnosis after so many probes, each made from what is known before it."""
    found, exchanges = library, []
    for _ in range(probes):
        probe = ti.next_probe(mdp, found, rng=rng)
        exchanges.append(ti.Exchange(probe, answer(view, mdp, probe.demonstration, learner)))
        found = ti.diagnose(mdp, library, exchanges)
    return found


class TestKnownAnswers:
    def test_widths_and_classes(self, library):
        assert library.ranges[2] == pytest.approx(WIDTH_3, rel=1e-9)
        assert pytest.approx(4.452632, abs=1e-6) == WIDTH_3
        assert library.classes == (("cell 1",), ("cell 2", "cell 4"), ("cell 3",), ("cell 5",))

    def test_the_tea_test_of_one_candidate(self, chain):
        only = ti.Worldview.select(chain, ["cell 3"])
        probe = ti.next_probe(chain, only, rng=np.random.default_rng(1))
        # Missing by ε of cell 3 has the p-value 2ε/W, W the range of cell 3.
        assert probe.dimension == 1
        assert probe.p_value(1e-3 / WIDTH_3) == pytest.approx(2e-3 / WIDTH_3, rel=1e-9)

    def test_a_tea_test_holds_the_others(self, chain):
        pair = ti.Worldview.select(chain, ["cell 3", "cell 5"])
        probe = ti.next_probe(chain, pair, rng=np.random.default_rng(0), feature="cell 5")
        low, high = (ti.feature_expectations(chain, each) for each in probe.vertices)
        assert low[2] == pytest.approx(2.426316, abs=1e-6) == high[2]
        assert high[4] - low[4] == pytest.approx(2.226316, abs=1e-6)
        shown = ti.Demonstration(0.7 * low + 0.3 * high)
        assert shown.expectations[4] == pytest.approx(0.867895, abs=1e-6)
        one = ti.Worldview.select(chain, ["cell 3"])
        for view, expected in ((one, 1.313158), (pair, 0.867895)):
            policy = answer(view, chain, shown)
            found = ti.feature_expectations(chain, policy)[4]
            assert found == pytest.approx(expected, abs=1e-5)

    def test_the_expert_and_an_adversary(self, chain, library):
        view = ti.Worldview.select(chain, ["cell 3"])
        expert = ti.optimal_policy(chain, WEIGHTS).policy
        worst = ti.worst_case(chain, view, WEIGHTS, expert).witness
        off = ti.feature_expectations(chain, worst) - ti.feature_expectations(chain, expert)
        assert -off == pytest.approx([-4.110632, -4.187368, 0, 4.187368, 4.110632], abs=1e-6)
        found = ti.diagnose(chain, library, [ti.Exchange(expert, worst)])
        assert found.lacks == ("cell 1", "cell 2", "cell 4", "cell 5")
        assert (found.has, found.open) == ((), ("cell 3",))
        assert found.risk_at_least(WEIGHTS) == pytest.approx(0.945719, abs=1e-6)
        assert found.status is ti.DiagnosisStatus.NOT_DRAWN

    @pytest.mark.parametrize(
        ("seen", "worth"), [([], -12.4086), (["cell 3"], -12.4086), (["cell 3", "cell 5"], 12.4086)]
    )
    def test_what_is_guaranteed(self, chain, seen, worth):
        expert = ti.optimal_policy(chain, WEIGHTS).policy
        found = ti.worst_case(chain, ti.Worldview.select(chain, seen), WEIGHTS, expert)
        assert found.lower == pytest.approx(worth, abs=1e-3)


WORLDS = {
    "chain": lambda: ti.worlds.chain(5),
    "grid": lambda: ti.worlds.gridworld(6, block=2),
    "garnet": lambda: ti.worlds.garnet(np.random.default_rng(3), 40, 3, 3, 6),
    "lake": lambda: ti.worlds.from_gymnasium("FrozenLake-v1", discount=0.95),
}


@pytest.mark.parametrize("name", WORLDS)
def test_two_probes_identify_the_worldview(name):
    mdp = WORLDS[name]()
    mdp = getattr(mdp, "mdp", mdp)
    library = Library(mdp, None)
    moving = [i for i in range(len(library)) if i not in library.idle]
    for seed in range(3):
        rng = np.random.default_rng([16, seed])
        chosen = sorted(rng.choice(moving, size=2, replace=False).tolist())
        view = ti.Worldview.select(mdp, chosen)
        found = diagnosed(mdp, library, view, 2, rng)
        basis = library.span(chosen)
        truth = {
            library.names[i]
            for i in moving
            if np.linalg.norm(without_span(basis, library.rows[i])) < 1e-7
        }
        assert found.status is ti.DiagnosisStatus.IDENTIFIED
        assert set(found.has) == truth and found.open == ()
        assert found.p_value < 1e-6


class TestUnderTheNull:
    """A learner who lacks a candidate is not proved to have it more often than is allowed."""

    def _p_values(self, chain, respond, draws):
        """p-values of a probe of cells 1, 3 and 5 against a learner who sees cell 3 alone."""
        tested = Library(chain, ti.Worldview.select(chain, ["cell 1", "cell 3", "cell 5"]))
        view = ti.Worldview.select(chain, ["cell 3"])
        found = []
        for seed in range(draws):
            rng = np.random.default_rng([7, seed])
            probe = ti.next_probe(chain, tested, rng=rng)
            off = tested.off(
                probe.demonstration.expectations - respond(view, probe.demonstration, rng)
            )
            found.append(probe.p_value(float(np.linalg.norm(off))))
        return np.array(found)

    @pytest.mark.parametrize("who", ["nearest", "lucky", "adversary", "random"])
    def test_p_values_are_valid(self, chain, who):
        def respond(view, shown, rng):
            told = ti.Demonstration(shown.expectations)  # not the policy itself
            if who == "nearest":
                return ti.feature_expectations(chain, answer(view, chain, shown))
            w = rng.normal(size=5) if who == "random" else np.array(WEIGHTS, dtype=float)
            extreme = ti.best_case if who == "lucky" else ti.worst_case
            return ti.feature_expectations(chain, extreme(chain, view, w, told).witness)

        p = self._p_values(chain, respond, 60)
        # With 60 draws more than 8 at 5 % happen once in 500 times if the p-value is uniform.
        assert np.count_nonzero(p <= 0.05) <= 8
        assert p.max() > 0.05

    def test_the_blind_are_not_taken_in(self, chain, library):
        fixed = ti.Policy.uniform(chain)
        proved = 0
        for seed in range(60):
            probe = ti.next_probe(chain, library, rng=np.random.default_rng(seed))
            found = ti.diagnose(chain, library, [ti.Exchange(probe, fixed)], confidence=0.8)
            proved += bool(found.has)
        assert proved <= 20


def test_plain_demonstrations_prove_nothing_that_the_learner_has(chain, library):
    rng = np.random.default_rng(0)
    view = ti.Worldview.select(chain, ["cell 1", "cell 3"])
    exchanges = []
    for _ in range(6):
        shown = ti.optimal_policy(chain, rng.normal(size=5)).policy
        exchanges.append(ti.Exchange(shown, answer(view, chain, ti.as_demonstration(chain, shown))))
    found = ti.diagnose(chain, library, exchanges)
    assert found.status is ti.DiagnosisStatus.NOT_DRAWN and found.has == ()
    lacking = [set(ti.diagnose(chain, library, exchanges[:n]).lacks) for n in range(7)]
    assert all(before <= after for before, after in itertools.pairwise(lacking))


def test_units_of_candidates_do_not_matter(chain):
    view = ti.Worldview.select(chain, ["cell 3"])
    found = []
    for units in (np.ones(5), np.array([1e-9, 1e3, 7.0, 1e6, 1e-3])):
        names = [f"cell {i}" for i in range(1, 6)]
        library = Library(chain, ti.Worldview(np.diag(units), names))
        found.append(diagnosed(chain, library, view, 2, np.random.default_rng(5)))
    assert found[0].has == found[1].has == ("cell 3",)
    assert found[0].p_value < 1e-6 and found[1].p_value < 1e-6


def test_candidates_that_nothing_changes(chain):
    rows = np.vstack([np.eye(5), np.ones(5), np.zeros(5), np.eye(5)[2]])
    names = [*(f"cell {i}" for i in range(1, 6)), "all", "none", "cell 3 again"]
    library = Library(chain, ti.Worldview(rows, names))
    view = ti.Worldview.select(chain, ["cell 3"])
    found = diagnosed(chain, library, view, 2, np.random.default_rng(0))
    assert found.idle == ("all", "none")
    assert found.has == ("cell 3", "cell 3 again")
    assert found.status is ti.DiagnosisStatus.IDENTIFIED
    nothing = ti.Worldview(np.ones((1, 5)), ["all"])
    with pytest.raises(ti.InvalidInputError, match="nothing to test"):
        ti.next_probe(chain, nothing, rng=np.random.default_rng(0))


def test_a_probe_counts_once(chain, library):
    view = ti.Worldview.select(chain, ["cell 3"])
    probe = ti.next_probe(chain, library, rng=np.random.default_rng(0))
    exchange = ti.Exchange(probe, answer(view, chain, probe.demonstration))
    found = ti.diagnose(chain, library, [exchange, exchange])
    assert found.reused == 1
    assert found.p_value == ti.diagnose(chain, library, [exchange]).p_value


def test_what_was_taught_is_there(chain, library):
    found = ti.diagnose(chain, library, [], taught=["cell 1"])
    assert found.has == ("cell 1",) and found.seen.names == ("cell 1",)
    assert found.status is ti.DiagnosisStatus.NOT_DRAWN
    with pytest.raises(ti.InvalidInputError, match="taught: there is no candidate 'cell 9'"):
        ti.diagnose(chain, library, [], taught=["cell 9"])


class TestTaughtSince:
    """What was found out before something was taught stays true, and what follows from it."""

    def test_proofs_stay(self, chain, library):
        view = ti.Worldview.select(chain, ["cell 3"])
        found = diagnosed(chain, library, view, 2, np.random.default_rng(0))
        again = updated(found, taught=["cell 2"])
        # Cell 4 was missed, and is now known with cell 2.
        assert again.has == ("cell 2", "cell 3", "cell 4")
        assert again.lacks == ("cell 1", "cell 5")
        assert again.status is ti.DiagnosisStatus.IDENTIFIED

    def test_who_sees_two_cells_of_three_sees_the_third(self, chain, library):
        view = ti.Worldview.select(chain, ["cell 3"])
        found = diagnosed(chain, library, view, 2, np.random.default_rng(0))
        assert updated(found, taught=["cell 1"]).has == ("cell 1", "cell 3", "cell 5")
        first = ti.diagnose(chain, library, found.exchanges[:1])
        assert (first.has, first.lacks) == ((), ("cell 1", "cell 2", "cell 4", "cell 5"))
        # Whether cell 3 is there is open after one probe, and so is now cell 5.
        assert updated(first, taught=["cell 1"]).open == ("cell 3", "cell 5")

    def test_no_risk_is_left_in_what_was_taught(self, chain, library):
        expert = ti.optimal_policy(chain, WEIGHTS).policy
        left = ti.worst_policy(chain, WEIGHTS).policy
        exchange = ti.Exchange(expert, left)
        assert ti.diagnose(chain, library, [exchange]).risk_at_least(WEIGHTS) > 0.9
        taught = ti.diagnose(chain, library, [exchange], taught=range(5))
        assert taught.risk_at_least(WEIGHTS) == 0.0


class TestTolerances:
    """What a tolerance leaves is no direction in which a learner is blind."""

    def _exchanges(self, chain, library, off):
        """Eight answers of who sees cell 3, each off by a share of all ranges."""
        rng, view = np.random.default_rng(0), ti.Worldview.select(chain, ["cell 3"])
        for _ in range(8):
            probe = ti.next_probe(chain, library, rng=rng)
            made = ti.feature_expectations(chain, answer(view, chain, probe.demonstration))
            noise = rng.normal(size=5)
            made = made + noise * (off / np.abs(library.off(noise)).max())
            yield ti.Exchange(probe, ti.Demonstration(made))

    @pytest.mark.parametrize(("off", "mismatch"), [(4e-9, 0.0), (0.01, 0.011)])
    def test_no_risk_in_what_the_learner_sees(self, chain, library, off, mismatch):
        exchanges = list(self._exchanges(chain, library, off))
        found = ti.diagnose(chain, library, exchanges, mismatch=mismatch)
        assert found.lacks == ("cell 1", "cell 2", "cell 4", "cell 5")
        assert found.risk_at_least([0, 0, 1, 0, 0]) < 1e-6
        if mismatch:
            assert found.row_space is None  # any direction may be tolerance
        else:
            assert found.row_space.rank == 1

    def test_what_is_taught_is_matched_no_closer(self, chain, library):
        """A mismatch counts in what could be taught as well, if it is no candidate."""
        some = Library(chain, ti.Worldview.select(chain, ["cell 1", "cell 3"]))
        found = ti.diagnose(chain, some, [], mismatch=0.1)
        alone = found.within(some.view)
        assert alone == pytest.approx(0.1 * np.hypot(some.ranges[0], some.ranges[1]))
        assert found.within_all(np.eye(5)[:1], ("cell 1",)) == alone
        more = found.within_all(np.eye(5)[3:], ("cell 4", "cell 5"))
        assert more >= 0.1 * np.linalg.norm(library.ranges[[0, 2, 3, 4]])

    def test_who_stops_early_contradicts_itself(self, chain, library):
        every = ti.Worldview.select(chain, range(5))
        learner = ti.learners.Projection(tolerance=1e-5)
        found = diagnosed(chain, library, every, 1, np.random.default_rng(2), learner)
        assert found.has == () and len(found.lacks) > 0
        assert set(found.lacks) <= set(found.contradicted)
        closer = ti.diagnose(chain, library, found.exchanges, mismatch=1e-4)
        assert closer.contradicted == () and len(closer.has) == 5

    def test_no_p_value_is_zero(self, chain, library):
        probe = ti.next_probe(chain, library, rng=np.random.default_rng(0))
        found = ti.diagnose(chain, library, [ti.Exchange(probe, probe.policy)])
        assert 0.0 < found.p_value < 1e-8 and len(found.has) == 5
        assert found.missed.max() < 1e-12


def test_near_what_is_to_be_shown(chain, library):
    expert = ti.optimal_policy(chain, WEIGHTS).policy
    view = ti.Worldview.select(chain, ["cell 3", "cell 5"])
    whole, part = (
        ti.next_probe(chain, library, rng=np.random.default_rng(0), near=expert, share=share)
        for share in (1.0, 0.2)
    )
    assert part.inradius == pytest.approx(0.2 * whole.inradius)
    assert part.levels == pytest.approx(whole.levels)
    mu = ti.feature_expectations(chain, expert)
    moved = [p.demonstration.expectations - mu for p in (whole, part)]
    assert moved[1] == pytest.approx(0.2 * moved[0])
    first = ti.Exchange(part, answer(view, chain, part.demonstration))
    found = ti.diagnose(chain, library, [first])
    again = ti.next_probe(chain, found, rng=np.random.default_rng(1), near=expert, share=0.2)
    found = ti.diagnose(
        chain, library, [first, ti.Exchange(again, answer(view, chain, again.demonstration))]
    )
    # Who sees two of the cells of odd number knows the third: one in two visits is to such a cell.
    assert found.has == ("cell 1", "cell 3", "cell 5") and found.p_value < 1e-6


class TestWithoutCandidates:
    """A learner whose features are combinations: the directions that it misses tell them."""

    def _exchanges(self, mdp, library, view, count):
        for seed in range(count):
            probe = ti.next_probe(mdp, library, rng=np.random.default_rng([3, seed]))
            yield ti.Exchange(probe, answer(view, mdp, probe.demonstration))

    def test_the_rank_test(self):
        mdp = ti.worlds.gridworld(4, block=2, slip=0.2)
        library = Library(mdp, None)
        view = ti.Worldview(np.random.default_rng(0).normal(size=(2, 4)))
        dimension = 4 - len(library.indistinct.basis)
        exchanges = list(self._exchanges(mdp, library, view, dimension - 2 + 1))
        before = ti.diagnose(mdp, library, exchanges[:-1])
        assert before.row_space is None
        found = ti.diagnose(mdp, library, exchanges)
        assert found.row_space.rank == 2
        seen = library.indistinct.project(view.matrix)
        off = without_span(found.row_space.basis, seen)
        assert np.abs(off).max() < 1e-6 * np.abs(seen).max()

    def test_what_no_candidate_explains(self):
        mdp = ti.worlds.gridworld(4, block=2, slip=0.2)
        library = Library(mdp, None)
        view = ti.Worldview([[1.0, 2.0, 0.0, 0.0]])
        exchanges = list(self._exchanges(mdp, library, view, 4))
        found = ti.diagnose(mdp, library, exchanges)
        assert found.status is ti.DiagnosisStatus.OUTSIDE_LIBRARY
        assert found.has == () and len(found.lacks) == 4

    def test_units_of_features_do_not_matter(self):
        mdp = ti.worlds.gridworld(4, block=2, slip=0.2)
        mdp = mdp.with_features(mdp.features * np.array([1.0, 1e-8, 1.0, 1e-8]))
        library = Library(mdp, None)
        view = ti.Worldview.select(mdp, [0])
        found = ti.diagnose(mdp, library, list(self._exchanges(mdp, library, view, 4)))
        assert found.open == ("0",) and found.status is ti.DiagnosisStatus.OPEN
        assert found.row_space.rank == 1


@pytest.fixture(scope="module")
def world():
    return ti.worlds.chain(5, discount=0.5)


class TestSampledAnswers:
    """Answers that are episodes: lacking shows soon; having needs many."""

    def _sampled(self, world, view, probe, rng, episodes=400):
        policy = answer(view, world, probe.demonstration)
        return ti.sample_trajectories(world, policy, episodes=episodes, horizon=20, rng=rng)

    def test_having_and_lacking(self, world):
        candidates = Library(world, ti.Worldview.select(world, ["cell 1", "cell 3"]))
        view = ti.Worldview.select(world, ["cell 3"])
        rng = np.random.default_rng(0)
        exchanges = []
        for _ in range(6):
            for name in ("cell 1", "cell 3"):
                probe = ti.next_probe(world, candidates, rng=rng, feature=name)
                exchanges.append(ti.Exchange(probe, self._sampled(world, view, probe, rng)))
        found = ti.diagnose(world, candidates, exchanges)
        assert found.lacks == ("cell 1",)
        assert found.has == ("cell 3",)
        few = ti.diagnose(world, candidates, exchanges[:1])
        assert few.status is ti.DiagnosisStatus.OPEN and few.has == ()

    def test_the_blind_prove_nothing(self, world):
        candidates = Library(world, ti.Worldview.select(world, ["cell 3"]))
        proved = 0
        for seed in range(40):
            rng = np.random.default_rng([9, seed])
            probe = ti.next_probe(world, candidates, rng=rng, feature="cell 3")
            blind = ti.sample_trajectories(
                world, ti.Policy.uniform(world), episodes=50, horizon=15, rng=rng
            )
            found = ti.diagnose(world, candidates, [ti.Exchange(probe, blind)], confidence=0.5)
            proved += bool(found.has)
        assert proved <= 40 / 6 + 6

    def test_who_has_it_is_not_excluded(self, world):
        candidates = Library(world, ti.Worldview.select(world, ["cell 1", "cell 3"]))
        view = ti.Worldview.select(world, ["cell 1", "cell 3"])
        wrong = 0
        for seed in range(20):
            rng = np.random.default_rng([8, seed])
            probe = ti.next_probe(world, candidates, rng=rng)
            sampled = self._sampled(world, view, probe, rng, episodes=100)
            found = ti.diagnose(world, candidates, [ti.Exchange(probe, sampled)], confidence=0.9)
            wrong += bool(found.lacks)
        assert wrong <= 3

    def test_a_class_is_excluded_as_a_whole(self, world):
        names = ["cell 2", "cell 4"]
        candidates = Library(world, ti.Worldview.select(world, names))
        right = ti.optimal_policy(world, [0, -1, 0, 1, 0]).policy
        rng, seen = np.random.default_rng(0), set()
        for episodes in range(30, 130, 10):
            blind = ti.sample_trajectories(
                world, ti.Policy.uniform(world), episodes=episodes, horizon=20, rng=rng
            )
            seen.add(ti.diagnose(world, candidates, [ti.Exchange(right, blind)]).lacks)
        assert seen == {(), tuple(names)}

    def test_a_probe_of_all_candidates_was_drawn_too(self, world):
        view = ti.Worldview.select(world, ["cell 3"])
        rng = np.random.default_rng(0)
        probe = ti.next_probe(world, None, rng=rng)
        sampled = self._sampled(world, view, probe, rng, episodes=5)
        found = ti.diagnose(world, None, [ti.Exchange(probe, sampled)])
        assert found.status is ti.DiagnosisStatus.OPEN

    def test_a_probe_that_holds_too_little_proves_nothing(self, world):
        narrow = Library(world, ti.Worldview.select(world, ["cell 3"]))
        wide = Library(world, ti.Worldview.select(world, ["cell 2", "cell 3"]))
        rng, exchanges = np.random.default_rng(0), []
        for _ in range(4):
            probe = ti.next_probe(world, narrow, rng=rng, feature="cell 3")
            same = ti.sample_trajectories(world, probe.policy, episodes=400, horizon=20, rng=rng)
            exchanges.append(ti.Exchange(probe, same))
        assert ti.diagnose(world, narrow, exchanges).has == ("cell 3",)
        # What is shown of cell 2 tells where the dice fell.
        assert ti.diagnose(world, wide, exchanges).has == ()

    @pytest.mark.parametrize("guess", [-0.5, 0.3, 1.5])
    def test_the_guess_is_a_density(self, guess):
        levels = (np.arange(20000) + 0.5) / 20000
        mean = np.mean([np.exp(for_seeing(level, guess, 0.072)) for level in levels])
        assert mean == pytest.approx(1.0, abs=1e-6)

    def test_estimates_without_episodes_are_refused(self, world):
        shown = ti.Policy.uniform(world)
        estimate = ti.Demonstration(ti.feature_expectations(world, shown), 0.0, 0.1, 0.95)
        with pytest.raises(ti.InvalidInputError, match=r"exchanges\[0\]: an answer that is est"):
            ti.diagnose(world, None, [ti.Exchange(shown, estimate)])


class TestMistakes:
    def test_an_answer_for_another_world(self, chain):
        other = ti.Policy.uniform(ti.worlds.chain(4))
        exchange = ti.Exchange(ti.Policy.uniform(chain), other)
        with pytest.raises(ti.InvalidInputError, match="4 states"):
            ti.diagnose(chain, None, [exchange])

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"share": 0.5}, "share needs near"),
            ({"share": 0.0}, r"share must lie in \(0, 1\]"),
            ({"feature": "cell 9"}, "there is no candidate 'cell 9'"),
            ({"rng": 0}, "rng must be a numpy.random.Generator, got int"),
        ],
    )
    def test_arguments_of_next_probe(self, chain, library, arguments, message):
        with pytest.raises(ti.InvalidInputError, match=message):
            ti.next_probe(chain, library, **{"rng": np.random.default_rng(0), **arguments})

    def test_arguments_of_diagnose(self, chain):
        with pytest.raises(ti.InvalidInputError, match="shown must be Probe or Demonstration or"):
            ti.Exchange("probe.json", ti.Policy.uniform(chain))
        with pytest.raises(ti.InvalidInputError, match=r"exchanges\[0\] must be an Exchange"):
            ti.diagnose(chain, None, [1])
        with pytest.raises(ti.InvalidInputError, match="mismatch must be non-negative"):
            ti.diagnose(chain, None, [], mismatch=-1)
        with pytest.raises(ti.InvalidInputError, match="confidence must lie strictly"):
            ti.diagnose(chain, None, [], confidence=1)

    def test_a_candidate_that_follows_from_the_others(self, chain):
        rows = ti.Worldview([[1, 0, 0, 0, 0], [0, 0, 1, 0, 0], [1, 0, 1, 0, 0]], ["a", "b", "c"])
        with pytest.raises(ti.InvalidInputError, match="'c' cannot be tested alone"):
            ti.next_probe(chain, rows, rng=np.random.default_rng(0), feature="c")


class TestLessons:
    """Teaching a learner of whom only a diagnosis is known."""

    def _lesson(self, chain, seen, exchanges, learner=None, **options):
        task = ti.Task(chain, WEIGHTS, ti.Worldview.select(chain, seen), np.eye(5))
        known = ti.diagnose(chain, None, exchanges)
        return ti.teach(
            task,
            ti.teachers.GapGreedy(),
            learner or ti.learners.MinNormPoint(),
            rng=np.random.default_rng(0),
            until=0.9,
            worldviews=known,
            **options,
        )

    def test_what_the_learner_has_is_not_paid_for(self, chain):
        lesson = self._lesson(chain, ["cell 1", "cell 3"], [])
        assert lesson.status is ti.LessonStatus.GUARANTEED
        found = [each for each in lesson.rounds if each.found]
        # Who sees cells 1 and 3 knows of cell 5: half of all visits are to one of the three.
        assert [each.name for each in found] == ["cell 5"]
        assert lesson.rounds[-1].cost == 0.0
        assert "cell 5 (has it)" in str(lesson) and "at most" in str(lesson)

    def test_what_it_lacks_is(self, chain):
        lesson = self._lesson(chain, ["cell 3"], [])
        assert not any(each.found for each in lesson.rounds)
        assert lesson.rounds[-1].cost >= 1.0

    def test_guarantees_count_with_what_is_proved(self, chain):
        blind = self._lesson(chain, ["cell 1", "cell 3"], [], budget=0)
        first = blind.rounds[0]
        assert first.guaranteed == 0.0
        assert first.guaranteed_at_most == pytest.approx(1.0)
        assert first.performance > first.guaranteed

    def test_the_luckiest_learner_gets_no_false_guarantee(self, chain):
        """It does as well as the expert by luck: nothing is guaranteed to who is like it."""
        lesson = self._lesson(chain, ["cell 3"], [], ti.learners.Benevolent())
        known = ti.Task(chain, WEIGHTS, ti.Worldview.select(chain, ["cell 3"]), np.eye(5))
        view = known.worldview.extend(np.eye(5)[list(lesson.taught)])
        true = ti.worst_case(chain, view, WEIGHTS, lesson.demonstration)
        assert lesson.rounds[-1].guaranteed <= known.relative(true.upper) + 1e-9

    def test_its_file(self, chain, tmp_path):
        lesson = self._lesson(chain, ["cell 1", "cell 3"], [])
        lesson.save(tmp_path / "lesson.json")
        again = ti.Lesson.load(tmp_path / "lesson.json", lesson.task)
        assert str(again) == str(lesson)

    def test_mistakes(self, chain):
        task = ti.Task(chain, WEIGHTS, ti.Worldview.select(chain, []), np.eye(5))
        arguments = (task, ti.teachers.TRGreedy(), ti.learners.MinNormPoint())
        rng = np.random.default_rng(0)
        with pytest.raises(ti.InvalidInputError, match="worldviews must be a Diagnosis, got int"):
            ti.teach(*arguments, rng=rng, worldviews=3)
        other = ti.diagnose(ti.worlds.chain(4), None, [])
        with pytest.raises(ti.InvalidInputError, match="a diagnosis in the task's MDP"):
            ti.teach(*arguments, rng=rng, worldviews=other)


def test_the_drawing_of_the_page(chain, tmp_path, capsys):
    root = Path(__file__).parents[1]
    script = runpy.run_path(str(root / "examples" / "tasting_tea.py"))
    script["main"](str(tmp_path))
    page = (root / "docs" / "unknown_learner.md").read_text(encoding="utf-8")
    for line in capsys.readouterr().out.splitlines():
        assert f"    {line}\n" in page
    assert (tmp_path / "tasting_tea.png").read_bytes().startswith(b"\x89PNG")
