"""`teachirl probe`: a demonstration, drawn at random, that finds out what a learner sees."""

from __future__ import annotations

import math
import secrets
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from .options import File, Set
from .problems import deciding

ProbeFile: TypeAlias = Annotated[
    Path, typer.Option("--out", metavar="FILE", help="The probe's file, such as probe-1.json.")
]
Feature: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Test this candidate alone, holding what the others show."),
]
Share: TypeAlias = Annotated[
    float,
    typer.Option(
        min=0.001, max=1.0, help="How much of what is shown is the probe; the rest is the expert."
    ),
]
Episodes: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Write so many episodes as well, as JSON lines.")
]
Steps: TypeAlias = Annotated[int, typer.Option(min=1, help="How long an episode is at most.")]
Seed: TypeAlias = Annotated[
    int | None, typer.Option(min=0, help="Of the draw; by default from the system's entropy.")
]


def probe(
    file: File,
    out: ProbeFile,
    feature: Feature = None,
    share: Share = 1.0,
    episodes: Episodes = None,
    steps: Steps = 1000,
    seed: Seed = None,
    sets: Set = None,
) -> None:
    """Draw a demonstration to show to a learner of whom nobody knows what it sees.

    Writes the probe, which holds what was drawn, and beside it the policy to show, as a table.
    """
    import numpy as np

    from ...demonstrations.demonstration import Demonstration
    from ...demonstrations.sampling import sample_trajectories
    from ...demonstrations.trajectory_files import write_trajectories
    from ...diagnosis.probe import next_probe
    from ...diagnosis.probe_files import save_probe
    from ...errors import require

    with deciding(file, None, sets) as (problem, _):
        found = problem.diagnosis
        require(
            found is not None,
            f"{file}: what the learner sees is said there; learner.unknown = true if it is not",
        )
        assert found is not None
        require(not out.exists(), f"{out} is there already: a probe is drawn once, and used once")
        rng = np.random.default_rng(secrets.randbits(128) if seed is None else seed)
        expert = problem.task.best.policy
        near = expert if share < 1.0 else None
        made = next_probe(problem.mdp, found, rng=rng, feature=feature, near=near, share=share)
        policy, note = out.with_suffix(".csv"), ""
        written = [policy, out]
        made.policy.save(policy)
        if episodes is not None:
            shown = sample_trajectories(
                problem.mdp, made.policy, episodes=episodes, horizon=steps, rng=rng
            )
            lines = out.with_suffix(".jsonl")
            write_trajectories(lines, shown, problem.mdp)
            written.insert(1, lines)
            mean = Demonstration.from_trajectories(problem.mdp, shown).expectations
            off = np.abs(found.library.off(mean - made.demonstration.expectations)).max()
            share_off = math.ceil(1e4 * off) / 1e4
            note = (
                f"\n\nThe mean of {lines.name} is off by a share of up to {share_off:g} of what "
                "policies can change of a candidate.\nWho learns from it, and not from "
                f"{policy.name}, needs that as learner.mismatch at least; more episodes make it "
                "less."
            )
        save_probe(problem.mdp, made, out)
    for path in written:
        typer.echo(f"teachirl: wrote {path}", err=True)
    typer.echo(
        f"Show the learner {policy.name}"
        + (f" or {written[1].name}" if episodes is not None else "")
        + f" (but not {out.name}, which says what was drawn), let it learn, and add its answer to "
        f"{file.name}:\n\n"
        f'[[learner.answer]]\nshown = "{out.name}"\npolicy = "{out.stem}-answer.csv"   '
        "# or trajectories = …" + note
    )
