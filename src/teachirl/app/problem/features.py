"""What a file says of features: which are seen, which could be taught, which count how much."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ...arrays import AnyRows, Floats, Names, SparseRows, frozen
from ...errors import FileFormatError
from ...files import shown
from ...guarantees.bounds import check_sizes
from ...mdp.model import MDP
from ...views.linear_algebra import axes, gathered
from ...views.worldview import Worldview
from ...worlds import World
from .files import MAX_FEATURES, Folder, read_npy
from .mistakes import Mistakes
from .places import Place, meant, refuse_all
from .schema import Learner, Teach
from .tables import read_table


class Features:
    """The true features by name; the last `own` of the MDP's are the learner's alone, and nobody
    else names them. `combined` are what combinations that could be taught are called."""

    def __init__(self, mdp: MDP, own: int = 0, combined: Collection[str] = ()) -> None:
        self.combined = combined
        self.count, self.mdp = mdp.n_features, mdp
        self.true = mdp.n_features - own
        self.numbers = {mdp.feature_name(i): i for i in range(self.true)}

    def check(self, names: dict[Place, str]) -> None:
        """Refuse names that no feature has."""
        refuse_all(
            ((place, name) for place, name in names.items() if name not in self.numbers),
            lambda name: f"there is no feature {shown(name)}{self._hint(name)}",
        )

    def _hint(self, name: str) -> str:
        if name not in self.combined:
            return meant(name, self.numbers)
        return (
            "; it is a combination that could be taught: [[learner.combination]], with its name "
            "and weights, is for a learner who sees it already"
        )

    def check_new(self, name: str, place: Place) -> None:
        """Refuse a combination that is called as a true feature is."""
        if name in self.numbers:
            place.refuse(
                f"expected a name of its own for a combination, got {shown(name)}, a feature's"
            )

    def row(self, weights: dict[str, float], place: Place) -> Floats:
        """array [k] of weights given by name, not all zero."""
        self.check({place / name: name for name in weights})
        row = np.zeros(self.count)
        for name, weight in weights.items():
            row[self.numbers[name]] = weight
        if not row.any():
            place.refuse("expected a weight that is not 0, got none")
        return row

    def rows(self, names: list[str], place: Place) -> AnyRows:
        """Rows [n, k], one with one 1 for each name."""
        self.check({place / number: name for number, name in enumerate(names)})
        self.check_size(len(names), place)
        return axes([self.numbers[name] for name in names], self.count)

    def check_size(self, rows: int, place: Place) -> None:
        if rows * self.count > MAX_FEATURES**2:
            place.refuse(
                f"expected at most {MAX_FEATURES**2} numbers, got {rows} rows on {self.count} "
                "features"
            )


def build_view(learner: Learner, place: Place, folder: Folder, features: Features) -> Worldview:
    """What the learner sees."""
    seen, mistakes, parts = learner.sees or [], Mistakes(), list[Floats]()
    names, where = list(seen), [place / "sees" / number for number in range(len(seen))]
    with mistakes.collecting():
        parts.append(np.asarray(features.rows(seen, place / "sees")))
    for number, combination in enumerate(learner.combination or []):
        here = place / "combination" / number
        mistakes.tell_many()
        with mistakes.collecting():
            parts.append(features.row(combination.weights, here / "weights")[None])
        with mistakes.collecting():
            features.check_new(combination.name, here / "name")
        names.append(combination.name)
        where.append(here / "name")
    if learner.matrix is not None:
        here, rows, called = place / "matrix", np.empty((0, features.count)), None
        with mistakes.collecting(), here.locating():
            rows, called = _matrix(learner.matrix, folder, features)
        parts.append(rows)
        first = len(names)
        names += called or [f"row {number + 1}" for number in range(first, first + len(rows))]
        where += [here] * len(rows)
    if features.true < features.count:
        parts.append(np.eye(features.count - features.true, features.count, features.true))
        names += [features.mdp.feature_name(i) for i in range(features.true, features.count)]
        where += [place] * (features.count - features.true)
    with mistakes.collecting():
        _check_distinct(names, where)
    mistakes.tell_any()
    with place.locating():
        matrix = frozen(parts[0] if len(parts) == 1 else np.vstack(parts))
        check_sizes("rows", matrix)
        mdp = features.mdp if features.true < features.count else None
        return Worldview(matrix, tuple(names), mdp)


def _matrix(name: str, folder: Folder, features: Features) -> tuple[Floats, list[str] | None]:
    path = folder.file(name)
    if Path(name).suffix.lower() == ".npy":
        rows = read_npy(path, name)
        if rows.shape[1] != features.true:
            raise FileFormatError(
                f"{name}: expected a column for each of {features.true} features, got "
                f"{rows.shape[1]}"
            )
        return np.pad(rows, ((0, 0), (0, features.count - features.true))), None
    texts = () if "name" in features.numbers else ("name",)
    table = read_table(path, name, texts=texts, optional=texts, further=True)
    for column in table.columns:
        if column not in features.numbers:
            near = meant(column, features.numbers)
            raise FileFormatError(f"{name}: there is no feature {shown(column)}{near}")
    if len(table) * features.count > MAX_FEATURES**2:
        raise FileFormatError(f"{name}: expected at most {MAX_FEATURES**2} numbers, got more")
    rows = np.zeros((len(table), features.count))
    rows[:, [features.numbers[column] for column in table.columns]] = table.numbers
    return rows, table.texts.get("name")


@dataclass(frozen=True, eq=False)
class Teachables:
    """What could be taught.

    Attributes
    ----------
    features : array [n, k], or SparseRows
    costs : array [n]
    names : n texts
    required, forbidden : indices of those that must, and must not, be taught
    """

    features: AnyRows
    costs: Floats
    names: Names
    required: tuple[int, ...]
    forbidden: tuple[int, ...]


def build_teachables(
    teach: Teach, place: Place, features: Features, seen: list[str], world: World
) -> Teachables:
    """What could be taught; `seen` are the names of what the learner sees as it is."""
    rows: list[AnyRows] = []
    costs, names, where, mistakes = [], [], [], Mistakes()
    prices = np.ones(features.count) if world.prices is None else world.prices
    features.check_size(len(teach.feature), place / "feature")
    for number, each in enumerate(teach.feature):
        here, price = place / "feature" / number, 1.0
        mistakes.tell_many()
        with mistakes.collecting():
            if each.weights is None:
                features.check({here / "name": each.name})
                row = features.row({each.name: 1.0}, here)
                price = float(prices[features.numbers[each.name]])
            else:
                features.check_new(each.name, here / "name")
                row = features.row(each.weights, here / "weights")
                with (here / "weights").locating():
                    check_sizes("the largest", row[None])
            rows.append(SparseRows(sp.csr_array(row[None])))
        if each.cost is not None:
            price = each.cost
            with mistakes.collecting(), (here / "cost").locating():
                check_sizes("it", np.array([[price]]))
        costs.append(price)
        names.append(each.name)
        where.append(here / "name")
    with mistakes.collecting():
        _check_distinct(names, where)
    if teach.features == "all":
        taken = {*seen, *names, world.reward_feature}
        others = [name for name in features.numbers if name not in taken]
        costs += [float(prices[features.numbers[name]]) for name in others]
        names += others
        features.check_size(len(names), place / "features")
        rows.append(features.rows(others, place / "features"))
    numbers = {name: number for number, name in enumerate(names)}
    required, forbidden = (
        mistakes.of(partial(_chosen, getattr(teach, key), place / key, numbers)) or ()
        for key in ("required", "forbidden")
    )
    both = [name for name in teach.forbidden if name in teach.required]
    if both:
        with mistakes.collecting():
            (place / "forbidden").refuse(f"{shown(both[0])} is required as well")
    mistakes.tell_any()
    made = gathered(rows, (len(names), features.count))
    return Teachables(
        made if isinstance(made, SparseRows) else frozen(made),
        frozen(np.array(costs, dtype=float)),
        tuple(names),
        required,
        forbidden,
    )


def _chosen(names: list[str], place: Place, numbers: dict[str, int]) -> tuple[int, ...]:
    refuse_all(
        ((place / i, name) for i, name in enumerate(names) if name not in numbers),
        lambda name: f"there is no feature {shown(name)} to teach{meant(name, numbers)}",
    )
    _check_distinct(names, [place / i for i in range(len(names))])
    return tuple(numbers[name] for name in names)


def _check_distinct(names: list[str], places: list[Place]) -> None:
    taken: set[str] = set()
    for name, place in zip(names, places, strict=True):
        if name in taken:
            place.refuse(f"expected distinct names, got {shown(name)} twice")
        taken.add(name)


__all__ = ["Features", "Teachables", "build_teachables", "build_view"]
