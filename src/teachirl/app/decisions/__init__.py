"""From a problem to a decision, in numbers: how things stand, what to teach, what a budget buys."""

from .acquaintance import Acquaintance, CandidateKnown, Standing, acquaint
from .assessment import Assessment, Guarantee, assess
from .check import Check, Feature, Notice, Oddity, check
from .comparison import SAME_GUARANTEE, Difference, Shortfall
from .demonstration import WhatToShow
from .differing import Differing, differing, news
from .doubt import WeightDoubt
from .frontier import Frontier, Point, frontier
from .policies import policies
from .set_search import Cut
from .simulations import Outcome, Simulated
from .teaching_plan import Alternative, Ending, Step, TeachingPlan, plan
from .undiscounted import Undiscounted, undiscounted

__all__ = [
    "SAME_GUARANTEE",
    "Acquaintance",
    "Alternative",
    "Assessment",
    "CandidateKnown",
    "Check",
    "Cut",
    "Difference",
    "Differing",
    "Ending",
    "Feature",
    "Frontier",
    "Guarantee",
    "Notice",
    "Oddity",
    "Outcome",
    "Point",
    "Shortfall",
    "Simulated",
    "Standing",
    "Step",
    "TeachingPlan",
    "Undiscounted",
    "WeightDoubt",
    "WhatToShow",
    "acquaint",
    "assess",
    "check",
    "differing",
    "frontier",
    "news",
    "plan",
    "policies",
    "undiscounted",
]
