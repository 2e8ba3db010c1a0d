"""A commented problem file to start from."""

EXAMPLE = """\
# A problem for teachirl: which sensors must a car have so that imitating its driver is safe?
# docs/problem_file.md says what else can stand here. A mistake is told with its place.

title = "Which sensors does the car need?"
seed = 0                            # of all that is left to chance

[world]
name = "driving"                    # a built-in world; `teachirl worlds` lists them
sight = 1                           # its parameters; look further and it takes longer

# Your own world, in tables beside this file (CSV or Parquet):
# [world]
# transitions = "transitions.csv"   # state, action, next_state, probability
# features = "features.csv"         # state, and a column for each feature
# start = "start.csv"               # state, probability
# discount = 0.95

# What the expert is after. The world above has a reward of its own; others need one of these:
# [reward.weights]                  # features by name; those not named have weight 0
# "collision" = -10.0
# "fast" = 1.0
# [reward]
# trajectories = "expert.jsonl"     # inferred from what an expert did
# [reward]
# rewards = "rewards.csv"           # state, reward: projected on the features

[learner]
sees = ["slow", "medium", "fast", "left lane", "middle lane", "right lane", "shoulder"]

# [[learner.combination]]           # a feature of the learner's that mixes true ones
# name = "trouble"
# weights = { collision = 1.0, tailgating = 0.5 }

[teach]
features = "all"                    # all that are not seen, at the world's prices
forbidden = ["left behind"]

[[teach.feature]]                   # or with a price of your own
name = "collision"
cost = 3.0

[demonstration]
show = "optimal"                    # or "choose": the policy that guarantees most
# policy = "policy.csv"             # or state, action, probability
# trajectories = "expert.jsonl"     # or what was recorded

[plan]
teacher = "GapGreedy"               # teaches what lifts the guarantee most
learner = "MinNormPoint"            # whom to simulate
budget = 5                          # so many features at most,
max_cost = 30.0                     # for so much at most,
guarantee = 0.9                     # and no more once 90 % of the best are guaranteed
"""


def example_text() -> str:
    """The text of a commented problem file that can be read as it is.

    >>> print(example_text().splitlines()[3])
    title = "Which sensors does the car need?"
    """
    return EXAMPLE


__all__ = ["example_text"]
