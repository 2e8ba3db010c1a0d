"""A simulator of your own: a greenhouse, with weather. Its apprentice has a thermometer alone."""

import teachirl as ti


class Greenhouse:
    """Temperatures 0 (frost) to 4 (heat); soil 0 (dry) to 3 (wet); the sky changes by itself."""

    def rng(self, generator):
        self.generator = generator

    def reset(self):
        self.warmth, self.soil, self.sky = 2, 2, str(self.generator.choice(["sun", "cloud"]))

    def save(self):
        return self.warmth, self.soil, self.sky

    def load(self, saved):
        self.warmth, self.soil, self.sky = saved

    def key(self):
        return f"warmth {self.warmth}, soil {self.soil}, {self.sky}"

    def actions(self):
        return ["wait", "heat", "air", "water"]

    def step(self, action):
        growing = self.warmth in (2, 3) and self.soil in (1, 2)
        drift = {"sun": 1, "cloud": 0, "night": -1}[self.sky]
        drift += {"heat": 1, "air": -1}.get(action, 0)
        self.warmth = min(max(self.warmth + drift, 0), 4)
        dries = self.generator.random() < (0.6 if self.sky == "sun" else 0.2)
        self.soil = min(max(self.soil - dries + 2 * (action == "water"), 0), 3)
        self.sky = str(self.generator.choice(["sun", "cloud", "night"], p=[0.4, 0.3, 0.3]))
        dead = self.warmth == 0 and self.soil == 0
        return float(growing) - 0.2 * (action in ("heat", "water")), dead

    def features(self, action):
        growing = self.warmth in (2, 3) and self.soil in (1, 2)
        paid = action in ("heat", "water")
        return {"warmth": self.warmth, "soil": self.soil, "growing": growing, "paid": paid}


def main():
    world = ti.worlds.from_simulator(Greenhouse(), discount=0.9)
    print(world.mdp)
    best = ti.optimal_policy(world.mdp, world.weights)
    print(f"the gardener earns {best.value:.2f}")
    for sees in (["warmth"], ["warmth", "soil"], ["warmth", "paid"], ["growing", "paid"]):
        view = ti.Worldview.select(world.mdp, sees)
        found = ti.certify(world.mdp, view, world.weights, best.policy)
        print(f"who sees {' and '.join(sees)}: {100 * found.guaranteed:.0f} % are guaranteed")


if __name__ == "__main__":
    main()
