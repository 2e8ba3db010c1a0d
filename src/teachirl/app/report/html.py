"""The report of a problem: one HTML file that needs nothing else, neither scripts nor a network."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from ...errors import require
from ...files import replacing
from ..decisions import Advice, Frontier, Standing
from ..problem import Problem
from . import sections
from .markup import text

NAME = "report.html"
# Nothing may be fetched or run; pictures are in the page.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def write_report(
    folder: Path,
    problem: Problem,
    *,
    standing: Standing | None = None,
    advice: Advice | None = None,
    frontier: Frontier | None = None,
) -> Path:
    """Write what was found about a problem to folder/report.html, atomically, and return its path.

    Parameters
    ----------
    folder : made if it is not there
    problem : what all of it is about
    standing, advice, frontier : what was found; sections of what is missing are left out

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from teachirl.app.decisions import Frontier, Point
    >>> from teachirl.app.problem import example_text, read_problem
    >>> curve = Frontier("", (Point(0.0, 0.4, 1.0, ()),), True, 1, "", None, None, ())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "road.toml"
    ...     _ = path.write_text(example_text())
    ...     write_report(path.parent / "out", read_problem(path), frontier=curve).name
    'report.html'
    """
    page = report_page(problem, standing=standing, advice=advice, frontier=frontier)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    with replacing(path) as file:
        file.write(page.encode())
    return path


def report_page(
    problem: Problem,
    *,
    standing: Standing | None = None,
    advice: Advice | None = None,
    frontier: Frontier | None = None,
) -> str:
    """The text of the report; see `write_report`."""
    made = [result for result in (standing, advice, frontier) if result is not None]
    require(bool(made), "a report needs at least one of standing, advice and frontier, got none")
    # Reports of the other two say how things stand, too.
    more = {"teach": advice, "frontier": frontier}
    commands = [command for command, result in more.items() if result is not None] or ["certify"]
    parts = [
        sections.in_short(standing, advice, frontier),
        sections.plan(problem, advice) if advice is not None else "",
        sections.budget(frontier) if frontier is not None else "",
        sections.as_she_is(standing) if standing is not None else "",
        sections.world(problem, standing),
        sections.rests_on(note for result in made for note in result.notes),
        sections.again(problem, commands),
    ]
    style = resources.files(__package__).joinpath("report.css").read_text(encoding="utf-8")
    title = text(problem.title)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p>What a learner who imitates an expert must be taught, and what is then guaranteed.</p>
</header>
<main>
{"".join(part + chr(10) for part in parts if part)}</main>
<footer>
<p>Made by teachirl. This page is complete in itself and loads nothing.</p>
</footer>
</body>
</html>
"""


__all__ = ["report_page", "write_report"]
