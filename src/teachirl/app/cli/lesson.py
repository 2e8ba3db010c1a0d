"""`teachirl lesson`: a lesson for people, and what they did in it."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from typer.core import TyperGroup

from .options import AsJson, File, Sees, Set, summary
from .problems import changes_of, print_document, write_report
from .screen import loading, say
from .studio import Browse, Host, Port, Token

OUT = Path("lesson")
Folder: TypeAlias = Annotated[
    Path, typer.Argument(metavar="[DIR]", help="The lesson's folder.", file_okay=False)
]


class _WithFile(TyperGroup):
    """`lesson FILE` serves a lesson, `lesson export` and `lesson analyse` are commands."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands:
            args = ["serve", *args]
        return super().resolve_command(ctx, args)


lesson = typer.Typer(
    cls=_WithFile,
    help="Teach people: serve a lesson, export and analyse what they did.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


def serve(
    file: File,
    study: Annotated[
        Path | None,
        typer.Option(metavar="STUDY.toml", help="Conditions, participants and texts."),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", file_okay=False, help="Folder that all is kept in.")
    ] = OUT,
    host: Host = "127.0.0.1",
    port: Port = 8766,
    token: Token = None,
    browse: Browse = False,
    sees: Sees = None,
    sets: Set = None,
) -> None:
    """Serve a lesson to people, who see the world through the learner's features alone.

    `teachirl lesson FILE` is the same. One link a participant is printed, and written to
    DIR/links.csv. Ctrl-C ends it; started again, everybody goes on where they were.
    """
    from ...errors import MissingExtraError

    with loading():
        from ...files import replacing
        from ...study.progress import Progress
        from ..problem import read_problem

        try:
            from ..studio.lesson_server import Classroom, lesson_app
            from ..studio.serving import Address
            from ..studio.serving import serve as serve_app
            from ..studio.study import read_study
        except ImportError as error:
            raise MissingExtraError("FastAPI and uvicorn", "studio") from error
    address, changes = Address(host, port, token), changes_of(sees, sets)
    with Progress.on_stderr() as progress:
        room = Classroom(read_problem(file, changes=changes), read_study(study), out, progress)

    def announce(link: str) -> str:
        base = link.partition("?")[0]
        rows = [(name, base + end) for name, end in room.links()]
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([("participant", "link"), *rows])
        with replacing(out / "links.csv") as written:
            written.write(text.getvalue().encode())
        say(*(f"{name} {link}" for name, link in rows[:10]))
        if len(rows) > 10:
            say(f"… {len(rows)} links in {out / 'links.csv'}")
        say("Ctrl-C ends it; what was done is kept.")
        return rows[0][1]

    serve_app(
        lambda guard: lesson_app(room, guard),
        address,
        browse=browse,
        announce=announce,
        own=room.secret_of,
    )


def export(
    folder: Folder = OUT,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", file_okay=False, help="Where to; DIR by default.")
    ] = None,
) -> None:
    """Write what people did: trials.csv, a row a trial, and trajectories.jsonl."""
    with loading():
        from ..studio.exporting import export_lesson
    target = folder if out is None else out
    people, trials = export_lesson(folder, target)
    say(f"{target / 'trials.csv'} and trajectories.jsonl: {trials} trials of {people} people")


def analyse(
    trials: Annotated[
        Path, typer.Argument(metavar="[TRIALS.csv]", help="As export writes it.")
    ] = OUT / "trials.csv",
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", file_okay=False, help="Folder for report.html.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare conditions: performance against features taught, with bands and a test."""
    with loading():
        from ..studio.analysis import analyse as analysed
        from ..studio.analysis import analysis_document
    found = analysed(trials)
    print_document(analysis_document(found, f"What {trials.name} says"), as_json)
    if out is not None:
        write_report(out, analysis_document(found, f"What {trials.name} says"))


for command in (serve, export, analyse):
    lesson.command(command.__name__, short_help=summary(command))(command)
