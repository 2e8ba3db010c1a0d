"""A finite highway: which sensors must a car have so that imitating its driver is safe?

You drive in a lane of the highway or on its right shoulder, slow, medium or fast. Of each lane one
car matters, the nearest: it is g cells ahead (1 … sight), beside you (0) or right behind (−1), or
there is none within sight. A cell is what one level of speed gains in a step. In a step,

1. your action changes your speed by one level or your lane by one;
2. each lane's car drives at a speed u drawn from its lane's law, so that g becomes g + u − speed;
   or it leaves the highway, with probability `leave`; out of sight, it is gone;
3. in your lane nobody passes through anybody: a car that you reach, or that is beside you as you
   steer into its lane, is hit; a car that reaches you from behind brakes and stays behind, unless
   its driver fails to, with probability `surprise` if you just changed lanes, else `inattention`;
4. a lane without a car gets one with probability `density`: a slower one at the end of sight, a
   faster one right behind; one at your own speed would never come into sight.

A collision is g = 0 in your lane. From there you can only brake, and the other car is left behind:
a bump costs a level of speed. That it is terrible is for the weights to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..arrays import ROW_SUM_TOLERANCE, Floats, frozen
from ..errors import require
from ..mdp.model import MDP
from .map import Map, Surroundings, steps_of
from .world import World

SPEEDS = ("slow", "medium", "fast")
ACTIONS = ("keep", "accelerate", "brake", "steer left", "steer right")
KEEP, ACCELERATE, BRAKE, LEFT, RIGHT = range(len(ACTIONS))
BEHIND, BESIDE = 0, 1  # gap numbers; BESIDE + g is g cells ahead


def _check_probability(name: str, value: float) -> None:
    require(0.0 <= value <= 1.0, f"{name} must lie in [0, 1], got {value}")


@dataclass(frozen=True)
class Traffic:
    """The cars of one lane.

    Attributes
    ----------
    lane : str, its name
    density : float, probability that a lane without a car gets one in a step
    slow, medium, fast : floats, the distribution of a car's speed in a step

    Examples
    --------
    >>> import teachirl as ti
    >>> lane = ti.worlds.Traffic("only", density=0.2, slow=0.5, medium=0.5, fast=0)
    >>> ti.worlds.driving([lane]).mdp.n_actions
    5
    """

    lane: str
    density: float
    slow: float
    medium: float
    fast: float

    def __post_init__(self) -> None:
        _check_probability(f"density of the {self.lane} lane", self.density)
        speeds = (self.slow, self.medium, self.fast)
        require(
            min(speeds) >= 0 and abs(sum(speeds) - 1.0) <= ROW_SUM_TOLERANCE,
            f"slow, medium, fast of the {self.lane} lane must be a distribution, got {speeds}",
        )


HIGHWAY = (
    Traffic("left", density=0.2, slow=0.0, medium=0.4, fast=0.6),
    Traffic("middle", density=0.25, slow=0.2, medium=0.7, fast=0.1),
    Traffic("right", density=0.3, slow=0.8, medium=0.2, fast=0.0),
)


class Sensor(NamedTuple):
    name: str
    price: float
    weight: float
    signal: NDArray[np.bool_]  # [P], on which pairs it is on


def driving(
    traffic: Sequence[Traffic] = HIGHWAY,
    *,
    sight: int = 3,
    leave: float = 0.05,
    inattention: float = 0.01,
    surprise: float = 0.3,
    discount: float = 0.95,
) -> World:
    """A highway with stochastic traffic whose features are sensors with prices.

    `docs/worlds.md` describes the traffic, and every sensor with its price and weight. You start
    in the rightmost lane at medium speed with no car in sight there; in the other lanes the car is
    anywhere, or nowhere, with the same probability.

    Parameters
    ----------
    traffic : sequence of Traffic, the lanes from left to right, one to three; the shoulder is right
        of them
    sight : int, how many cells you see ahead, 1 to 6
    leave : float, probability that a car leaves the highway in a step
    inattention : float, probability that a car which reaches you from behind does not brake
    surprise : float, the same in the step in which you steer in front of it
    discount : float in (0, 1)

    Returns
    -------
    World, with weights, prices and a map of lanes and speeds

    Examples
    --------
    >>> import teachirl as ti
    >>> world = ti.worlds.driving()
    >>> world.mdp
    MDP(2592 states, 8964 state-action pairs, 27 features per pair, discount 0.95)
    >>> world.weights[world.mdp.feature_index("collision")]
    np.float64(-10.0)
    """
    traffic = tuple(traffic)
    require(1 <= len(traffic) <= 3, f"traffic must have 1 to 3 lanes, got {len(traffic)}")
    require(1 <= sight <= 6, f"sight must lie in 1 … 6, got {sight}")
    _check_probability("leave", leave)
    _check_probability("inattention", inattention)
    _check_probability("surprise", surprise)
    road = _Road(traffic, sight, leave, inattention, surprise)
    states, actions = np.nonzero(road.available())
    sensors = road.sensors(states, actions)
    mdp = MDP.from_pairs(
        states,
        actions,
        road.transitions(states, actions),
        np.column_stack([sensor.signal for sensor in sensors]),
        discount=discount,
        start=road.start(),
        state_names=road.state_names(),
        action_names=ACTIONS,
        feature_names=[sensor.name for sensor in sensors],
    )
    return World(
        mdp,
        np.array([sensor.weight for sensor in sensors]),
        np.array([sensor.price for sensor in sensors]),
        road.map(mdp),
    )


class _Road:
    """The states (lane, speed, a gap for each lane) as a product, and what follows from them.

    Lanes are numbered from the left, the shoulder is last. Of the gap numbers, BEHIND, BESIDE and
    those up to `far` say where a lane's car is; `none`, the last, says that none is in sight.
    """

    def __init__(
        self,
        traffic: tuple[Traffic, ...],
        sight: int,
        leave: float,
        inattention: float,
        surprise: float,
    ) -> None:
        self.traffic, self.sight = traffic, sight
        self.leave, self.inattention, self.surprise = leave, inattention, surprise
        self.lanes, self.shoulder = len(traffic), len(traffic)
        self.far, self.none = BESIDE + sight, BESIDE + sight + 1
        self.gap_shape = (self.none + 1,) * self.lanes
        self.shape = (self.lanes + 1, len(SPEEDS), *self.gap_shape)
        self.n_states = int(np.prod(self.shape))
        self.lane, self.speed, *gaps = np.unravel_index(np.arange(self.n_states), self.shape)
        # The shoulder has a gap column too, always empty, so that any lane can be looked up.
        nobody = np.full(self.n_states, self.none)
        self.gaps = np.column_stack([*gaps, nobody])
        self.own = self.car_in(np.arange(self.n_states), self.lane)
        self.collision = self.own == BESIDE

    def car_in(self, states: NDArray[np.intp], lanes: NDArray[np.intp]) -> NDArray[np.intp]:
        """[n], the gap number of `lanes` in `states`; outside the road there is nobody."""
        inside = (lanes >= 0) & (lanes <= self.shoulder)
        return np.where(inside, self.gaps[states, np.clip(lanes, 0, self.shoulder)], self.none)

    def available(self) -> NDArray[np.bool_]:
        """bool [S, A], which actions exist where."""
        exists = np.ones((self.n_states, len(ACTIONS)), dtype=bool)
        exists[:, ACCELERATE] = self.speed < len(SPEEDS) - 1
        exists[:, BRAKE] = self.speed > 0
        exists[:, LEFT] = self.lane > 0
        exists[:, RIGHT] = self.lane < self.shoulder
        exists[self.collision] = np.arange(len(ACTIONS)) == BRAKE
        return exists

    def start(self) -> Floats:
        possible = (self.lane == self.lanes - 1) & (self.speed == 1) & (self.own == self.none)
        start: Floats = possible / np.count_nonzero(possible)
        return start

    def transitions(self, states: NDArray[np.intp], actions: NDArray[np.intp]) -> sp.csr_array:
        """[P, S]; lanes are independent, so that a row is a product of one row a lane."""
        gaps = self.gaps[states, : self.lanes]
        hit = np.flatnonzero(self.collision[states])
        gaps[hit, self.lane[states[hit]]] = self.none  # left behind
        steer = (actions == RIGHT).astype(int) - (actions == LEFT)
        faster = (actions == ACCELERATE).astype(int) - (actions == BRAKE)
        lane = self.lane[states] + steer
        speed = np.maximum(self.speed[states] + faster, 0)  # you can be hit while slow
        cars = np.ravel_multi_index(tuple(gaps.T), self.gap_shape)
        blocks, order = [], []
        for to in range(self.lanes + 1):
            for pace in range(len(SPEEDS)):
                for changed in (False, True):
                    chosen = np.flatnonzero(
                        (lane == to) & (speed == pace) & ((steer != 0) == changed)
                    )
                    blocks.append(self._after(to, pace, changed)[cars[chosen]])
                    order.append(chosen)
        back = np.argsort(np.concatenate(order))
        return sp.csr_array(sp.vstack(blocks, format="csr"))[back]

    def _after(self, lane: int, speed: int, changed: bool) -> sp.csr_array:
        """[gaps, S]: where the traffic leads if you now drive in `lane` at `speed`."""
        joint = sp.coo_array(np.ones((1, 1)))
        for number, cars in enumerate(self.traffic):
            failure = self.surprise if changed else self.inattention
            matrix = self._move(cars, speed, failure if number == lane else None)
            joint = sp.kron(joint, sp.coo_array(matrix), format="coo")
        gaps = np.unravel_index(joint.col, self.gap_shape)
        here = np.full_like(joint.col, lane), np.full_like(joint.col, speed)
        target = np.ravel_multi_index((*here, *gaps), self.shape)
        return sp.csr_array(
            (joint.data, (joint.row, target)), shape=(joint.shape[0], self.n_states)
        )

    def _move(self, cars: Traffic, speed: int, failure: float | None) -> Floats:
        """[gap, gap]: how a lane's car moves relative to you; `failure` if it is in your lane."""
        matrix = np.zeros((self.none + 1, self.none + 1))
        for pace, probability in enumerate((cars.slow, cars.medium, cars.fast)):
            shift = pace - speed
            appears = self.far if shift < 0 else BEHIND if shift > 0 else self.none
            matrix[self.none, appears] += probability * cars.density
            matrix[self.none, self.none] += probability * (1.0 - cars.density)
            for gap in range(self.none):
                matrix[gap, self.none] += probability * self.leave
                stays = probability * (1.0 - self.leave)
                to = gap + shift
                if failure is not None and gap == BEHIND and to > BEHIND:
                    matrix[gap, BESIDE] += stays * failure
                    matrix[gap, BEHIND] += stays * (1.0 - failure)
                elif failure is not None and (gap == BESIDE or to <= BESIDE < gap):
                    matrix[gap, BESIDE] += stays
                else:
                    matrix[gap, to if BEHIND <= to <= self.far else self.none] += stays
        return matrix

    def sensors(self, states: NDArray[np.intp], actions: NDArray[np.intp]) -> list[Sensor]:
        """What the car can measure, with what that costs and what the driver makes of it."""
        lane, speed, own = self.lane[states], self.speed[states], self.own[states]
        collision = self.collision[states]
        left = self.car_in(states, lane - 1)
        right = self.car_in(states, lane + 1)
        entered = np.where(actions == LEFT, left, np.where(actions == RIGHT, right, self.none))
        free = own == self.none
        sensors = [
            Sensor("slow", 1, 0.0, speed == 0),
            Sensor("medium", 1, 0.6, speed == 1),
            Sensor("fast", 1, 1.0, speed == 2),
        ]
        for number, cars in enumerate(self.traffic):
            weight = 0.15 * (number - self.lanes + 1)  # keep right
            sensors.append(Sensor(f"{cars.lane} lane", 2, weight, lane == number))
        sensors += [
            Sensor("shoulder", 2, -2.0, lane == self.shoulder),
            Sensor("lane change", 1, -0.3, (actions == LEFT) | (actions == RIGHT)),
            Sensor("braking", 1, -0.1, (actions == BRAKE) & ~collision),
            Sensor("collision", 2, -10.0, collision),
            Sensor("tailgating", 6, -0.8, (own == BESIDE + 1) & (speed > 0)),
            Sensor("cutting in", 8, -1.0, entered <= BESIDE),
            Sensor("dawdling", 4, -0.2, free & (speed < 2) & (lane < self.shoulder)),
        ]
        # Radar is dearer the further it looks; by itself a gap is neither good nor bad.
        for side, gap in (("", own), ("left ", left), ("right ", right)):
            sensors += [
                Sensor(f"{side}ahead {g}", 3 + g, 0.0, gap == BESIDE + g)
                for g in range(1, self.sight + 1)
            ]
            if side:
                sensors.append(Sensor(f"{side}beside", 3, 0.0, gap == BESIDE))
            sensors.append(Sensor(f"{side}behind", 4, 0.0, gap == BEHIND))
        return sensors

    def lane_names(self) -> tuple[str, ...]:
        return (*(f"{cars.lane} lane" for cars in self.traffic), "shoulder")

    def map(self, mdp: MDP) -> Map:
        """Speeds, the fastest at the top, by lanes; and where other cars are around you."""
        columns = self.lane_names()
        cells = (len(SPEEDS) - 1 - self.speed) * len(columns) + self.lane
        return Map(
            (len(SPEEDS), len(columns)),
            frozen(cells),
            steps_of(mdp),
            row_names=SPEEDS[::-1],
            column_names=columns,
            surroundings=self.cars(),
        )

    def cars(self) -> Surroundings:
        """Cars from far ahead to right behind, on the left, in your lane and on the right."""
        states, rows = np.arange(self.n_states), np.arange(self.far, -1, -1)
        gaps = [self.car_in(states, self.lane + side) for side in (-1, 0, 1)]
        ahead = [f"{row - BESIDE} ahead" for row in rows if row > BESIDE]
        return Surroundings(
            np.stack(gaps, axis=1)[:, None, :] == rows[None, :, None],
            (*ahead, "beside", "behind"),
            ("on the left", "in your lane", "on the right"),
            own=(len(ahead), 1),
        )

    def state_names(self) -> list[str]:
        lanes = self.lane_names()
        gaps = ["behind", "beside", *(f"{g} ahead" for g in range(1, self.sight + 1)), "none"]
        names = []
        for lane, speed, *rest in np.ndindex(*self.shape):
            cars = ", ".join(f"{t.lane} {gaps[g]}" for t, g in zip(self.traffic, rest, strict=True))
            names.append(f"{lanes[lane]}, {SPEEDS[speed]}; cars: {cars}")
        return names
