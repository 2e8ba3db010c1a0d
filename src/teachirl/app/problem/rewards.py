"""From the table [reward] of a problem file to weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its parts are loaded when they are used

from ...arrays import Floats, frozen
from ...demonstrations.trajectories import Trajectories
from ...errors import FileFormatError
from ...mdp.model import MDP
from ...mdp.rewards.rewards import Rewards
from ...mdp.terminal import terminal_states
from ...worlds import World
from .episodes import read_episodes
from .features import Features
from .files import Folder
from .pairs import pair_numbers, state_numbers
from .places import Place, meant
from .schema import Reward
from .tables import Table, read_table


@dataclass(frozen=True, eq=False)
class RewardSource:
    """What a file says of the reward.

    Attributes
    ----------
    origin : ``world``, ``weights``, ``rewards`` or ``trajectories``: what the weights come from
    weights : array [k]; None if they are yet to be inferred
    residual : the share of the rewards, in length, that the features do not express; of other
        origins 0
    expert : Trajectories to infer the weights from, or None
    several : Rewards, if several are plausible; None otherwise
    posterior : how many weights to draw of those that are plausible once inferred, or None
    tail : the share of the rewards, the worst ones, for which nothing need hold, or None
    """

    origin: str
    weights: Floats | None
    residual: float = 0.0
    expert: Trajectories | None = None
    several: Rewards | None = None
    posterior: int | None = None
    tail: float | None = None


def build_reward(
    reward: Reward | None, place: Place, folder: Folder, world: World, features: Features
) -> RewardSource:
    """The reward that a file describes."""
    if reward is None:
        if world.weights is None:
            place.refuse("expected this table, as the world has no reward of its own, got nothing")
        return RewardSource("world", world.weights)
    if reward.weights is not None:
        weights = features.row(reward.weights, place / "weights")
        several = None if reward.within is None else Rewards.within(weights, reward.within)
        return RewardSource("weights", frozen(weights), several=several)
    if reward.plausible is not None:
        with (place / "plausible").locating():
            several = _several(folder, reward.plausible, features)
        return RewardSource("plausible", several.mean, several=several, tail=reward.tail)
    if reward.trajectories is not None:
        with (place / "trajectories").locating():
            episodes = read_episodes(folder, reward.trajectories, world.mdp, reward.skip)
        return RewardSource(
            "trajectories", None, 0.0, episodes, posterior=reward.posterior, tail=reward.tail
        )
    assert reward.rewards is not None
    with (place / "rewards").locating():
        table = read_table(
            folder.file(reward.rewards),
            reward.rewards,
            texts=("state", "action"),
            numbers=("reward",),
            optional=("action",),
        )
        rewards = _rewards(table, world.mdp)
        true = world.mdp.with_features(world.mdp.features[:, : features.true])
        weights, residual = _projected(table, true, rewards)
        weights = np.pad(weights, (0, features.count - features.true))
        if residual > reward.max_residual:
            raise FileFormatError(
                f"expected rewards that the features express, but {residual:.3g} of {table.name} "
                "(in length) is left over; add features, or accept that with max_residual"
            )
    return RewardSource("rewards", frozen(weights), residual)


def _several(folder: Folder, name: str, features: Features) -> Rewards:
    """The rewards of a file, a row each."""
    table = read_table(
        folder.file(name), name, texts=(), numbers=("chance",), optional=("chance",), further=True
    )
    known = features.numbers
    columns = [column for column in table.columns if column != "chance"]
    for column in columns:
        if column not in known:
            raise FileFormatError(
                f"{table.name}: expected a column a feature, and perhaps chance; there is no "
                f"feature {column!r}{meant(column, tuple(known))}"
            )
    if not len(table) or not columns:
        raise FileFormatError(f"{table.name}: expected at least one reward, got none")
    weights = np.zeros((len(table), features.count))
    for column in columns:
        weights[:, known[column]] = table.column(column)
    found = Rewards.listed(weights, table.column("chance") if "chance" in table.columns else None)
    if not found.mean.any():
        raise FileFormatError(f"{table.name}: the rewards cancel out in the mean: nothing to plan")
    return found


def _rewards(table: Table, mdp: MDP) -> Floats:
    """array [P], the reward of each pair; in terminal states 0, unless the table says otherwise."""
    dynamics = mdp.dynamics
    states = state_numbers(table, mdp)
    given = np.where(np.repeat(terminal_states(mdp), np.diff(dynamics.offsets)), 0.0, np.nan)
    values = table.column("reward")
    if "action" in table.texts:
        pairs = pair_numbers(table, mdp, states)
        table.refuse_repeats(pairs, "state and action")
        given[pairs] = values
    else:
        table.refuse_repeats(states, "state")
        by_state = np.full(mdp.n_states, np.nan)
        by_state[states] = values
        by_state = by_state[dynamics.pair_states]
        given = np.where(np.isnan(by_state), given, by_state)
    missing = np.flatnonzero(np.isnan(given))
    if len(missing):
        state = dynamics.state_name(int(dynamics.pair_states[missing[0]]))
        action = dynamics.action_name(int(dynamics.actions[missing[0]]))
        also = f", action {action!r}" if "action" in table.texts else ""
        raise FileFormatError(f"{table.name}: expected a row for state {state!r}{also}, got none")
    return given


def _projected(table: Table, mdp: MDP, rewards: Floats) -> tuple[Floats, float]:
    """The weights [k] nearest to the rewards [P], and what is left over of them, as a share."""
    scale = float(np.abs(rewards).max())
    if scale == 0.0:
        raise FileFormatError(f"{table.name}: expected a reward that is not 0, got none")
    phi: Any = mdp.features
    wanted = rewards / scale
    if not mdp.features_per_pair:
        if "action" in table.texts:
            phi = phi[mdp.dynamics.pair_states]
        else:
            wanted = wanted[mdp.dynamics.offsets[:-1]]  # each state counts once
    largest = mdp.largest_feature or 1.0  # so that no square under- or overflows
    if isinstance(phi, np.ndarray):
        found = np.linalg.lstsq(phi / largest, wanted, rcond=None)[0]
    else:
        found = scipy.sparse.linalg.lsmr(
            phi / largest, wanted, atol=1e-14, btol=1e-14, maxiter=10_000
        )[0]
    left = float(np.linalg.norm(wanted - (phi / largest) @ found))
    with np.errstate(over="ignore", invalid="ignore"):
        weights = np.asarray(found) * (scale / largest)
    if not np.isfinite(weights).all() or not weights.any():
        raise FileFormatError(f"{table.name}: the features express nothing of these rewards")
    return weights, left / float(np.linalg.norm(wanted))


__all__ = ["RewardSource", "build_reward"]
