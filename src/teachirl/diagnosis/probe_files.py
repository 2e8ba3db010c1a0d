"""A probe as JSON: what was drawn, so that the answer to it can be judged later.

The file says which world it belongs to by a digest, and has one of its own: a probe whose policy or
levels were changed after they were drawn proves nothing, and is refused.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from ..arrays import frozen
from ..demonstrations.demonstration import Demonstration
from ..errors import FileFormatError
from ..files import JsonReader, replacing
from ..mdp.documents import digest, policy_document, read_policy_document
from ..mdp.model import MDP
from .probe import Probe

VERSION = 1


def save_probe(mdp: MDP, probe: Probe, path: str | Path) -> None:
    """Write a probe, whole or not at all.

    Parameters
    ----------
    mdp : MDP that it is of
    probe : Probe
    path : str or Path
    """
    document: dict[str, Any] = {
        "teachirl_probe": VERSION,
        "world": digest(mdp),
        "candidates": list(probe.survivors),
        "tested": probe.tested,
        "levels": probe.levels.tolist(),
        "inradius": probe.inradius,
        "share": probe.share,
        "policy": policy_document(probe.policy),
        "near": None if probe.near is None else policy_document(probe.near),
        "vertices": [policy_document(each) for each in probe.vertices],
    }
    document["digest"] = _digest(document)
    with replacing(Path(path)) as file:
        file.write(json.dumps(document, allow_nan=False, indent=1).encode())


def load_probe(mdp: MDP, path: str | Path, name: str | None = None) -> Probe:
    """Read a probe of this MDP that was saved.

    Parameters
    ----------
    mdp : MDP
    path : str or Path
    name : str, what messages call the file; the path by default

    Returns
    -------
    Probe
    """
    source = name or str(path)
    try:
        text = Path(path).read_bytes().decode()
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{source}: a probe is UTF-8 text: {error}") from error
    reader = JsonReader.of_text(text, source)
    version = reader.get("teachirl_probe", (int,), f"the version {VERSION}")
    if version != VERSION:
        reader.fail("teachirl_probe", f"must be {VERSION}, got {version}")
    if reader.get("world", (str,), "text") != digest(mdp):
        reader.fail("world", "is another than that of this problem; draw a new probe")
    if reader.get("digest", (str,), "text") != _digest(reader.value):
        reader.fail(
            "digest", "does not fit: the probe was changed after it was drawn; draw a new one"
        )
    near = reader.get("near", (dict, type(None)), "an object or null")
    policy = read_policy_document(reader.inside("policy"), mdp, "this problem")
    return Probe(
        policy=policy,
        demonstration=Demonstration.of_policy(mdp, policy),
        vertices=tuple(
            read_policy_document(JsonReader(source, f"vertices[{i}]", each), mdp, "this problem")
            for i, each in enumerate(reader.get("vertices", (list,), "a list"))
        ),
        levels=frozen(reader.numbers("levels")),
        survivors=tuple(map(str, reader.get("candidates", (list,), "a list of names"))),
        tested=reader.get("tested", (str,), "a name, or an empty text"),
        inradius=reader.number("inradius", least=0.0),
        near=None
        if near is None
        else read_policy_document(reader.inside("near"), mdp, "this problem"),
        share=reader.number("share", least=0.0),
    )


def _digest(document: dict[str, Any]) -> str:
    """Of all but the digest itself, in one order."""
    rest = {key: value for key, value in document.items() if key != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


__all__ = ["load_probe", "save_probe"]
