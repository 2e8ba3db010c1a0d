"""What a notebook shows of results: short texts, and HTML in which no name does harm."""

from html.parser import HTMLParser

import numpy as np
import pytest

import teachirl as ti

EVIL = '<script>alert("x")</script> & \x1b[31m'


class Page(HTMLParser):
    """The tags and the text of a page; what is opened is closed."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.open, self.styles, self.text = set(), [], [], ""
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.open.append(tag)
        self.styles += [value for name, value in attributes if name == "style"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def page_of(result):
    """The HTML of a result: tables and texts alone, in the colours of whoever shows it."""
    page = Page(result._repr_html_())
    assert page.tags <= {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    assert not [style for style in page.styles if "color" in style or "background" in style]
    assert "\x1b" not in page.text
    return page.text


@pytest.fixture(scope="module")
def evil():
    """A chain whose names come from someone else's file."""
    chain = ti.worlds.chain(3)
    return ti.MDP.from_pairs(
        chain.dynamics.pair_states,
        chain.dynamics.actions,
        chain.dynamics.transitions,
        chain.features,
        discount=0.9,
        state_names=[EVIL, "b", "c"],
        action_names=["left", EVIL],
        feature_names=["a", "b", EVIL],
    )


@pytest.fixture(scope="module")
def grid():
    return ti.worlds.gridworld(20, block=2)


class TestPlanning:
    def test_an_mdp_says_how_large_it_is_and_what_its_features_are(self, evil, grid):
        text = page_of(evil)
        assert "<script>" in text and "\ufffd[31m" in text  # as text, not as a tag
        assert "3 per state" in text
        text = page_of(grid)
        assert "100 per state" in text and "… and 90 more" in text
        assert "left, right, up, down" in text

    def test_a_policy_says_what_it_does(self, evil, grid):
        assert EVIL.split()[0] in page_of(ti.optimal_policy(evil, [0, 0, 1]).policy)
        text = page_of(ti.Policy.uniform(grid))
        assert "left (25 %), right (25 %), up (25 %), down (25 %)" in text
        assert "… and 390 more" in text

    def test_plans_are_short(self, grid):
        rng = np.random.default_rng(0)
        plans = ti.optimal_policies(grid, rng.standard_normal((30, 100)))
        assert repr(plans) == "Plans(30 rewards: 30 OPTIMAL)"
        assert len(repr(plans[0])) < 100 and "OPTIMAL" in repr(plans[0])
        assert len(repr(plans[:2])) < 100 and repr(plans[:0]) == "Plans(0 rewards)"
        assert "… and 20 more" in page_of(plans)
        assert str(ti.PlanStatus.OPTIMAL) in page_of(plans[0])

    def test_bounds_are_rounded_to_the_safe_side(self):
        plan = ti.optimal_policy(ti.worlds.chain(5), [-2, -1, 0, 1, 2])  # 12.40863…
        assert repr(plan) == "Plan(value 12.41, bounds 12.4 to 12.41, OPTIMAL)"

    def test_what_moves_is_told_in_a_line(self, grid):
        assert repr(grid.dynamics) == "Dynamics(400 states, 1600 state-action pairs, discount 0.9)"
        assert len(repr(ti.soft_policy(grid, np.ones(100)))) < 60
