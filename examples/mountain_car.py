"""Is a velocity sensor worth it? A car between two hills has to swing."""

import math

import teachirl as ti

CASES = (
    (["position"], 0.0),
    (["position", "pushing"], 0.0),
    (["position", "velocity"], 0.0),
    (["position", "velocity"], 0.5),
)


def guaranteed(world: ti.worlds.World, sees: list[str], mismatch: float) -> float:
    """The relative performance of the worst policy that looks like the expert's."""
    mdp, weights = world.mdp, world.weights
    best, worst = ti.optimal_policy(mdp, weights), ti.worst_policy(mdp, weights)
    view = ti.Worldview.select(mdp, sees)
    found = ti.worst_case(mdp, view, weights, best.policy, mismatch)
    return max(found.lower - worst.value, 0.0) / (best.value - worst.value)


def main() -> None:
    world = ti.worlds.mountain_car(51)
    print(f"{'sees':<24}{'misses by at most':>18}{'guaranteed':>13}")
    for sees, mismatch in CASES:
        share = guaranteed(world, sees, mismatch)
        print(f"{' and '.join(sees):<24}{mismatch:>18g}{math.floor(100 * share):>11} %")
    print("\nPosition and velocity, on two grids:")
    print(ti.compare_resolutions(ti.worlds.mountain_car, (31, 51), ["position", "velocity"]))


if __name__ == "__main__":
    main()
