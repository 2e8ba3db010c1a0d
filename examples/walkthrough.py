"""A walk through the library, cell by cell: a robot that vacuums a home, and who imitates it.

Open it in an editor that runs `# %%` cells, or run it with `python examples/walkthrough.py`.
"""

# %% The world: an MDP with named features
# Five rooms in a row. The robot moves to either side, or stays and vacuums; now and then a door is
# shut and it stays where it is.
import tempfile
from pathlib import Path

import numpy as np

import teachirl as ti
from teachirl.app.problem import read_problem

ROOMS = ["dock", "hall", "kitchen", "nursery", "stairs"]
transitions = np.zeros((5, 3, 5))  # [state, action, next state]
for room in range(5):
    for action, move in enumerate((-1, 0, 1)):
        there = min(max(room + move, 0), 4)
        transitions[room, action, there] += 0.9
        transitions[room, action, room] += 0.1

features = {  # what each room is like
    "dirt": [0.0, 0.4, 1.0, 0.8, 0.2],
    "noise": [0.0, 0.2, 0.2, 1.0, 0.0],  # it wakes the child
    "danger": [0.0, 0.0, 0.0, 0.1, 1.0],
    "light": [0.0, 1.0, 1.0, 0.0, 0.0],
    "warmth": [0.3, 0.2, 0.6, 0.6, 0.4],
}
mdp = ti.MDP.from_arrays(
    transitions,
    np.column_stack(list(features.values())),
    discount=0.9,
    start=[1.0, 0.0, 0.0, 0.0, 0.0],
    feature_names=list(features),
    state_names=ROOMS,
    action_names=["left", "vacuum", "right"],
)
print(mdp)

# %% Planning: the reward is a weight a feature, and no part of the MDP
weights = np.array([1.0, -1.5, -3.0, 0.0, 0.0])
plan = ti.optimal_policy(mdp, weights)
expected = ti.feature_expectations(mdp, plan.policy)
print(f"The expert earns {plan.value:.3f}, between {plan.lower:.6f} and {plan.upper:.6f}.")
for name, amount in zip(features, expected, strict=True):
    print(f"    {name:<8}{amount:.3f}")

# %% The worldview: what a learner sees of it
# A thermometer: kitchen and nursery are alike, and she knows of no dirt, noise or danger.
view = ti.Worldview.select(mdp, ["warmth"])
seen = view.observe(mdp)  # this, and nothing else, is what learners get
print(seen.feature_names)

# %% Risk: how much of the reward she cannot see
print(f"teaching risk {ti.teaching_risk(view, weights):.3f}")
print(f"relative risk {ti.relative_risk(mdp, view, weights):.3f}")
print(ti.blind_spot(mdp, view, weights).sentence)

# %% The certificate: how badly can she do, whatever her algorithm?
certificate = ti.certify(mdp, view, weights, plan.policy)
print(certificate)
assert certificate.worst is not None and certificate.worst.witness is not None
worst = ti.feature_expectations(mdp, certificate.worst.witness)
print("The worst policy that looks right to her:")
for name, right, wrong in zip(features, expected, worst, strict=True):
    print(f"    {name:<8}{right:.3f} became {wrong:.3f}")

# %% Learners: what she would really do
# Both match what was shown. One of them is lucky; nothing that she sees made her so.
target = view.matrix @ expected
for learner in (ti.learners.MinNormPoint(), ti.learners.MaxCausalEntropy()):
    learned = learner.learn(seen, target)
    earned = ti.relative_performance(mdp, weights, learned.policy)
    print(f"{type(learner).__name__:<18}{earned:.3f}   {learned.status}")

# %% Teachers: which features should she be given?
# Light is worth nothing, and still it is what she needs: it tells the kitchen from the nursery.
prices = {"dirt": 3.0, "noise": 2.0, "danger": 2.0, "light": 1.0}
task = ti.Task(
    mdp,
    weights,
    view,
    teachable=ti.Worldview.select(mdp, list(prices)),
    costs=list(prices.values()),
)
lesson = ti.teach(
    task,
    ti.teachers.GapGreedy(),
    ti.learners.MinNormPoint(),
    rng=np.random.default_rng(0),
    max_cost=6.0,
    until=0.95,
)
print(lesson)

# %% Demonstrations: or should she be shown something else?
# Not the best policy, but one that is less easily mistaken for a bad one.
shown = ti.best_demonstration(mdp, view, weights, rng=np.random.default_rng(0))
print(f"Of an optimal policy {certificate.guaranteed:.3f} is guaranteed,")
print(f"of the best demonstration {task.relative_at_least(shown.guaranteed):.3f}: {shown.status}")

# %% Recorded demonstrations come with their error
rng = np.random.default_rng(0)
recorded = ti.Demonstration.sample(mdp, plan.policy, episodes=2000, horizon=60, rng=rng)
print(f"at most {recorded.error:.3f} off, with confidence {recorded.confidence:g}")
print(ti.certify(mdp, view, weights, recorded))

# %% Your own problem, in a file
PROBLEM = """
title = "The robot's apprentice"

[world]
file = "home.npz"

[reward.weights]
dirt = 1.0
noise = -1.5
danger = -3.0

[learner]
sees = ["warmth"]

[[teach.feature]]
name = "noise"
cost = 2.0

[[teach.feature]]
name = "light"
cost = 1.0

[plan]
max_cost = 3.0
guarantee = 0.95
"""
with tempfile.TemporaryDirectory() as folder:
    mdp.save(Path(folder) / "home.npz")
    (Path(folder) / "home.toml").write_text(PROBLEM, encoding="utf-8")
    problem = read_problem(Path(folder) / "home.toml")
print(problem)
# `teachirl certify`, `teach` and `frontier` answer such a file: see docs/examples.md.
