"""The contract of learners passes who keeps it, and tells everyone else what they broke."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import ArrayLike

import teachirl as ti
from teachirl import learners
from teachirl.learners import Learned, LearnStatus
from teachirl.learners.asking import learned_by, watches
from teachirl.learners.learner import Assignment
from teachirl.testing import check_learner, check_same
from teachirl.testing.barrier import check_barrier
from teachirl.testing.cases import Case, cases, dense_expectations


class Imitator:
    """The correct learner of `check_learner`'s docstring, in pieces that can be broken one by one.

    Its `tolerance` is far from what it reaches in some of the worlds, so that it says so.
    """

    tolerance = 1e-3
    steps = 10

    def learn(self, seen: ti.MDP, target: ArrayLike, start: ti.Policy | None = None) -> Learned:
        task = self.task(seen, target, start)
        policy, mu, history = task.start, task.first, list[float]()
        for _ in range(self.steps):
            if self.is_near(task.miss(mu), task):
                break
            best = ti.optimal_policy(task.seen, self.direction(task.target - mu)).policy
            ahead = ti.feature_expectations(task.seen, best) - mu
            step = self.step(task.target - mu, ahead)
            policy = ti.mixture(seen, [policy, best], [1 - step, step])
            mu = ti.feature_expectations(task.seen, policy)
            history.append(task.mismatch(task.target - mu))
        near = self.is_near(task.miss(mu), task)
        status = LearnStatus.MATCHED if near else LearnStatus.OUT_OF_STEPS
        weights = task.as_given(task.target - mu)
        return task.report(policy, weights, len(history), history, status)

    def task(self, seen: ti.MDP, target: ArrayLike, start: ti.Policy | None) -> Assignment:
        return Assignment(seen, target, start).even()

    def is_near(self, mismatch: float, task: Assignment) -> bool:
        return mismatch <= self.tolerance * task.scale

    def direction(self, gap: np.ndarray) -> np.ndarray:
        return gap

    def step(self, gap: np.ndarray, ahead: np.ndarray) -> float:
        return float(np.clip(gap @ ahead / (ahead @ ahead or 1.0), 0, 1))


class Altered(Imitator):
    """Learns properly and then reports something else."""

    def learn(self, seen: ti.MDP, target: ArrayLike, start: ti.Policy | None = None) -> Learned:
        learned = super().learn(seen, target, start)
        return dataclasses.replace(learned, **self.changes(learned, seen, np.asarray(target)))

    def changes(self, learned: Learned, seen: ti.MDP, target: np.ndarray) -> dict[str, object]:
        return {}


class LastPolicy(Altered):
    """Returns the last policy, and claims what the mixture does."""

    def changes(self, learned: Learned, seen: ti.MDP, target: np.ndarray) -> dict[str, object]:
        return {"policy": ti.optimal_policy(seen, learned.weights).policy}


class ForgetsDiscount(Altered):
    """Counts 200 steps as if they were for ever."""

    def changes(self, learned: Learned, seen: ti.MDP, target: np.ndarray) -> dict[str, object]:
        cut = 1.0 - seen.discount**200
        return {"expectations": learned.expectations * cut}


class DropsSigns(Imitator):
    def direction(self, gap: np.ndarray) -> np.ndarray:
        return np.abs(gap)


class Overshoots(Imitator):
    """Takes the whole step, whatever it leads to."""

    def step(self, gap: np.ndarray, ahead: np.ndarray) -> float:
        return 1.0


class Moody(Imitator):
    """Draws from a generator that goes on from question to question."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def step(self, gap: np.ndarray, ahead: np.ndarray) -> float:
        return super().step(gap, ahead) * self.rng.uniform(0.5, 1.0)


class KeepsCounting(Altered):
    """Counts its solves from one question to the next."""

    total = 0

    def changes(self, learned: Learned, seen: ti.MDP, target: np.ndarray) -> dict[str, object]:
        self.total += learned.solves
        return {"solves": self.total}


class Peeks(Imitator):
    """Looks for the true features in whoever called it."""

    def direction(self, gap: np.ndarray) -> np.ndarray:
        frame = sys._getframe()
        while frame is not None:
            for found in tuple(frame.f_locals.values()):
                if isinstance(found, Case):
                    return gap * (1.0 + found.mdp.n_features * np.arange(len(gap)))
            frame = frame.f_back
        return gap


class NeedsFeatures(Imitator):
    """Divides by the largest entry, of which there is none without features."""

    def direction(self, gap: np.ndarray) -> np.ndarray:
        return gap / max(gap.max(), 1.0)

    def is_near(self, mismatch: float, task: Assignment) -> bool:
        return False


class MindsUnits(Imitator):
    """Overlooks features that have small numbers."""

    def task(self, seen: ti.MDP, target: ArrayLike, start: ti.Policy | None) -> Assignment:
        return Assignment(seen, target, start)


class AbsoluteTolerance(MindsUnits):
    """Counts a mismatch of 1e-6 as none, in whatever units."""

    def is_near(self, mismatch: float, task: Assignment) -> bool:
        return mismatch <= 1e-6


class HopesTooMuch(Altered):
    """Claims the last bit too much, as if nothing were rounded."""

    def changes(self, learned: Learned, seen: ti.MDP, target: np.ndarray) -> dict[str, object]:
        return {"nearest": float(np.nextafter(learned.mismatch, np.inf))}


class WrongMismatch(Altered):
    """The largest difference instead of the distance."""

    def changes(self, learned: Learned, seen: ti.MDP, target: np.ndarray) -> dict[str, object]:
        off = np.abs(learned.expectations - target)
        return {"mismatch": float(off.max(initial=0.0))}


class WritesTarget(Imitator):
    def learn(self, seen: ti.MDP, target: ArrayLike, start: ti.Policy | None = None) -> Learned:
        learned = super().learn(seen, target, start)
        if isinstance(target, np.ndarray):
            target -= learned.expectations
        return learned


class WritesFeatures(Imitator):
    def learn(self, seen: ti.MDP, target: ArrayLike, start: ti.Policy | None = None) -> Learned:
        learned = super().learn(seen, target, start)
        seen.features.setflags(write=True)
        seen.features[:] *= 0.5
        return learned


class IgnoresStart(Imitator):
    def learn(self, seen: ti.MDP, target: ArrayLike, start: ti.Policy | None = None) -> Learned:
        return super().learn(seen, target)


class HistoryWithoutStart(Altered):
    def changes(self, learned: Learned, seen: ti.MDP, target: np.ndarray) -> dict[str, object]:
        return {"history": learned.history[min(1, len(learned.history) - 1) :]}


class ClaimsNearest(Altered):
    """Says that nothing is nearer than what it found."""

    def changes(self, learned: Learned, seen: ti.MDP, target: np.ndarray) -> dict[str, object]:
        return {"nearest": learned.mismatch}


class StopsAtNearest(Altered):
    """Ends with NEAREST wherever it stands."""

    def changes(self, learned: Learned, seen: ti.MDP, target: np.ndarray) -> dict[str, object]:
        return {"status": LearnStatus.NEAREST}


class Reports(Altered):
    """Reports these values in place of the right ones."""

    def __init__(self, **values: object) -> None:
        self.values = values

    def changes(self, learned: Learned, seen: ti.MDP, target: np.ndarray) -> dict[str, object]:
        return self.values


class WeightsTooMany(Altered):
    def changes(self, learned: Learned, seen: ti.MDP, target: np.ndarray) -> dict[str, object]:
        return {"weights": np.append(learned.weights, 1.0)}


class AcceptsNan(Imitator):
    def learn(self, seen: ti.MDP, target: ArrayLike, start: ti.Policy | None = None) -> Learned:
        if np.shape(target) == (seen.n_features,):
            target = np.where(np.isnan(target), 0.0, target)
        return super().learn(seen, target, start)


class AcceptsAnyShape(Imitator):
    def learn(self, seen: ti.MDP, target: ArrayLike, start: ti.Policy | None = None) -> Learned:
        return super().learn(seen, np.ravel(target)[: seen.n_features], start)


class AcceptsAnyStart(Imitator):
    def learn(self, seen: ti.MDP, target: ArrayLike, start: ti.Policy | None = None) -> Learned:
        fits = start is not None and start.dynamics.n_states == seen.n_states
        return super().learn(seen, target, start if fits else None)


class RefusesByAccident(Imitator):
    """Breaks down on what it should refuse."""

    def learn(self, seen: ti.MDP, target: ArrayLike, start: ti.Policy | None = None) -> Learned:
        if np.shape(target) != (seen.n_features,):
            raise IndexError("out of bounds")
        return super().learn(seen, target, start)


class NeedsArrays(Imitator):
    def learn(self, seen: ti.MDP, target: ArrayLike, start: ti.Policy | None = None) -> Learned:
        return super().learn(seen, target.copy() * 1.0, start)  # type: ignore[union-attr]


class ReturnsPolicy(Imitator):
    def learn(self, seen: ti.MDP, target: ArrayLike, start: ti.Policy | None = None) -> Learned:
        return super().learn(seen, target, start).policy  # type: ignore[return-value]


CHAIN = "a chain of five cells, from no start: "
BROKEN: list[tuple[object, str]] = [
    (LastPolicy(), "expectations must be those of the policy, ["),
    (ForgetsDiscount(), "a discount of .999, from no start: expectations must be those of the"),
    (DropsSigns(), CHAIN + "a learner must get nearer to the target, from a mismatch of 3"),
    (Overshoots(), "mismatch must not be above that of the start, "),
    (Moody(), "five cells: a learner must give the same answer when asked again, got other"),
    (KeepsCounting(), "a learner must give the same answer when asked again, got solves "),
    (Peeks(), "a learner must give the same answer whatever the true features are that are"),
    (
        NeedsFeatures(),
        "an empty worldview, from no start: a learner must learn, but raised ValueEr",
    ),
    (AbsoluteTolerance(), "features in tiny units, from no start: MATCHED means a mismatch within"),
    (MindsUnits(), "units that differ, from no start: MATCHED means a mismatch within"),
    (HopesTooMuch(), CHAIN + "nearest must lie between 0 and the mismatch, "),
    (WrongMismatch(), "mismatch must be the distance to the target, "),
    (WritesTarget(), CHAIN + "a learner must leave what is given as it is, but target is anot"),
    (WritesFeatures(), CHAIN + "a learner must leave what is given as it is, but features is"),
    (IgnoresStart(), "from each state's first action: history must begin with the mismatch of the"),
    (HistoryWithoutStart(), CHAIN + "history must begin with the mismatch of the start, 3.02"),
    (ClaimsNearest(), "nearest must be what no policy is below, but one has mismatch "),
    (Reports(nearest=100.0), CHAIN + "nearest must lie between 0 and the mismatch, "),
    (Reports(nearest=-1e-3), CHAIN + "nearest must lie between 0 and the mismatch, "),
    (Reports(nearest=None), CHAIN + "nearest must be a finite float, got None"),
    (Reports(status=LearnStatus.MATCHED), "MATCHED means a mismatch within "),
    (StopsAtNearest(), "NEAREST means that no policy is nearer, but one has mismatch "),
    (Reports(status="matched"), CHAIN + "status must be a LearnStatus, got 'matched'"),
    (Reports(solves=3.0), CHAIN + "solves must be an int from 0 on, got 3.0"),
    (Reports(solves=-1), CHAIN + "solves must be an int from 0 on, got -1"),
    (Reports(mismatch=np.nan), CHAIN + "mismatch must be a finite float, got nan"),
    (Reports(history=[1.0]), CHAIN + "history must be an array of finite floats, the start's"),
    (Reports(history=np.empty(0)), CHAIN + "history must be an array of finite floats, the"),
    (Reports(policy=ti.Policy.uniform(ti.worlds.chain(3))), CHAIN + "policy must belong to the"),
    (Reports(expectations=np.zeros(2)), CHAIN + "expectations must be 3 finite floats, one a"),
    (WeightsTooMany(), CHAIN + "weights must be 3 finite floats, one a feature, got"),
    (Reports(weights=np.full(3, np.nan)), CHAIN + "weights must be 3 finite floats"),
    (
        AcceptsNan(),
        "a target with NaN in it must be refused with an InvalidInputError, but it was",
    ),
    (
        AcceptsAnyShape(),
        "a target with an entry too many must be refused with an InvalidInputError",
    ),
    (
        AcceptsAnyStart(),
        "a start of another MDP must be refused with an InvalidInputError, but it",
    ),
    (RefusesByAccident(), "with an InvalidInputError, but it raised IndexError: out of bounds"),
    (NeedsArrays(), "the target may be a list, but it raised "),
    (ReturnsPolicy(), CHAIN + "learn must return a Learned, got Policy"),
    (Imitator, "a learner is an object, not a class: check_learner(Imitator())"),
    (
        LearnStatus.MATCHED,
        "a learner has a method learn(seen, target, start=None); LearnStatus has",
    ),
]


@pytest.mark.parametrize("steps", [1, 10])
def test_a_learner_who_keeps_it_passes(steps: int) -> None:
    learner = Imitator()
    learner.steps = steps
    check_learner(learner)


@pytest.mark.parametrize(("learner", "message"), BROKEN, ids=[m[-50:] for _, m in BROKEN])
def test_a_broken_learner_is_told(learner: learners.Learner, message: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check_learner(learner)
    assert message in str(caught.value)


def test_who_is_not_out_to_match_may_be_farther() -> None:
    learner = Overshoots()
    learner.matches = False  # type: ignore[attr-defined]
    check_learner(learner)


def test_a_mismatch_that_it_allows_counts_as_matched() -> None:
    generous = Reports(status=LearnStatus.MATCHED)
    generous.mismatch = 60.0  # type: ignore[attr-defined]  # the farthest target is 51 away
    check_learner(generous)
    generous.mismatch = 10.0  # type: ignore[attr-defined]
    with pytest.raises(AssertionError, match=r"a target far out of reach, .*: MATCHED means a"):
        check_learner(generous)


def test_an_unchanged_report_is_not_broken() -> None:
    check_learner(Altered())


@dataclasses.dataclass(frozen=True)
class Favoured:
    """Told the reward, it reports how much there is of it."""

    careful: bool = True

    def informed(self, mdp: ti.MDP, weights: ArrayLike) -> learners.Learner:
        total = float(np.sum(mdp.checked_weights(weights) if self.careful else weights))

        class Told(Altered):
            def changes(
                self, learned: Learned, seen: ti.MDP, target: np.ndarray
            ) -> dict[str, object]:
                return {"weights": np.full(seen.n_features, total)}

        return Told()


def test_the_informed_are_told_the_reward() -> None:
    check_learner(Favoured())
    with pytest.raises(AssertionError, match="a reward with a weight too many must be refused"):
        check_learner(Favoured(careful=False))


def constructed() -> Iterator[object]:
    """All of our learners that need no arguments."""
    for name in learners.__all__:
        try:
            made = getattr(learners, name)()
        except TypeError:  # protocols, results, statuses
            continue
        if isinstance(made, learners.MultiplicativeWeights):
            # One target is so far away that it takes all its steps, time and again.
            made = dataclasses.replace(made, max_steps=1_500)
        yield pytest.param(made, id=name)


@pytest.mark.slow  # those that take many small steps
@pytest.mark.parametrize("learner", list(constructed()))
def test_our_learners_keep_it(learner: learners.Learner) -> None:
    check_learner(learner)


CASES = list(cases())
each_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


@each_case
def test_no_policy_is_nearer_than_the_nearest(case: Case) -> None:
    if case.reachable:
        assert case.nearest <= 1e-13 * case.scale
        return
    # With u the unit vector from the nearest μ to b, no policy is nearer than ⟨u, b⟩ − max ⟨u, μ⟩.
    gap = case.target - ti.feature_expectations(case.seen, case.nearest_policy)
    u = gap / np.linalg.norm(gap)
    below = u @ case.target - ti.optimal_policy(case.seen, u).upper
    assert 1e-2 * case.scale < below <= case.nearest <= below + 1e-9 * case.scale


@each_case
def test_dense_expectations_are_the_same(case: Case) -> None:
    for policy in (case.expert, ti.Policy.uniform(case.seen)):
        for mdp in (case.seen, case.mdp):
            mu = ti.feature_expectations(mdp, policy)
            size = mdp.largest_feature / (1 - mdp.discount)
            assert np.abs(dense_expectations(mdp, policy) - mu).max(initial=0.0) <= 1e-11 * size


@each_case
def test_twins_look_the_same_and_are_not(case: Case) -> None:
    twin = case.twin()
    check_same(case.seen, twin.seen)
    assert twin.mdp.dynamics is not case.mdp.dynamics
    assert twin.mdp.n_features == case.seen.n_features + 10
    assert twin.target.tobytes() == case.target.tobytes()
    assert abs(twin.nearest - case.nearest) <= 1e-12 * case.scale


@each_case
def test_nothing_true_can_be_reached_from_what_it_sees(case: Case) -> None:
    check_barrier(case)
    leaky = dataclasses.replace(case)
    object.__setattr__(leaky.seen, "seen_by", [{"its": leaky.view}])
    if leaky.view.matrix.size:
        with pytest.raises(AssertionError, match="what a learner sees must not hold the worldview"):
            check_barrier(leaky)
    leaky = dataclasses.replace(case)
    phi = leaky.mdp.features
    object.__setattr__(leaky.seen, "extra", phi.T if isinstance(phi, np.ndarray) else phi)
    with pytest.raises(AssertionError, match="what a learner sees must not hold the true features"):
        check_barrier(leaky)


def test_the_cases_are_what_their_names_say() -> None:
    by_name = {case.name: case for case in CASES}
    assert len(by_name) == len(CASES)
    gaps = by_name["a chain of five cells"]
    uniform = ti.feature_expectations(gaps.seen, ti.Policy.uniform(gaps.seen))
    assert (gaps.target < uniform - 0.1).all()
    assert by_name["an empty worldview"].target.shape == (0,)
    assert by_name["features that are all zero"].scale == 0.0
    assert by_name["features in tiny units"].scale < 1e-10
    assert sum(not case.reachable for case in CASES) == 3
    assert by_name["a discount of .999"].mdp.discount == 0.999
    assert by_name["features per pair"].seen.features_per_pair
    assert by_name["one state"].mdp.n_states == 1 < by_name["one state"].mdp.n_pairs
    assert by_name["one state, one action"].mdp.n_pairs == 1
    ring = by_name["one action in every state"].mdp
    assert ring.n_pairs == ring.n_states > 1
    lonely = by_name["states that are never reached"]
    assert (ti.occupancy(lonely.mdp, ti.Policy.uniform(lonely.mdp)) == 0.0).any()
    sink = by_name["a terminal sink"].mdp
    assert sink.dynamics.transitions[-1, 2] == 1.0 and not sink.features[2].any()
    assert by_name["moves that slip"].mdp.dynamics.transitions.data.max() < 1.0
    assert sp.issparse(by_name["sparse features"].seen.features)


def test_cases_are_made_anew() -> None:
    once, again = next(cases()), next(cases())
    assert once.mdp is not again.mdp and once.seen is not again.seen
    check_same(once.seen, again.seen)


class Watcher:
    """Looks at episodes, and stays as it is; in pieces that can be broken one by one."""

    matches = False

    def learn(
        self,
        seen: ti.MDP,
        target: ArrayLike,
        start: ti.Policy | None = None,
        observations: ti.Observations | None = None,
    ) -> Learned:
        self.look(seen, observations)
        task = self.task(seen, target, start, observations)
        return task.report(task.start, 0 * task.target, 0, [], LearnStatus.SETTLED)

    def look(self, seen: ti.MDP, observations: ti.Observations | None) -> None:
        pass

    def task(self, *given: object) -> Assignment:
        return Assignment(*given)  # type: ignore[arg-type]


class Forgetful(Watcher):
    def task(self, *given: object) -> Assignment:
        return Assignment(*given[:3])  # type: ignore[arg-type]


class Scribbler(Watcher):
    def look(self, seen: ti.MDP, observations: ti.Observations | None) -> None:
        if observations is not None:
            observations.actions.setflags(write=True)
            observations.actions[0] = 1 - observations.actions[0]


class Helpless(Watcher):
    def look(self, seen: ti.MDP, observations: ti.Observations | None) -> None:
        assert observations is not None


class Choosy(Watcher):
    def look(self, seen: ti.MDP, observations: ti.Observations | None) -> None:
        if observations is None:
            raise ti.InvalidInputError("show me episodes")


class TestWatchers:
    def test_who_looks_at_episodes_keeps_the_contract(self) -> None:
        check_learner(Watcher())
        check_learner(Choosy())

    @pytest.mark.parametrize(
        ("learner", "message"),
        [
            (Forgetful(), "observations of other features must be refused"),
            (Scribbler(), "but what is observed is another after it"),
            (Helpless(), "without observations a learner must learn or raise an InvalidInputE"),
        ],
    )
    def test_who_breaks_it_is_told(self, learner: learners.Learner, message: str) -> None:
        with pytest.raises(AssertionError) as caught:
            check_learner(learner)
        assert message in str(caught.value)

    def test_observations_are_what_is_seen_and_nothing_else(self) -> None:
        mdp = ti.worlds.gridworld(4, block=2)
        rng, uniform = np.random.default_rng(0), ti.Policy.uniform(mdp)
        walks = ti.sample_trajectories(mdp, uniform, episodes=3, horizon=7, rng=rng)
        for view in (ti.Worldview.select(mdp, ["cell 1"]), ti.Worldview(rng.normal(size=(2, 4)))):
            seen = view.observe(mdp)
            found = ti.Observations.of(seen, walks)
            features = found.features
            dense = features if isinstance(features, np.ndarray) else features.toarray()
            phi: sp.csr_array = mdp.features  # type: ignore[assignment]
            assert dense == pytest.approx(phi.toarray()[walks.states] @ view.matrix.T)
            assert found.actions.tolist() == mdp.dynamics.actions[walks.pairs].tolist()
            assert {each.name for each in dataclasses.fields(found)} == {
                *("features", "actions", "offsets", "terminated")
            }
            assert not any(
                np.may_share_memory(part, secret)
                for part in (found.actions, found.offsets, found.terminated)
                for secret in (walks.states, walks.pairs, walks.offsets, walks.terminated)
            )
        assert repr(found) == "Observations(3 episodes, 21 steps, 2 features)"

    def test_features_of_pairs_are_seen_of_what_is_done(self) -> None:
        chain = ti.worlds.chain(3)
        mdp = chain.with_features(np.arange(4.0)[:, None])
        walks = ti.Trajectories.from_arrays(mdp, [[0, 1, 2]], [[1, 1, 0]], [False])
        assert ti.Observations.of(mdp, walks).features.ravel().tolist() == [0.0, 2.0, 3.0]

    def test_teach_hands_episodes_to_who_looks_at_them(self) -> None:
        met: list[ti.Observations | None] = []

        class Witness(Watcher):
            def look(self, seen: ti.MDP, observations: ti.Observations | None) -> None:
                met.append(observations)

        mdp, rng = ti.worlds.chain(5), np.random.default_rng(0)
        view, weights = ti.Worldview.select(mdp, ["cell 3"]), [-2, -1, 0, 1, 2]
        best = ti.optimal_policy(mdp, weights).policy
        for shown in (ti.Demonstration.sample(mdp, best, episodes=5, horizon=9, rng=rng), best):
            task = ti.Task(mdp, weights, view, np.eye(5), demonstration=shown)
            teacher = ti.teachers.PerfGreedy(Witness())
            ti.teach(task, teacher, Witness(), rng=rng, budget=1, tolerance=-1.0, certified=False)
        sampled, exact = met[:7], met[7:]  # round 0, five candidates, round 1
        assert [each.features.shape for each in sampled if each is not None] == (
            [(45, 1)] + [(45, 2)] * 6
        )
        assert exact == [None] * 7

    def test_who_does_not_look_gets_none(self) -> None:
        assert watches(Watcher()) and not watches(Imitator())
        mdp = ti.worlds.chain(3)
        walks = ti.Trajectories.from_arrays(mdp, [[0, 1]], [[1, 1]], [False])
        assert learned_by(Imitator(), mdp, np.zeros(3), None, walks).policy is not None

    @pytest.mark.parametrize(
        ("given", "told"),
        [
            ("episodes", "observations must be Observations, got str"),
            (
                ti.Observations(
                    np.zeros((1, 3)), np.array([7]), np.array([0, 1]), np.array([False])
                ),
                "observations must have actions from 0 to 1, got 7",
            ),
        ],
    )
    def test_what_are_no_observations_is_told(self, given: object, told: str) -> None:
        with pytest.raises(ti.InvalidInputError, match=told):
            Assignment(ti.worlds.chain(3), [0, 0, 0], None, given)  # type: ignore[arg-type]
        chain = ti.worlds.chain(3)
        walks = ti.Trajectories.from_arrays(ti.worlds.chain(5), [[4]], [[0]], [False])
        with pytest.raises(ti.InvalidInputError, match="must be of the same world"):
            ti.Observations.of(chain, walks)
