"""The policies that advice is about, to be looked at or run elsewhere."""

from __future__ import annotations

from ...guarantees.worst_case import worst_case
from ...mdp.policy import Policy
from ..problem import Problem


def policies(problem: Problem) -> dict[str, Policy]:
    """The policies that advice is about, by name.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    dict of Policy: ``optimal``; ``shown``, unless it was recorded; ``worst``, the worst that looks
    right to the learner, unless nobody matches what is shown

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from teachirl.app.decisions import policies
    >>> from teachirl.app.problem import read_problem
    >>> text = '[world]\\nname = "chain"\\n[reward.weights]\\n"cell 5" = 1.0\\n'
    >>> text += '[learner]\\nsees = []'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "problem.toml"
    ...     _ = path.write_text(text)
    ...     found = policies(read_problem(path))
    >>> list(found)
    ['optimal', 'shown', 'worst']
    """
    task, view = problem.task, problem.worldview
    shown = task.demonstration
    found = {"optimal": task.best.policy}
    if shown.policy is not None:
        found["shown"] = shown.policy
    mismatch = problem.matching.within(view, shown)
    worst = worst_case(problem.model, view, problem.weights, shown, mismatch)
    if worst.witness is not None:
        found["worst"] = worst.witness
    return found


__all__ = ["policies"]
