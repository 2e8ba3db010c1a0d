"""`teachirl export`: policies and sample episodes as files that a problem file can name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from .options import File, Sees, Set
from .problems import deciding
from .screen import say

Into: TypeAlias = Annotated[
    Path, typer.Option("--out", metavar="DIR", file_okay=False, help="Folder to write them to.")
]


def export(
    file: File,
    out: Into,
    episodes: Annotated[
        int, typer.Option(min=0, metavar="N", help="How many episodes of each policy to sample.")
    ] = 0,
    steps: Annotated[
        int, typer.Option(min=1, metavar="N", help="After how many steps they are cut off.")
    ] = 1000,
    sees: Sees = None,
    sets: Set = None,
) -> None:
    """Write the optimal policy, the shown one, and the worst that looks the same, as tables.

    These are optimal.csv, shown.csv and worst.csv; with --episodes, also optimal_episodes.csv and
    so on. A problem file can name them as its policy and as its trajectories.
    """
    with deciding(file, sees, sets) as (problem, progress):
        import numpy as np

        from ...demonstrations.sampling import sample_trajectories
        from ...demonstrations.trajectory_files import write_trajectories
        from ..decisions import policies

        found = policies(problem)
        part = progress.part("policies", len(found))
        out.mkdir(parents=True, exist_ok=True)
        for name, policy in found.items():
            written = [out / f"{name}.csv"]
            policy.save(written[0])
            if episodes:
                rng = np.random.default_rng(problem.seed)
                seen = sample_trajectories(
                    problem.mdp, policy, episodes=episodes, horizon=steps, rng=rng
                )
                written.append(out / f"{name}_episodes.csv")
                write_trajectories(written[-1], seen, problem.mdp)
            part.advance()
            say(*map(str, written))
