"""An experiment as data: its settings, its units of work, and a pure analysis of what they give.

A *unit* is the piece of work that is done, stored and, if need be, done again as a whole. It is
named by its coordinates, such as ``{"trial": 3, "teacher": "TRGreedy"}``. What it gives depends on
the experiment's settings and these coordinates alone: whatever is left to chance starts from a seed
among them. The times it took are kept apart from that, since they never repeat.

Units travel between processes and machines as JSON text, by `job_text` and `perform`.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from ...arrays import Floats
from ...errors import InvalidInputError, require
from ...figures.records import Findings

Plain: TypeAlias = int | float | str
Unit: TypeAlias = dict[str, Plain]
Values: TypeAlias = dict[str, Any]

# The experiments that come with the package, in the order in which they run.
BUILT_IN = {
    "fig1": "teachirl.study.experiments.chain:CHAIN",
    "fig3": "teachirl.study.experiments.figure_3:FIGURE_3",
    "fig4": "teachirl.study.experiments.figure_4:FIGURE_4",
    "fig5": "teachirl.study.experiments.figure_5:FIGURE_5",
    "fig6": "teachirl.study.experiments.figure_6:FIGURE_6",
    "ladder": "teachirl.study.experiments.ladder:LADDER",
    "showing": "teachirl.study.experiments.showing:SHOWING",
    "samples": "teachirl.study.experiments.samples:SAMPLES",
    "plausible": "teachirl.study.experiments.plausible_rewards:PLAUSIBLE_REWARDS",
    "logs": "teachirl.study.experiments.logs:LOGS",
    "unknown": "teachirl.study.experiments.unknown_worldview:UNKNOWN_WORLDVIEW",
}
# Figures that come with another.
WITH = {"fig2": "fig1"}


@dataclass(frozen=True, eq=False)
class Result:
    """What a unit gives: a small table.

    Attributes
    ----------
    values : numbers, texts, None where there is none, or flat lists of them, all of one length;
        the same whenever and wherever the unit is done. Arrays become lists, NaN becomes None
    seconds : measured times, likewise; these differ from run to run
    """

    values: Values
    seconds: Values = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("values", "seconds"):
            plain = {key: _plain(key, value) for key, value in getattr(self, name).items()}
            object.__setattr__(self, name, plain)
        table = {**self.values, **self.seconds}
        lengths = {key: len(value) for key, value in table.items() if isinstance(value, list)}
        require(len(set(lengths.values())) <= 1, f"lists must have one length, got {lengths}")


@dataclass(frozen=True, eq=False)
class Results:
    """All units of an experiment, in order, with what they gave."""

    pairs: Sequence[tuple[Unit, Result]]

    def where(self, **coordinates: Plain) -> Results:
        """Those units that have these coordinates."""
        wanted = coordinates.items()
        return Results([pair for pair in self.pairs if wanted <= pair[0].items()])

    def array(self, name: str, **coordinates: Plain) -> Floats:
        """A value, or time, of each unit that has these coordinates: [units], or [units, length].

        None is NaN.
        """
        found = [{**r.values, **r.seconds}[name] for _, r in self.where(**coordinates).pairs]
        return np.array(found, dtype=float)

    def coordinate(self, name: str, **coordinates: Plain) -> Floats:
        """[units], a coordinate that is a number."""
        return np.array([unit[name] for unit, _ in self.where(**coordinates).pairs], dtype=float)


@dataclass(frozen=True, eq=False)
class Experiment:
    """One figure, or whatever is computed from many units.

    Attributes
    ----------
    title : what it shows, in a line
    full, quick : settings, a frozen dataclass of numbers, texts and tuples of them
    units : which units there are, in order
    run : does one: `run(settings, **unit)`
    analyse : what is drawn and claimed, from the settings and all results. A pure function
    version : to be raised when `run` changes; results of another version are not taken
    unit_seconds : what a unit takes, roughly; for the estimate of the time left
    """

    title: str
    full: Any
    quick: Any
    units: Callable[[Any], list[Unit]]
    run: Callable[..., Result]
    analyse: Callable[[Any, Results], Findings]
    version: int = 1
    unit_seconds: float = 1.0

    def settings(self, document: Mapping[str, Any]) -> Any:
        """Settings from their JSON form."""
        known = {each.name for each in fields(self.full)}
        unknown = sorted(set(document) - known)
        require(not unknown, f"{self.title}: there are no settings {unknown}")
        lists = {key: tuple(v) if isinstance(v, list) else v for key, v in document.items()}
        return type(self.full)(**lists)


def find(reference: str) -> Experiment:
    """An experiment by its name, or as FILE.py:NAME.

    >>> find("fig5").full.teachable
    70
    """
    reference = WITH.get(reference, reference)
    place, _, name = BUILT_IN.get(reference, reference).rpartition(":")
    require(
        reference in BUILT_IN or place.endswith(".py"),
        f"there is no experiment {reference!r}; there are {', '.join(BUILT_IN)}, "
        "and your own as FILE.py:NAME",
    )
    module = _from_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    found = getattr(module, name, None)
    if not isinstance(found, Experiment):
        raise InvalidInputError(f"{place} has no Experiment called {name!r}")
    return found


def job_text(reference: str, settings: Any, unit: Unit) -> str:
    """A unit of work as text, for `perform`."""
    document = {"experiment": reference, "settings": asdict(settings), "unit": unit}
    return json.dumps(document, allow_nan=False)


def perform(text: str) -> str:
    """Do a unit; its values and seconds as JSON."""
    document = json.loads(text)
    experiment = find(document["experiment"])
    result = experiment.run(experiment.settings(document["settings"]), **document["unit"])
    return json.dumps({"values": result.values, "seconds": result.seconds}, allow_nan=False)


def _plain(name: str, value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(name, entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        require(math.isnan(value), f"{name} must be finite, or NaN where there is none")
        return None
    require(
        value is None or isinstance(value, (bool, int, float, str)),
        f"{name} must hold numbers and texts, got {type(value).__name__}",
    )
    return value


def _from_file(path: Path) -> ModuleType:
    """A module of the user's own; loaded once."""
    path = path.resolve()
    name = f"teachirl_experiment_{path.stem}_{abs(hash(str(path))):x}"
    if name in sys.modules:
        return sys.modules[name]
    require(path.is_file(), f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
