"""A learner whose worldview is unknown: the candidates, and what it made of what it was shown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...arrays import Names
from ...demonstrations.trajectories import Trajectories
from ...diagnosis.diagnose import diagnose
from ...diagnosis.diagnosis import Diagnosis
from ...diagnosis.exchange import Exchange
from ...diagnosis.probe import Probe
from ...diagnosis.probe_files import load_probe
from ...errors import TeachirlError
from ...files import shown
from ...mdp.model import MDP
from ...mdp.policy import Policy
from ...views.worldview import Worldview
from ...worlds import World
from .episodes import read_episodes, read_policy
from .features import Features
from .files import Folder
from .learner_schema import Answer, Learner
from .places import Place, meant, refuse_all


@dataclass(frozen=True, eq=False)
class UnknownLearner:
    """What a file says of a learner of whom nobody knows what it sees.

    Attributes
    ----------
    candidates : Worldview, what it may see
    exchanges : tuple of Exchange
    names : tuple of str, the file of what was shown in each
    taught : tuple of str, candidates that it has been given
    mismatch, confidence : floats, as in `diagnose`
    """

    candidates: Worldview
    exchanges: tuple[Exchange, ...]
    names: Names
    taught: Names
    mismatch: float
    confidence: float

    def diagnosed(self, mdp: MDP) -> Diagnosis:
        """What is proved, excluded and open."""
        return diagnose(
            mdp,
            self.candidates,
            self.exchanges,
            taught=self.taught,
            mismatch=self.mismatch,
            confidence=self.confidence,
        )


def build_unknown(
    learner: Learner, place: Place, folder: Folder, world: World, features: Features
) -> UnknownLearner | None:
    """What the file says of such a learner; None if what it sees is known."""
    if not learner.unknown:
        return None
    mdp, names = world.mdp, learner.library
    if isinstance(names, str):
        names = [name for name in features.numbers if name != world.reward_feature]
    rows = features.rows(names, place / "library")
    refuse_all(
        (
            (place / "taught" / i, name)
            for i, name in enumerate(learner.taught)
            if name not in names
        ),
        lambda name: f"there is no {shown(name)} in the library{meant(name, names)}",
    )
    exchanges = tuple(
        _exchange(each, place / "answer" / number, folder, mdp, names)
        for number, each in enumerate(learner.answer)
    )
    with place.locating():
        return UnknownLearner(
            Worldview(np.asarray(rows), tuple(names)),
            exchanges,
            tuple(each.shown for each in learner.answer),
            tuple(learner.taught),
            learner.mismatch,
            learner.confidence,
        )


def _exchange(answer: Answer, place: Place, folder: Folder, mdp: MDP, names: list[str]) -> Exchange:
    with (place / "shown").locating():
        what: Probe | Policy
        if Path(answer.shown).suffix.lower() == ".json":
            what = load_probe(mdp, folder.file(answer.shown), answer.shown)
        else:
            what = read_policy(folder, answer.shown, mdp)
            _refuse_the_table_of_a_probe(answer.shown, place / "shown", folder)
    if isinstance(what, Probe):
        missing = [name for name in what.survivors if name not in names]
        if missing:
            (place / "shown").refuse(
                f"expected a probe of candidates in the library, got one of {shown(missing[0])}"
            )
    found: Policy | Trajectories
    if answer.policy is not None:
        with (place / "policy").locating():
            found = read_policy(folder, answer.policy, mdp)
    else:
        assert answer.trajectories is not None
        with (place / "trajectories").locating():
            found = read_episodes(folder, answer.trajectories, mdp)
    return Exchange(what, found)


def _refuse_the_table_of_a_probe(name: str, place: Place, folder: Folder) -> None:
    """Named by its policy, a probe would count as if nothing had been drawn."""
    probe = str(Path(name).with_suffix(".json"))
    try:
        drawn = b'"teachirl_probe"' in folder.file(probe).read_bytes()[:100]
    except (OSError, TeachirlError):
        return
    if drawn:
        place.refuse(f"expected the probe {shown(probe)}, got the policy that it shows")


__all__ = ["UnknownLearner", "build_unknown"]
