"""What a learner promises, as a check that any author can run on their own class.

With the features Aφ, a target b [ℓ] and σ = max ‖Aφ‖/(1 − γ), which no policy's expectations
exceed: a learner returns a policy π with ‖μ(π) − b‖ = mismatch. Sizes are compared to max(σ, ‖b‖),
as that may be right up to rounding only. How closely to match is the learner's to say, as a share
of σ in even units (`learners.learner`), so that no feature is left out because its numbers are
small. What is nearest if nothing matches may be measured in these, or in the features as given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Floats
from ..errors import InvalidInputError
from ..learners import Informed, Learned, Learner, LearnStatus
from ..learners.asking import watches
from ..mdp.model import MDP
from ..mdp.policy import Policy, check_policy
from ..precision import MATCHED
from ..views.worldview import Worldview
from ..worlds import chain
from .barrier import check_barrier
from .cases import Case, cases, dense, dense_expectations, first_actions
from .mdp import parts_of, promise

# What counts as matched if a learner has no `tolerance` of its own, as a share of σ.
TOLERANCE = 1e-3


def check_learner(learner: Learner | Informed) -> None:
    """Raise an `AssertionError` that says where a learner breaks a promise, if it does.

    The learner is run on small worlds: an empty worldview, zero and duplicate features, targets
    that no policy has, one state, one action, states that are never reached, a terminal sink, and
    more. Its policy must do what is claimed, and the learner must

    - be no farther from the target than the start, and at least a tenth nearer to it if some policy
      is (so allow for more than one step), unless its attribute ``matches`` is False, as that of a
      learner who is after something else;
    - claim MATCHED only within ``tolerance``, its attribute (a share of max ‖Aφ‖/(1 − γ) in even
      units; 1e-3 if it has none), or ``mismatch``, if it has that (in the features as given), and
      NEAREST only if no policy is nearer by more than these;
    - claim no more for ``nearest`` than is true, and in no case more than its own mismatch;
    - give the same answer to the same question, and to another whose true features differ but look
      the same; and leave what it is given as it is;
    - refuse a target of another shape or that is not finite, and a start of another MDP.

    A learner whose ``learn`` takes ``observations`` gets what is seen of a few episodes of the
    expert, and keeps the same promises; it must refuse observations of other features, and may
    refuse to learn without any, by an InvalidInputError.

    Someone `Informed` is told the true reward, and may answer by it.

    Parameters
    ----------
    learner : Learner or Informed

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> from teachirl.learners import LearnStatus
    >>> from teachirl.learners.learner import Assignment
    >>> class Imitator:
    ...     def learn(self, seen, target, start=None):
    ...         task = Assignment(seen, target, start).even()  # refuses what makes no sense
    ...         policy, mu, history = task.start, task.first, []
    ...         for _ in range(10):
    ...             w = task.target - mu
    ...             best = ti.optimal_policy(task.seen, w).policy
    ...             ahead = ti.feature_expectations(task.seen, best) - mu
    ...             step = np.clip(w @ ahead / (ahead @ ahead or 1.0), 0, 1)
    ...             policy = ti.mixture(seen, [policy, best], [1 - step, step])
    ...             mu = ti.feature_expectations(task.seen, policy)
    ...             history.append(task.mismatch(mu - task.target))
    ...         near = task.miss(mu) <= 1e-3 * task.scale
    ...         status = LearnStatus.MATCHED if near else LearnStatus.OUT_OF_STEPS
    ...         return task.report(policy, task.as_given(w), 10, history, status)
    >>> from teachirl.testing import check_learner
    >>> check_learner(Imitator())
    """
    promise(
        not isinstance(learner, type),
        f"a learner is an object, not a class: check_learner({getattr(learner, '__name__', '')}())",
    )
    promise(
        hasattr(learner, "learn") or hasattr(learner, "informed"),
        f"a learner has a method learn(seen, target, start=None); {type(learner).__name__} has not",
    )
    for case in cases():
        told = _told(learner, case)
        learned = _check_starts(told, case)
        check_barrier(case)
        again = _learn(told, case, None, f"{case.name}, asked again")
        _check_equal(
            learned, again, f"{case.name}: a learner must give the same answer when asked again"
        )
        if not isinstance(learner, Informed):
            _check_twin(told, case, learned)
    _check_lists(learner)
    _check_refusals(learner)
    if watches(learner):
        _check_unwatched(learner)


def _told(learner: Learner | Informed, case: Case) -> Learner:
    if not isinstance(learner, Informed):
        return learner
    try:
        return learner.informed(case.mdp, case.weights)
    except Exception as error:
        raise AssertionError(f"{case.name}: informed raised {_shown(error)}") from error


def _check_starts(learner: Learner, case: Case) -> Learned:
    """All starts; what is learned without one is returned."""
    place = f"{case.name}, from no start"
    learned = _learn(learner, case, None, place)
    _check_learned(learner, case, Policy.uniform(case.seen), learned, place)
    starts = [(first_actions(case.seen), "each state's first action")]
    if case.reachable:
        starts.append((case.expert, "a policy that matches"))
    for start, name in starts:
        place = f"{case.name}, from {name}"
        _check_learned(learner, case, start, _learn(learner, case, start, place), place)
    return learned


def _learn(learner: Learner, case: Case, start: Policy | None, place: str) -> Learned:
    """What is learned, with a target that could be written to."""
    target = np.array(case.target)

    def given() -> dict[str, object]:
        parts = {"target": target, **parts_of(case.seen)}
        if watches(learner):
            features, actions = dense(case.observations.features), case.observations.actions
            parts["what is observed"] = np.column_stack([features, actions])
        if start is not None:
            parts["start"] = start.probabilities
        return {name: _bits(part) for name, part in parts.items()}

    before = given()
    more: dict[str, Any] = {} if start is None else {"start": start}
    if watches(learner):
        more["observations"] = case.observations
    try:
        learned = learner.learn(case.seen, target, **more)
    except Exception as error:
        raise AssertionError(
            f"{place}: a learner must learn, but raised {_shown(error)}"
        ) from error
    after = given()
    for name, bits in before.items():
        promise(
            after.get(name) == bits,
            f"{place}: a learner must leave what is given as it is, but {name} is another after it",
        )
    promise(
        isinstance(learned, Learned),
        f"{place}: learn must return a Learned, got {type(learned).__name__}",
    )
    return learned


def _check_learned(
    learner: Learner, case: Case, start: Policy, learned: Learned, place: str
) -> None:
    """Everything that one answer says, against what the policy does."""
    _check_types(case.seen, learned, place)
    slack = _slack(case)
    mu, claimed = dense_expectations(case.seen, learned.policy), learned.expectations
    promise(
        bool((np.abs(mu - claimed) <= slack).all()),
        f"{place}: expectations must be those of the policy, {mu}, got {claimed}",
    )
    miss = float(np.linalg.norm(mu - case.target))
    promise(
        abs(learned.mismatch - miss) <= slack,
        f"{place}: mismatch must be the distance to the target, {miss}, got {learned.mismatch}",
    )
    first = case.miss(start)
    promise(
        abs(learned.history[0] - first) <= slack,
        f"{place}: history must begin with the mismatch of the start, {first}, "
        f"got {learned.history[0]}",
    )
    promise(
        0.0 <= learned.nearest <= learned.mismatch,
        f"{place}: nearest must lie between 0 and the mismatch, {learned.mismatch}, "
        f"got {learned.nearest}",
    )
    promise(
        learned.nearest <= case.nearest + slack,
        f"{place}: nearest must be what no policy is below, but one has mismatch "
        f"{case.nearest}, got {learned.nearest}",
    )
    even, allowed = case.even.miss(learned.policy), float(getattr(learner, "mismatch", 0.0))
    goal = _goal(learner, case.even)
    near = even <= goal or (allowed > 0.0 and miss <= allowed + slack)
    promise(
        learned.status is not LearnStatus.MATCHED or near,
        f"{place}: MATCHED means a mismatch within {goal} in even units, what it allows, "
        f"got {even}",
    )
    try:
        _check_nearness(learner, case.even, start, learned, place)
    except AssertionError:
        _check_nearness(learner, case, start, learned, place)


def _slack(case: Case) -> float:
    """What rounding may do."""
    return MATCHED * max(case.scale, float(np.linalg.norm(case.target)))


def _goal(learner: Learner, case: Case) -> float:
    """What counts as matched, in the case's units."""
    return float(getattr(learner, "tolerance", TOLERANCE)) * case.scale + _slack(case)


def _check_nearness(
    learner: Learner, case: Case, start: Policy, learned: Learned, place: str
) -> None:
    """Whether the policy is as near as it must be, in the case's units."""
    miss, first, slack = case.miss(learned.policy), case.miss(start), _slack(case)
    goal = _goal(learner, case) + float(getattr(learner, "mismatch", 0.0))
    promise(
        learned.status is not LearnStatus.NEAREST or miss <= case.nearest + goal,
        f"{place}: NEAREST means that no policy is nearer, but one has mismatch {case.nearest}, "
        f"got {miss}",
    )
    if getattr(learner, "matches", True):
        promise(
            miss <= first + slack,
            f"{place}: mismatch must not be above that of the start, {first}, got {miss}",
        )
        far = first > case.nearest + goal
        # It must cover this share of the way from the mismatch of the start to the least there is.
        enough = first - 0.1 * (first - case.nearest)
        promise(
            not far or miss <= enough,
            f"{place}: a learner must get nearer to the target, from a mismatch of {first} to "
            f"{enough} or less as {case.nearest} is possible, got {miss}",
        )


def _check_types(seen: MDP, learned: Learned, place: str) -> None:
    try:
        check_policy(seen, learned.policy)
    except InvalidInputError as error:
        raise AssertionError(f"{place}: {error}") from error
    shape = (seen.n_features,)
    for name, array in (("expectations", learned.expectations), ("weights", learned.weights)):
        promise(
            _is_floats(array) and array.shape == shape and bool(np.isfinite(array).all()),
            f"{place}: {name} must be {shape[0]} finite floats, one a feature, got {array!r}",
        )
    history = learned.history
    promise(
        _is_floats(history)
        and history.ndim == 1
        and len(history) >= 1
        and bool(np.isfinite(history).all()),
        f"{place}: history must be an array of finite floats, the start's first, got {history!r}",
    )
    for name, number in (("mismatch", learned.mismatch), ("nearest", learned.nearest)):
        promise(
            isinstance(number, float) and bool(np.isfinite(number)),
            f"{place}: {name} must be a finite float, got {number!r}",
        )
    solves = learned.solves
    promise(
        isinstance(solves, (int, np.integer)) and not isinstance(solves, bool) and solves >= 0,
        f"{place}: solves must be an int from 0 on, got {solves!r}",
    )
    promise(
        isinstance(learned.status, LearnStatus),
        f"{place}: status must be a LearnStatus, got {learned.status!r}",
    )


def _check_twin(learner: Learner, case: Case, learned: Learned) -> None:
    """A learner cannot tell two worlds apart that look the same."""
    other = _learn(learner, case.twin(), None, f"{case.name}, with other true features")
    message = "a learner must give the same answer whatever the true features are that are not seen"
    _check_equal(learned, other, f"{case.name}: {message}")


def _check_lists(learner: Learner | Informed) -> None:
    case = next(cases())
    told, message = _told(learner, case), f"{case.name}: the target may be a list"
    try:
        more: dict[str, Any] = {"observations": case.observations} if watches(told) else {}
        listed = told.learn(case.seen, case.target.tolist(), **more)
    except Exception as error:
        raise AssertionError(f"{message}, but it raised {_shown(error)}") from error
    _check_equal(_learn(told, case, None, case.name), listed, f"{message}, with the same answer")


def _check_refusals(learner: Learner | Informed) -> None:
    case = next(cases())
    target, k = case.target, case.mdp.n_features
    stranger = Policy.uniform(chain(6))

    def learn(target: Floats, start: Policy | None = None, **others: Any) -> Learned:
        told = _told(learner, case)
        if watches(told):
            others = {"observations": case.observations, **others}
        return told.learn(case.seen, target, start, **others)

    attempts: dict[str, Callable[[], object]] = {
        "a target with an entry too many": lambda: learn(np.append(target, 0.0)),
        "a target with a row too many": lambda: learn(target[None]),
        "a target with NaN in it": lambda: learn(target * [1.0, np.nan, 1.0]),
        "an infinite target": lambda: learn(target * [np.inf, 1.0, 1.0]),
        "a start of another MDP": lambda: learn(target, stranger),
    }
    if watches(learner):
        wider = replace(case, view=Worldview(np.ones((7, k))))
        attempts["observations of other features"] = lambda: learn(
            target, observations=wider.observations
        )
    if isinstance(learner, Informed):
        informed = learner.informed
        attempts["a reward with a weight too many"] = lambda: informed(
            case.mdp, np.ones(k + 1)
        ).learn(case.seen, target)
    for name, attempt in attempts.items():
        demand = f"{name} must be refused with an InvalidInputError"
        try:
            attempt()
        except InvalidInputError:
            continue
        except Exception as error:
            raise AssertionError(f"{demand}, but it raised {_shown(error)}") from error
        promise(False, f"{demand}, but it was accepted")


def _check_unwatched(learner: Any) -> None:
    """Without observations it learns, or says that it cannot."""
    case = next(cases())
    try:
        learned = learner.learn(case.seen, case.target)
    except InvalidInputError:
        return
    except Exception as error:
        message = "without observations a learner must learn or raise an InvalidInputError"
        raise AssertionError(f"{message}, but it raised {_shown(error)}") from error
    place = f"{case.name}, without observations"
    _check_learned(learner, case, Policy.uniform(case.seen), learned, place)


def _check_equal(one: Learned, other: Learned, message: str) -> None:
    promise(
        one.policy.is_deterministic == other.policy.is_deterministic
        and _bits(one.policy.probabilities) == _bits(other.policy.probabilities),
        f"{message}, got other policies",
    )
    for name in ("expectations", "mismatch", "weights", "solves", "history", "status", "nearest"):
        mine, others = getattr(one, name), getattr(other, name)
        promise(_bits(mine) == _bits(others), f"{message}, got {name} {mine} and {others}")


def _bits(part: Any) -> object:
    return (part.shape, part.tobytes()) if isinstance(part, np.ndarray) else part


def _is_floats(array: object) -> bool:
    return isinstance(array, np.ndarray) and array.dtype == float


def _shown(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
