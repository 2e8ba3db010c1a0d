"""Models that Storm builds: what is read of them is what Storm itself says."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import stormpy

import teachirl as ti
from teachirl.mdp.robust_planning import respond

EXAMPLES = Path(importlib.util.find_spec("stormpy.examples").origin).parent / "files"
LIFT = Path(__file__).parents[1] / "examples" / "lift" / "lift.prism"


def storm(path, constants):
    """The same model, row by row, from Storm's own objects."""
    if path.suffix == ".jani":
        program, _ = stormpy.parse_jani_model(str(path))
    else:
        program = stormpy.parse_prism_program(str(path))
    text = ",".join(f"{name}={value}" for name, value in constants.items())
    program, _ = stormpy.instantiate_constants(program, text)
    options = stormpy.BuilderOptions(build_full=True)
    options.set_build_choice_labels()
    options.set_build_all_reward_models()
    options.set_build_all_labels()
    return stormpy.build_model[float](program, options=options)


MODELS = [
    (EXAMPLES / "mdp" / "die_selection.nm", {}),
    (EXAMPLES / "mdp" / "maze_2.nm", {}),
    (EXAMPLES / "mdp" / "slipgrid.nm", {}),
    (EXAMPLES / "mdp" / "two_dice.nm", {}),
    (EXAMPLES / "mdp" / "coin2-2.nm", {}),
    (EXAMPLES / "mdp" / "tiny_rewards.nm", {}),
    (EXAMPLES / "mdp" / "wlan0-2-2.nm", {}),
    (EXAMPLES / "mdp" / "csma2-2.nm", {}),
    (EXAMPLES / "mdp" / "leader3.nm", {}),
    (EXAMPLES / "mdp" / "coin2.nm", {"K": 2}),
    (EXAMPLES / "mdp" / "multiobjective1.nm", {}),
    (EXAMPLES / "dtmc" / "die.jani", {}),
    (EXAMPLES / "dtmc" / "die.pm", {}),
    (EXAMPLES / "dtmc" / "brp-16-2.pm", {}),
    (LIFT, {"call": 0.2}),
]


@pytest.mark.parametrize(("path", "constants"), MODELS, ids=[path.name for path, _ in MODELS])
def test_it_is_what_storm_says(path, constants):
    theirs = storm(path, constants)
    variables = ["s"] if path.suffix == ".jani" else []  # it has nothing else
    mdp = ti.worlds.from_model_file(path, 0.9, constants=constants, variables=variables)
    matrix = theirs.transition_matrix
    assert mdp.n_states == theirs.nr_states
    assert mdp.n_pairs == matrix.nr_rows
    rows, dynamics = mdp.dynamics.transitions, mdp.dynamics
    for state in range(theirs.nr_states):
        group = range(matrix.get_row_group_start(state), matrix.get_row_group_end(state))
        found = sorted(
            tuple(zip(row.indices.tolist(), row.data.tolist(), strict=True))
            for row in (rows[[p]] for p in range(*dynamics.offsets[state : state + 2]))
        )
        wanted = sorted(
            tuple(sorted((each.column, each.value) for each in matrix.get_row(row)))
            for row in group
        )
        assert found == wanted
    assert np.flatnonzero(mdp.start).tolist() == list(theirs.initial_states)
    features = mdp.features.toarray() if hasattr(mdp.features, "toarray") else mdp.features
    per_pair = features if mdp.features_per_pair else features[dynamics.pair_states]
    column = dict(zip(mdp.feature_names, per_pair.T, strict=True))
    for label in theirs.labeling.get_labels() - {"init"}:
        there = np.isin(dynamics.pair_states, list(theirs.labeling.get_states(label)))
        np.testing.assert_array_equal(column.get(label, np.zeros(mdp.n_pairs)), there)
    for name, model in theirs.reward_models.items():
        total = np.zeros(mdp.n_pairs)
        if model.has_state_rewards:
            total += np.array(model.state_rewards)[dynamics.pair_states]
        found = column.get(name or "default", np.zeros(mdp.n_pairs))
        if model.has_state_action_rewards:
            # Choices of a state may come in another order.
            by_choice = np.array(model.state_action_rewards) + total
            for state in range(theirs.nr_states):
                part = slice(*dynamics.offsets[state : state + 2])
                assert sorted(found[part]) == sorted(by_choice[part])
        else:
            np.testing.assert_array_equal(found, total)


def test_variables_are_sensors():
    mdp = ti.worlds.from_model_file(LIFT, 0.9, constants={"call": 0.2}, variables=["guest", "door"])
    shown = [name for name in mdp.feature_names if "=" in name]
    assert shown == ["guest=0", "guest=1", "guest=2", "door=0", "door=1"]
    columns = mdp.features.toarray()[:, [mdp.feature_index(name) for name in shown]]
    np.testing.assert_array_equal(columns[:, :3].sum(axis=1), 1.0)
    np.testing.assert_array_equal(columns[:, 3:].sum(axis=1), 1.0)
    waiting = mdp.features.toarray()[:, mdp.feature_index("waiting")]
    np.testing.assert_array_equal(columns[:, 1], waiting)


PRISM = {
    "mdp\nmodule x\n a:[0..2 init 0;\nendmodule": 'Parsing error at 3:10: expecting "]", here: a:',
    "mdp\nconst int N;\nmodule x\n a:[0..N] init 0;\n[go] a<N -> (a'=a+1);\nendmodule": (
        "it leaves open what N is: give constants"
    ),
    "ctmc\nmodule x\n a:[0..1] init 0;\n<> a<2 -> 2:(a'=1);\nendmodule": "in discrete time, got",
    "": "expecting <model type>",
    "mdp\nmodule x\n a:[0..1] init 0;\n[] true -> .5:(a'=1-a)+.6:true;\nendmodule": "sum to 1",
}


@pytest.mark.parametrize("text", PRISM)
def test_mistakes_of_a_program_are_told_once(text, tmp_path, capfd):
    path = tmp_path / "model.prism"
    path.write_text(text)
    with pytest.raises((ti.FileFormatError, ti.InvalidInputError)) as refused:
        ti.worlds.from_model_file(path, 0.9, variables=["a"])
    assert PRISM[text] in str(refused.value)
    assert "\n" not in str(refused.value)
    assert capfd.readouterr() == ("", "")


def test_constants_that_are_not_open():
    with pytest.raises(ti.FileFormatError, match="N is no constant that it leaves open; those are"):
        ti.worlds.from_model_file(LIFT, 0.9, constants={"call": 0.2, "N": 3})
    die = EXAMPLES / "dtmc" / "die.pm"
    with pytest.raises(ti.FileFormatError, match=r"N is no constant .* there are none"):
        ti.worlds.from_model_file(die, 0.9, constants={"N": 3})


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "stormpy", None)
    with pytest.raises(ti.MissingExtraError, match=r"teachirl\[storm\]"):
        ti.worlds.from_model_file(LIFT, 0.9)


def as_intervals(model, rewards):
    """A model of intervals in Storm's format: each step ends with 1 − γ, as the discount has it."""
    states, dynamics, rows = model.n_states, model.nominal.dynamics, model.successors
    lines = ["@type: MDP", "@parameters", "", "@reward_models", "earned", "@nr_states"]
    lines += [f"{states + 1}", "@nr_choices", f"{model.n_pairs + 1}", "@model"]
    gamma = model.discount
    for state in range(states):
        lines.append(f"state {state} [{float(rewards[state])!r}]{' init' if state == 0 else ''}")
        for pair in range(*dynamics.offsets[state : state + 2]):
            lines.append(f"\taction {pair - dynamics.offsets[state]} [0]")
            for i in range(*rows.indptr[pair : pair + 2]):
                low, high = gamma * float(model.lower[i]), gamma * float(model.upper[i])
                lines.append(f"\t\t{rows.indices[i]} : [{low!r}, {high!r}]")
            lines.append(f"\t\t{states} : [{1 - gamma!r}, {1 - gamma!r}]")
    return "\n".join(
        [*lines, f"state {states} [0] done", "\taction 0 [0]", f"\t\t{states} : [1, 1]"]
    )


@pytest.mark.parametrize("seed", range(3))
def test_robust_values_are_those_of_storms_interval_mdps(seed, tmp_path):
    """The best and the worst policy, with the sets and against them; of no 1-norm, as Storm."""
    rng = np.random.default_rng(seed)
    mdp = ti.worlds.garnet(rng, 8, 3, 3, 4, discount=0.8)
    rows = mdp.dynamics.transitions.copy()
    chances = np.array(rows.data)
    # Storm asks for rewards that are not negative, and for transitions that are always possible.
    lower = chances * rng.uniform(0.3, 1.0, len(chances))
    upper = np.minimum(chances + rng.uniform(0.0, 0.4, len(chances)), 1.0)
    tries = np.ones(mdp.n_pairs, dtype=int)
    model = ti.EstimatedMDP(mdp, rows, lower, upper, np.full(mdp.n_pairs, 2.0), tries)
    w = rng.normal(size=4)
    least = float(model.rewards(w).min())
    (tmp_path / "model.drn").write_text(as_intervals(model, model.rewards(w) - least))
    theirs = stormpy.build_model_from_drn[stormpy.Interval](str(tmp_path / "model.drn"))
    environment, modes = stormpy.environments.default(theirs), stormpy.UncertaintyResolutionMode
    environment.solver().min_max().precision = stormpy.Rational("1/1000000000000")
    for sign, word in ((1, "max"), (-1, "min")):
        [asked] = stormpy.parse_properties(f'R{{"earned"}}{word}=? [F "done"]')
        for nature, mode in ((1, modes.COOPERATIVE), (-1, modes.ROBUST)):
            found = stormpy.model_checking(
                theirs,
                asked,
                only_initial_states=False,
                uncertainty_resolution_mode=mode,
                environment=environment,
            )
            values = np.array([found.get_value(state) for state in range(mdp.n_states)])
            ours = sign * respond(model, sign * w, nature=nature).values
            np.testing.assert_allclose(values + least / (1 - 0.8), ours, atol=1e-6)
