"""Worlds that are explored: simulators of one's own, Gymnasium's toy text, MiniGrid."""

import re

import gymnasium
import numpy as np
import pytest

import teachirl as ti
from teachirl.worlds.environments import ToyTextSimulator, made
from teachirl.worlds.minigrid import MiniGridSimulator, without_observations
from teachirl.worlds.outcomes import read_outcomes
from teachirl.worlds.simulation import explore


class Corridor:
    """Four cells, and a door that is opened in the first; the last one is outside."""

    def rng(self, generator):
        self.generator = generator

    def reset(self):
        self.place, self.open = int(self.generator.integers(2)), False

    def save(self):
        return self.place, self.open

    def load(self, saved):
        self.place, self.open = saved

    def key(self):
        return self.place, self.open

    def actions(self):
        return ["left", "right", "open"] if self.place == 0 else ["left", "right"]

    def step(self, action):
        if action == "open":
            self.open = self.open or bool(self.generator.random() < 0.75)
        elif action == "left":
            self.place = max(self.place - 1, 0)
        elif self.place < 2 or self.open:
            self.place += 1
        return float(self.place == 3), self.place == 3

    def features(self, action):
        return {"place": self.place, "opening": action == "open"}


def place_only(simulator, saved):
    simulator.place = saved[0]


class TestSimulators:
    def test_a_world_with_a_known_answer(self):
        world = ti.worlds.from_simulator(Corridor(), discount=0.5)
        mdp = world.mdp
        assert mdp.feature_names == ("reward", "place", "opening")
        assert mdp.n_states == 7 and mdp.dynamics.state_names[-1] == "the end"
        np.testing.assert_array_equal(world.weights, [1.0, 0.0, 0.0])
        assert mdp.start[:2].tolist() == [0.5, 0.5]
        # From the first cell: open, which takes 4/3 tries, and three steps, the last of which pays.
        opened = sum(0.75 * 0.25**k * 0.5 ** (k + 1) for k in range(60))
        assert ti.optimal_policy(mdp, world.weights).value == pytest.approx(
            0.5 * (opened * 0.25 + 0.5 * opened * 0.25), rel=1e-12
        )
        ti.testing.check_mdp(mdp)

    def test_it_draws_again_afterwards(self):
        simulator = Corridor()
        ti.worlds.from_simulator(simulator, 0.9)
        assert isinstance(simulator.generator, np.random.Generator)

    @pytest.mark.parametrize(
        ("methods", "message"),
        [
            # The door is forgotten by save, by load, and by key.
            ({"save": lambda self: (self.place, True)}, r"load\(saved\) leads to the state"),
            ({"load": lambda self, s: place_only(self, s)}, "draws otherwise when it is repeated"),
            ({"key": lambda self: self.place}, "what it does is not what was explored"),
            # What is saved changes later.
            (
                {
                    "save": lambda self: self.__dict__,
                    "load": lambda self, s: self.__dict__.update(s),
                },
                r"load\(saved\) leads to the state",
            ),
        ],
    )
    def test_a_wrong_save_or_load_is_caught(self, methods, message):
        simulator = type("Wrong", (Corridor,), methods)()
        with pytest.raises(ti.InvalidInputError, match=message):
            ti.worlds.from_simulator(simulator, 0.9)

    def test_a_counter_that_is_left_out_is_caught_by_real_episodes(self):
        class Tired(Corridor):
            """Nothing that is saved says how often it went; after nine steps it falls asleep."""

            def reset(self):
                super().reset()
                self.steps = 0

            def step(self, action):
                self.steps += 1
                return (-1.0, True) if self.steps > 9 else super().step(action)

            def load(self, saved):
                super().load(saved)
                self.steps = 0

        with pytest.raises(ti.InvalidInputError) as refused:
            ti.worlds.from_simulator(Tired(), 0.9)
        assert "which gives the end with reward -1, but was explored to give" in str(refused.value)
        assert "Something that matters is not in what save() gives" in str(refused.value)
        ti.worlds.from_simulator(Tired(), 0.9, episodes=0)

    @pytest.mark.parametrize(
        ("methods", "limits", "message"),
        [
            (
                {"step": lambda self, a: 1 / 0},
                {},
                r"step\('left'\) in state \(0, False\) raised Zer",
            ),
            ({"step": lambda self, a: None}, {}, r"step\('left'\) in state .* raised TypeError"),
            ({"step": lambda self, a: (np.nan, False)}, {}, "must give a finite reward, got nan"),
            ({"reset": lambda self: 1 / 0}, {}, r"reset\(\) raised ZeroDivisionError"),
            ({"actions": lambda self: []}, {}, "must give at least one action"),
            (
                {"actions": lambda self: 3},
                {},
                r"actions\(\) in state \(0, False\) raised TypeError",
            ),
            ({"features": lambda self, a: {"reward": 1}}, {}, "must not be called 'reward'"),
            (
                {"features": lambda self, a: 1 / 0},
                {},
                r"features\('left'\) in state .* raised Zero",
            ),
            ({"key": lambda self: None}, {}, r"key\(\) must not be None"),
            ({"key": lambda self: []}, {}, r"raised TypeError: unhashable"),
            (
                {"step": lambda self, a: (self.generator.normal(), False)},
                {},
                r"step\('left'\) in state \(0, False\): it draws by normal",
            ),
            ({}, {"max_states": 3}, "the simulator has more than 3 states"),
            ({}, {"max_seconds": -1.0}, "took too long"),
            ({}, {"max_branches": 1}, r"reset\(\): integers\(2, None\) has more than 1 ways"),
            ({}, {"max_branches": 0}, "max_branches must be at least 1"),
            ({}, {"episodes": -1}, "episodes must not be negative"),
            ({}, {"progress": 3}, "progress must be True, False or a function"),
        ],
    )
    def test_mistakes_are_told_as_the_simulator_s(self, methods, limits, message):
        simulator = type("Wrong", (Corridor,), methods)()
        with pytest.raises(ti.InvalidInputError, match=message):
            ti.worlds.from_simulator(simulator, 0.9, **limits)

    def test_what_is_no_simulator(self):
        with pytest.raises(ti.InvalidInputError, match="must have a method rng, int has none"):
            ti.worlds.from_simulator(3, 0.9)

    def test_progress(self, monkeypatch, capsys):
        seen = []
        ti.worlds.from_simulator(Corridor(), 0.9, progress=lambda *counts: seen.append(counts))
        assert seen == [(0, 2), (6, 6)]
        ti.worlds.from_simulator(Corridor(), 0.9, progress=True)
        assert capsys.readouterr().err == ""  # nobody looks on
        monkeypatch.setattr("teachirl.worlds.exploration.attended", lambda: True)
        times = iter(range(0, 10**6, 5))
        monkeypatch.setattr("teachirl.worlds.exploration.time.monotonic", lambda: next(times))
        ti.worlds.from_simulator(Corridor(), 0.9, progress=True)
        assert re.match(
            r"\rexploring: 6 of 6 states met so far, 0 s or more *\n$", capsys.readouterr().err
        )


TOY_TEXT = [
    ("FrozenLake-v1", {}),
    ("FrozenLake-v1", {"is_slippery": False, "map_name": "8x8"}),
    ("CliffWalking-v1", {}),
    ("CliffWalking-v1", {"is_slippery": True}),
    ("Taxi-v4", {}),
    ("Taxi-v4", {"is_rainy": True}),
]


@pytest.mark.parametrize(("name", "arguments"), TOY_TEXT)
def test_exploration_equals_the_table(name, arguments):
    with made(name, arguments) as env:
        base = env.unwrapped
        table, simulator = read_outcomes(base), ToyTextSimulator(base)
        found = explore(simulator, episodes=5)
        world = ti.worlds.from_simulator(env, 0.95, episodes=0)
        by_table = ti.worlds.from_gymnasium(env, 0.95)
        started = base.initial_state_distrib
    rewards = found.model.rewards
    assert len(rewards) == len(found.targets)
    # Every state that can be reached, and no other.
    reached = {int(state) for _, number in found.starts for state in [found.order[number]]}
    assert reached == set(np.flatnonzero(started).tolist())
    where = {}
    for i, (p, t, r, ended) in enumerate(
        zip(table.probabilities, table.targets, table.rewards, table.ended, strict=True)
    ):
        if p > 0.0:
            row = where.setdefault(
                (int(table.states[table.pairs[i]]), int(table.actions[table.pairs[i]])), {}
            )
            key = (None if ended else int(t), float(r))
            row[key] = row.get(key, 0.0) + p
    names = list(simulator.numbers)
    for pair, (state, action) in enumerate(zip(found.pair_states, found.pair_actions, strict=True)):
        begin, end = found.ends[pair], found.ends[pair + 1]
        row = {
            (None if t < 0 else found.order[t], r): p
            for t, r, p in zip(
                found.targets[begin:end], rewards[begin:end], found.chances[begin:end], strict=True
            )
        }
        wanted = where[found.order[state], names.index(list(found.action_numbers)[action])]
        assert row.keys() == wanted.keys()
        for outcome, chance in row.items():
            # Cumulated sums, as the environment makes them, round in the last bit.
            assert chance == pytest.approx(wanted[outcome], rel=4e-16)
    # The same worth, with the same reward made of the same features.
    assert world.mdp.feature_names == by_table.feature_names
    weights = dict(zip(world.mdp.feature_names, world.weights, strict=True))
    assert ti.optimal_policy(world.mdp, world.weights).value == pytest.approx(
        ti.optimal_policy(by_table, [weights[n] for n in by_table.feature_names]).value, rel=1e-8
    )
    assert world.map is not None and world.reward_feature == "reward"


def test_a_fickle_passenger_is_not_in_the_table_but_explored():
    with made("Taxi-v4", {"fickle_passenger": True}) as env:
        world = ti.worlds.from_simulator(env, 0.99)
        again = ti.worlds.from_gymnasium(env, 0.99)
    sure = ti.worlds.from_gymnasium("Taxi-v4", 0.99)
    undecided = [name.endswith("; may change its mind") for name in world.mdp.dynamics.state_names]
    assert world.mdp.start @ undecided == pytest.approx(0.3)
    assert again.n_states == world.mdp.n_states
    value = ti.optimal_policy(world.mdp, world.weights).value
    weights = dict(zip(world.mdp.feature_names, world.weights, strict=True))
    best = ti.optimal_policy(sure, [weights[n] for n in sure.feature_names]).value
    # A new destination may be where the passenger came from, which is near.
    assert best < value < best + 1.0


def test_environments_that_are_not_known():
    with made("CartPole-v1") as env, pytest.raises(ti.InvalidInputError, match="not among those"):
        ti.worlds.from_simulator(env, 0.9)


LEVELS = ("MiniGrid-DoorKey-5x5-v0", "MiniGrid-Unlock-v0", "MiniGrid-LavaGapS5-v0")


class TestMiniGrid:
    @pytest.mark.parametrize(
        ("name", "states"),
        [
            ("MiniGrid-DoorKey-5x5-v0", 261),
            ("MiniGrid-Unlock-v0", 1025),
            ("MiniGrid-Empty-5x5-v0", 33),
        ],
    )
    def test_how_many_states_there_are(self, name, states):
        world = ti.worlds.from_simulator(name, 0.9, episodes=2)
        assert world.mdp.n_states == states
        assert len(set(world.mdp.dynamics.state_names)) == states
        assert world.reward_feature == "reward"

    @pytest.mark.parametrize("name", LEVELS)
    def test_200_real_episodes_are_possible(self, name):
        """By MiniGrid alone, with its observations and its own reward, and no save or load."""
        with made(name) as env:
            env.reset(seed=0)
            level = env.unwrapped
            simulator = MiniGridSimulator(level)
            with without_observations(level):
                explored = explore(simulator, episodes=0)
            mdp = explored.mdp(0.9, simulator.name)
            numbers = {state: i for i, state in enumerate(mdp.dynamics.state_names)}
            chances = mdp.dynamics.transitions.todok()
            rng = np.random.default_rng(1)
            policy = ti.optimal_policy(mdp, np.eye(1, mdp.n_features)[0]).policy
            ended = 0
            for episode in range(200):
                env.reset(seed=0)
                again = MiniGridSimulator(level)
                for step in range(25):
                    state = numbers[again.name(again.key())]
                    # Half of the episodes go where the expert goes, most of the time.
                    expert = episode % 2 and rng.random() < 0.9
                    action = int(policy.actions[state] if expert else rng.integers(mdp.n_actions))
                    pair = mdp.dynamics.pair_of(state, action)
                    _, reward, over, _, _ = env.step(
                        again.names.index(mdp.dynamics.action_name(action))
                    )
                    success = reward > 0
                    assert reward == pytest.approx(
                        success * (1 - 0.9 * (step + 1) / level.max_steps)
                    )
                    assert mdp.features[pair, 0] == success
                    to = mdp.n_states - 1 if over else numbers[again.name(again.key())]
                    assert chances[pair, to] == 1.0
                    ended += over
                    if over:
                        break
            assert ended >= 90

    def test_the_level_stays_as_it_was(self):
        with made("MiniGrid-DoorKey-5x5-v0") as env:
            env.reset(seed=5)
            before = env.unwrapped.pprint_grid()
            ti.worlds.from_simulator(env, 0.9, episodes=2)
            assert env.unwrapped.pprint_grid() == before
            assert isinstance(env.unwrapped.np_random, np.random.Generator)
            observed, _, _, _, _ = env.step(0)
            assert observed["image"].shape == (7, 7, 3)

    def test_features_and_map(self):
        world = ti.worlds.from_simulator("MiniGrid-DoorKey-5x5-v0", 0.9, episodes=0)
        mdp, names = world.mdp, world.mdp.dynamics.state_names
        # ▓▓▓▓▓ / ▓ D ▓ … the key lies below the door's row, the goal in the corner.
        pair = mdp.dynamics.pair_of(names.index("row 3, column 1, facing north"), 0)
        row = dict(zip(mdp.feature_names, mdp.features[pair], strict=True))
        assert (row["row"], row["column"], row["facing north"], row["facing west"]) == (3, 1, 1, 0)
        assert row["doors locked"] == 1.0 and row["doors open"] == 0.0 and row["carrying"] == 0.0
        assert row["distance to goal"] >= 2.0
        assert sum(row[name] for name in row if name.endswith(" ahead")) == 1.0
        carrying = [i for i, name in enumerate(names) if "carrying yellow key" in name]
        assert carrying and all(
            mdp.features[mdp.dynamics.pair_of(i, 0), mdp.feature_index("carrying")]
            for i in carrying
        )
        assert world.map.shape == (5, 5)
        assert {"goal", "door", "key"} <= set(world.map.texts)
        assert world.map.cells[names.index("row 3, column 1, facing north")] == 3 * 5 + 1
        assert world.map.cells[-1] == -1

    def test_things_that_are_alike_are_told_apart(self):
        world = ti.worlds.from_simulator("MiniGrid-Fetch-5x5-N2-v0", 0.9, episodes=4, seed=3)
        assert len(set(world.mdp.dynamics.state_names)) == world.mdp.n_states

    def test_rejection_sampling_ends_with_a_message(self):
        with pytest.raises(ti.InvalidInputError, match="more than 100 "):
            ti.worlds.from_simulator("MiniGrid-Dynamic-Obstacles-5x5-v0", 0.9, max_branches=100)

    def test_instructions_that_remember_are_refused(self):
        with made("BabyAI-GoToObj-v0") as env, pytest.raises(ti.InvalidInputError, match="BabyAI"):
            ti.worlds.from_simulator(env, 0.9)

    def test_a_sloppy_matcher(self):
        """Who sees only row and column is safe if it matches exactly: the episode ends."""
        world = ti.worlds.from_gymnasium("MiniGrid-DoorKey-5x5-v0", 0.9)
        weights = np.eye(1, world.n_features)[0]
        best = ti.optimal_policy(world, weights).policy
        view = ti.Worldview.select(world, ["column", "row"])
        for mismatch, wanted in (
            (0.0, 1.0),
            (0.01, 0.996),
            (0.05, 0.982),
            (0.2, 0.930),
            (0.5, 0.825),
        ):
            found = ti.certify(world, view, weights, best, mismatch)
            assert found.guaranteed == pytest.approx(wanted, abs=0.01)


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "minigrid", None)
    with pytest.raises(ti.MissingExtraError, match=r"teachirl\[minigrid\]"):
        ti.worlds.from_gymnasium("MiniGrid-DoorKey-5x5-v0", 0.9)


def test_gymnasium_s_other_ids_are_told():
    with pytest.raises(ti.InvalidInputError, match="gymnasium cannot make 'Nothing-v0'"):
        ti.worlds.from_simulator("Nothing-v0", 0.9)
    assert gymnasium.__version__
