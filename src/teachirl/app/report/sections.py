"""The sections of a report, one a function, from results to markup."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable, Iterator, Mapping

from ...demonstrations.demonstration import Demonstration
from ...errors import FileFormatError
from ...mdp.policy import Policy
from ...study.provenance import package_versions
from ..decisions import Advice, Frontier, Point, Standing
from ..digits import (
    NOTHING,
    asked,
    at_least,
    at_most,
    money,
    number,
    percent,
    percent_at_least,
    small,
)
from ..problem import Problem
from ..problem.files import Folder
from ..problem.reading import parse
from ..problem.schema import SavedWorld, TableWorld
from .charts import differences_picture, frontier_picture, plan_picture
from .markup import bullets, code, facts, folded, heading, paragraph, section, shown, table
from .pictures import Picture, policy_pictures, policy_rows, reward_picture, visits_of

EXPERT, WORST = "What she is shown", "The worst that looks the same to her"
EXPLAINED = {
    "Theorem 1": (
        "It multiplies the part of the reward that is hidden from her, the teaching risk, by how "
        "far apart two policies can be at all. It is quick and often says little: a low number "
        "here is no bad news, only a reason to read the next lines."
    ),
    "width": (
        "It takes the part of the reward that she cannot see and asks how far below the expert a "
        "policy can fall in that part alone. It never promises less than Theorem 1, but still "
        "fears policies that would look wrong to her."
    ),
    "exact": (
        "It searches all policies that look right to her, to the mismatch allowed, for the one "
        "that earns least. Where the search is complete, no more can be promised of all such "
        "learners: only teaching her more, or showing her something else, helps."
    ),
}
LOOKS = (
    "Theorem 2 of the paper and the exact answer ask the other way round: is there a reward in her "
    "own features under which the expert does the best there is? If not, a learner who looks for "
    "such a reward will do something else than the expert, and may say that he makes mistakes."
)


def in_short(standing: Standing | None, advice: Advice | None, frontier: Frontier | None) -> str:
    """What to do, in a few sentences and numbers."""
    numbers, sentences = [], []
    if standing is not None:
        numbers.append(("guaranteed as she is", percent_at_least(standing.guaranteed)))
        numbers.append(("teaching risk", f"{standing.risk:.3f}"))
        sentences += [_of_everyone(standing), str(standing.blind_spot)]
    if advice is not None:
        last = advice.steps[advice.stop]
        names = [step.name for step in advice.steps[1 : advice.stop + 1]]
        numbers.append(("guaranteed by the plan", percent_at_least(last.guaranteed)))
        numbers.append(("cost of the plan", money(last.cost)))
        teach = f"Teach, in this order: {', '.join(names)}." if names else "Teach nothing."
        sentences = [teach, advice.reason, advice.demonstrate, *sentences]
    if frontier is not None and frontier.wanted is not None:
        enough, wanted = frontier.enough, asked(frontier.wanted)
        numbers.append((f"cheapest for {wanted}", money(enough.cost) if enough else NOTHING))
        if enough is None:
            sentences.append(f"No set of features that was tried guarantees {wanted}.")
        else:
            sentences.append(
                f"The cheapest set found that guarantees {wanted} costs {money(enough.cost)}: "
                f"{_set(enough)}."
            )
    elif frontier is not None:
        most = frontier.points[-1]
        numbers.append(("most that can be bought", percent_at_least(most.guaranteed)))
        numbers.append(("for a cost of", money(most.cost)))
    return section("In short", facts(numbers), bullets(dict.fromkeys(sentences)))


def plan(problem: Problem, advice: Advice) -> str:
    """What to teach, in which order."""
    rows = []
    for count, step in enumerate(advice.steps):
        name = step.name or "nothing yet"
        name += " (stop here)" if count == advice.stop else ""
        name += " (from here on, show something else)" if step.new_demonstration else ""
        other = step.alternative
        second = NOTHING
        if other is not None:
            second = f"{other.name} for {money(other.price)}: {percent_at_least(other.guaranteed)}"
        rows.append(
            (
                str(count),
                name,
                money(step.price),
                money(step.cost),
                step.risk,
                percent_at_least(step.guaranteed),
                percent(step.performance),
                second,
            )
        )
    header = (
        *("step", "teach", "price", "cost so far", "risk", "guaranteed"),
        *(f"simulated ({advice.learner})", "second best, and what it would guarantee"),
    )
    return section(
        "What to teach",
        paragraph(advice.reason),
        table(f"The plan of {advice.teacher}", header, rows),
        paragraph(advice.below),
        _if_any(plan_picture(advice)),
        paragraph(advice.nearness),
        heading("What to demonstrate"),
        paragraph(advice.demonstrate),
        _demonstrated(problem, advice),
    )


def _demonstrated(problem: Problem, advice: Advice) -> str:
    """What to show, against an optimal policy; nothing if that is the same."""
    another = advice.differences or any(step.new_demonstration for step in advice.steps)
    if advice.policy is None or not another:
        return ""
    policies = {"An optimal policy": problem.task.best.policy, "What to show": advice.policy}
    differ = differences_picture(
        advice.differences, ("an optimal policy", "what to show"), "reward given up"
    )
    return (
        _drawn(problem, policies, "what to show")
        + (shown(differ, opened=True) if advice.differences else "")
        + _by_state(problem, "What to show", advice.policy)
    )


def budget(frontier: Frontier) -> str:
    """What can be guaranteed for how much."""
    rows = [
        (money(each.cost), percent_at_least(each.guaranteed), each.risk, _set(each))
        for each in frontier.points
    ]
    return section(
        "What a budget buys",
        paragraph(frontier.method),
        shown(frontier_picture(frontier)),
        table("Sets of features worth their cost", ("cost", "guaranteed", "risk", "teach"), rows),
    )


def as_she_is(standing: Standing) -> str:
    """What is proved of the learner before anything is taught, and what learners would do."""
    scale = standing.best - standing.worst
    proved = [
        (
            each.name,
            percent_at_least(each.performance),
            at_least(each.reward, scale),
            at_most(each.behind, scale),
        )
        for each in standing.guarantees
    ]
    header = ("certificate", "performance", "reward at least", "behind the expert by at most")
    explained = "".join(
        heading(each.name[:1].upper() + each.name[1:])
        + paragraph(EXPLAINED.get(each.name, ""))
        + paragraph(f"Here: {each.sentence[:1].lower()}{each.sentence[1:]}", "here")
        for each in standing.guarantees
    )
    learners = [
        (
            each.name,
            NOTHING if each.performance is None else percent(each.performance),
            NOTHING if each.mismatch is None else small(each.mismatch),
            each.ended,
        )
        for each in standing.learners
    ]
    reward = (
        ("the best policy earns", number(standing.best)),
        ("the expert earns", number(standing.expert)),
        ("the worst policy earns", number(standing.worst)),
        ("teaching risk", f"{standing.risk:.3f}"),
        ("of what policies can change", f"{standing.relative_risk:.3f}"),
    )
    return section(
        "The learner as she is",
        paragraph(standing.world),
        facts(reward),
        paragraph(
            "Performance is relative: the best policy has 100 %, the worst 0 %. The teaching risk "
            "says how much of the reward is hidden from her, from 0 (nothing) to 1 (all of it)."
        ),
        paragraph(_of_everyone(standing)),
        table("What is guaranteed", header, proved),
        explained,
        heading("Can the expert look optimal to her?") if standing.looks else "",
        paragraph(LOOKS) if standing.looks else "",
        bullets(standing.looks),
        heading("What learners would do"),
        table(
            "Learners, simulated",
            ("learner", "performance", "mismatch in her features", "how it ended"),
            learners,
        )
        if learners
        else "",
        paragraph(standing.below),
    )


def _of_everyone(standing: Standing) -> str:
    """What is proved of all learners, and on which terms."""
    if not standing.certificate.matchable:
        return "No policy matches what she is shown this closely, so that nothing is guaranteed."
    holds = (
        "As she is, every learner who matches what she is shown reaches "
        f"{percent_at_least(standing.guaranteed)} or more, whatever her algorithm"
    )
    if standing.mismatch > 0.0:
        holds += f", if she misses it by {at_most(standing.mismatch)} at most in her features"
    if standing.confidence < 1.0:
        holds += f", with confidence {percent_at_least(standing.confidence)}"
    return f"{holds}."


def world(problem: Problem, standing: Standing | None) -> str:
    """The world, and what is shown against the worst that looks the same."""
    demonstration = problem.task.demonstration if standing is None else standing.demonstration
    policies: dict[str, Demonstration | Policy] = {EXPERT: demonstration}
    if standing is not None and standing.witness is not None:
        policies[WORST] = standing.witness
    parts = [_if_any(reward_picture(problem)), _drawn(problem, policies, "what could happen")]
    if standing is not None and not parts[-1]:
        for name, each in policies.items():
            policy = each if isinstance(each, Policy) else each.policy
            parts.append("" if policy is None else _by_state(problem, name, policy))
    if standing is not None and standing.differences:
        worst = standing.differences[0]
        parts += [
            heading("How the worst policy differs"),
            paragraph(
                f"Most is lost through {worst.name}: {number(worst.expert)} of it for the expert, "
                f"{number(worst.other)} for the policy that looks the same to her, which costs "
                f"{number(worst.lost)} of reward."
                if worst.lost > 0.0
                else ""
            ),
            shown(
                differences_picture(standing.differences, ("the expert", "the worst"), "lost"),
                opened=True,
            ),
        ]
    elif standing is not None and standing.witness is not None:
        parts.append(
            paragraph("The worst policy that was found has as much of each feature as the expert.")
        )
    title = "The world, and the worst she could do in it" if standing else "The world"
    return section(title, *parts) if any(parts) else ""


def _drawn(problem: Problem, policies: Mapping[str, Demonstration | Policy], title: str) -> str:
    visits = {name: visits_of(problem.mdp, each) for name, each in policies.items()}
    known = {name: x for name, x in visits.items() if x is not None}
    return "".join(map(shown, policy_pictures(problem, known, title)))


def _by_state(problem: Problem, name: str, policy: Policy) -> str:
    caption = f"{name}: states, most visited first"
    return folded(f"{name}, state by state", table(caption, *policy_rows(problem.mdp, policy)))


def rests_on(notes: Iterable[str]) -> str:
    """What all of it takes for granted."""
    said = bullets(dict.fromkeys(notes))
    return section("What this rests on", said) if said else ""


def again(problem: Problem, commands: Iterable[str]) -> str:
    """The exact input, the versions, and the commands that make this report."""
    name = shlex.quote(problem.path.name)
    lines = [f"teachirl {command} {name} --out report" for command in commands]
    files = [(each, digest) for each, digest in _files(problem)]
    return section(
        "To do it again",
        paragraph(f"In a folder with {problem.path.name}, and the files that it names:"),
        code("\n".join(lines)),
        heading(problem.path.name),
        code(problem.source),
        table("Files that it names", ("file", "SHA-256"), files) if files else "",
        table("Versions", ("package", "version"), package_versions().items()),
    )


def _files(problem: Problem) -> Iterator[tuple[str, str]]:
    """Each file that the problem file names, with its digest."""
    file = parse(problem.path, problem.source)
    names = [file.learner.matrix, file.demonstration.policy, file.demonstration.trajectories]
    if file.reward is not None:
        names += [file.reward.trajectories, file.reward.rewards]
    if isinstance(file.world, SavedWorld):
        names.append(file.world.file)
    if isinstance(file.world, TableWorld):
        names += [file.world.transitions, file.world.features, file.world.start]
    folder = Folder(problem.path.parent, allow_outside=True)
    for name in dict.fromkeys(filter(None, names)):
        try:
            yield name, hashlib.sha256(folder.file(name).read_bytes()).hexdigest()
        except FileFormatError:
            yield name, "no longer there"


def _set(point: Point) -> str:
    return ", ".join(point.features) or "nothing"


def _if_any(picture: Picture | None) -> str:
    return "" if picture is None else shown(picture)


__all__ = ["again", "as_she_is", "budget", "in_short", "plan", "rests_on", "world"]
