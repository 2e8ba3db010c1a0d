"""Policies as JSON has them, and fingerprints of worlds, by which files say what they belong to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..arrays import SparseRows
from ..errors import InvalidInputError
from ..files import JsonReader
from .estimated import AnyMDP, EstimatedMDP, nominal_of
from .model import MDP
from .policy import Policy


def policy_document(policy: Policy) -> dict[str, Any]:
    """A policy, for `json.dumps`."""
    if policy.pairs is not None:
        return {"pairs": policy.pairs.tolist()}
    return {"chances": policy.probabilities.tolist()}


def read_policy_document(reader: JsonReader, mdp: MDP, whose: str) -> Policy:
    """What `policy_document` made, of this MDP; a message says that it is none of `whose`."""
    dynamics = mdp.dynamics
    try:
        if "pairs" in reader.value:
            pairs = reader.numbers("pairs")
            last = mdp.n_pairs - 1
            # Before they become integers, which would wrap around.
            if not ((pairs == np.trunc(pairs)) & (pairs >= 0) & (pairs <= last)).all():
                reader.fail("pairs", f"must be whole numbers from 0 to {last}")
            return Policy(dynamics, pairs=pairs.astype(np.int64))
        chances = reader.numbers("chances")
        Policy(dynamics, chances=chances)  # checks them; and normalises, which rounds
        return Policy.of_chances(dynamics, chances)
    except InvalidInputError as error:
        reader.fail("", f"is no policy of {whose}: {error}")


def digest(model: AnyMDP, further: Iterable[Any] = ()) -> str:
    """A fingerprint of an MDP's numbers, or of a model's, and of further arrays."""
    mdp = nominal_of(model)
    made, rows, features = hashlib.sha256(), mdp.dynamics.transitions, mdp.features
    parts: list[Any] = [features]
    if not isinstance(features, np.ndarray):
        parts = [features.indptr, features.indices, features.data]
    parts += [rows.indptr, rows.indices, rows.data, mdp.dynamics.offsets, mdp.start]
    if isinstance(model, EstimatedMDP):
        parts.append(model.numbers)
    for part in [*parts, np.array(mdp.discount), *further]:
        array: Any = part if isinstance(part, SparseRows) else np.ascontiguousarray(part)
        if array.dtype.kind == "i":
            array = array.astype(np.int64)
        made.update(repr((array.shape, array.dtype.str)).encode())
        for piece in array if isinstance(array, SparseRows) else [array]:  # row by row, with zeros
            made.update(piece.tobytes())
    return made.hexdigest()


__all__ = ["digest", "policy_document", "read_policy_document"]
