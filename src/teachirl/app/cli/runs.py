"""`teachirl runs`: what is in a results store."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from .options import AsJson, summary
from .reproduce import OUT
from .screen import loading, say

if TYPE_CHECKING:
    from ...study.results_database import RunRecord

Out: TypeAlias = Annotated[Path, typer.Option(help="Folder with the results.")]
Id: TypeAlias = Annotated[str, typer.Argument(metavar="ID", help="Its id, or how that begins.")]

runs = typer.Typer(
    help="List, show, export and repair results.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


def list_runs(out: Out = OUT, as_json: AsJson = False) -> None:
    """List the runs and how much of each is done."""
    with loading():
        from ...study.results_database import Store
        from ..render.console import print_table
        from ..render.json import print_json
    with Store.open(out, write=False) as store:
        records = store.runs()
    if as_json:
        print_json("runs", [_document(record) for record in records])
        return
    rows = [
        (run.id, run.experiment, f"{run.done}/{len(run.units)}", _time(run), run.updated)
        for run in records
    ]
    print_table([("id", "experiment", "units", "time", "updated"), *rows])


def show(run: Id, out: Out = OUT, as_json: AsJson = False) -> None:
    """Show the settings of a run, and what computed it."""
    with loading():
        from ...study.results_database import Store
        from ..render.console import print_table
        from ..render.json import print_json
    with Store.open(out, write=False) as store:
        record = store.get(run)
    if as_json:
        print_json("run", _document(record))
        return
    facts = {"id": record.id, "experiment": record.experiment, "version": record.version}
    facts |= {"units": f"{record.done}/{len(record.units)}", "time": _time(record)}
    facts |= {"started": record.started, "updated": record.updated}
    for group in ("settings", "packages", "machine"):
        facts |= {f"{group}.{name}": value for name, value in getattr(record, group).items()}
    print_table([(name, _text(value)) for name, value in facts.items()])


def export(
    run: Id,
    file: Annotated[
        Path | None, typer.Argument(help="Ends in .csv or .parquet; ID.csv by default.")
    ] = None,
    out: Out = OUT,
    csv: Annotated[bool, typer.Option("--csv", help="As CSV.")] = False,
    parquet: Annotated[bool, typer.Option("--parquet", help="As Parquet.")] = False,
) -> None:
    """Write the results of a run to a table."""
    if csv and parquet:
        raise typer.BadParameter("give --csv or --parquet, not both")
    suffix = ".parquet" if parquet else ".csv" if csv else None
    if file is not None and suffix is not None and file.suffix != suffix:
        raise typer.BadParameter(f"{file} must end in {suffix}")
    from ...study import export as tables

    with loading():
        from ...study.results_database import Store
    with Store.open(out, write=False) as store:
        record = store.get(run)
        path = file or Path(f"{record.id}{suffix or '.csv'}")
        count = tables.export(store, record.id, path)
    say(f"{path}: {count} rows")


def repair(out: Out = OUT) -> None:
    """Make a damaged results store whole: keep what is as it was written, drop the rest.

    A copy of the damaged file stays beside it. The command that computed the results computes
    again what is missing.
    """
    with loading():
        from ...study.results_database import Store
        from ...study.results_file import repair as mend
    done = mend(out)
    if done.aside is None:
        say(f"{out}: nothing is damaged")
        return
    say(f"{out}: {done.kept} unit{'s are' if done.kept != 1 else ' is'} whole; lost: {done.lost}")
    say(f"The file as it was is {done.aside}.")
    with Store.open(out, write=False) as store:
        names = {run.experiment for run in store.runs() if run.done < len(run.units)}
    for name in sorted(names):
        again = shlex.join(["teachirl", "reproduce", name, "--out", str(out)])
        say(f"To compute again what is missing: {again}")


def _document(run: RunRecord) -> dict[str, Any]:
    """As JSON has it, with the number of units instead of their coordinates."""
    return {**asdict(run), "units": len(run.units)}


def _time(run: RunRecord) -> str:
    return str(timedelta(seconds=round(run.elapsed)))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


COMMANDS: dict[str, Callable[..., None]] = {
    "list": list_runs,
    "show": show,
    "export": export,
    "repair": repair,
}
for name, command in COMMANDS.items():
    runs.command(name, short_help=summary(command))(command)
