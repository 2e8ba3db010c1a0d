"""Tabular MCE-IRL of the package imitation, on a problem from a file; knows nothing of teachirl.

    python imitation_mce.py PROBLEM.npz ANSWER.npz

It runs where imitation is installed. Rewards are linear in the learner's features, in double
precision, trained by Adam, until the gradient, which is the mismatch, is small or the time is over.
imitation plans for a finite horizon, undiscounted, and counts visits discounted: the occupancy
given back is that of the policy it trains with.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import torch
from imitation.algorithms.mce_irl import MCEIRL, mce_occupancy_measures, mce_partition_fh
from imitation.rewards.reward_nets import BasicRewardNet
from seals.base_envs import TabularModelPOMDP

SLICE = 5  # steps between two looks at the clock


def main(problem_file: str, answer_file: str) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    problem = np.load(problem_file)
    discount, goal = float(problem["discount"]), float(problem["goal"])
    features, visits = problem["features"], problem["visits"]
    env = TabularModelPOMDP(
        transition_matrix=problem["transitions"],
        observation_matrix=features,
        reward_matrix=np.zeros(len(features)),
        horizon=int(problem["horizon"]),
        initial_state_dist=problem["start"],
    )
    net = BasicRewardNet(
        env.observation_space, env.action_space, use_action=False, hid_sizes=[]
    ).double()
    learner = MCEIRL(
        visits,
        env,
        net,
        np.random.default_rng(0),
        optimizer_kwargs={"lr": float(problem["rate"])},
        discount=discount,
        linf_eps=0.0,
        grad_l2_eps=goal,
        log_interval=None,
    )
    steps, begin = 0, time.perf_counter()
    while True:
        found = learner.train(max_iter=SLICE)
        steps += SLICE
        seconds = time.perf_counter() - begin
        matched = np.linalg.norm(features.T @ (found - visits)) <= goal
        if matched or seconds >= float(problem["seconds"]):
            break
    with torch.no_grad():
        rewards = net(torch.as_tensor(features), None, None, None).numpy().reshape(-1)
    _, _, chances = mce_partition_fh(env, reward=rewards)  # as its training has it
    at, _ = mce_occupancy_measures(env, pi=chances, discount=discount)
    weights = discount ** np.arange(len(chances))
    x = np.einsum("t,ts,tsa->sa", weights, at[: len(chances)], chances)
    np.savez(answer_file, seconds=seconds, steps=steps, occupancy=x.reshape(-1))


if __name__ == "__main__":
    main(*sys.argv[1:])
