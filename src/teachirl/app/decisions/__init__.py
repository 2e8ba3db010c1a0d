"""From a problem to a decision, in numbers: how things stand, what to teach, what a budget buys."""

from .acquaintance import Acquaintance, CandidateKnown, Standing, acquaint
from .assessment import Assessment, Guarantee, assess
from .check import Check, Combination, Feature, Notice, Oddity, check
from .comparison import SAME_GUARANTEE, Difference, Shortfall
from .demonstration import Offer, WhatToShow
from .differing import Differing, both_news, differing, news
from .doubt import WeightDoubt
from .expert import Collected, ExpertAccount, Record, account_in_time, expert_account
from .frontier import Frontier, Point, frontier
from .instead import Instead
from .kept import Kept
from .log_doubt import LogDoubt, PairDoubt, log_doubt
from .once_recorded import OnceRecorded
from .patience import Cut, Patience, TooLittleTimeError
from .planning import plan
from .plausible import GoalOver, OverRewards
from .policies import policies
from .readings import Enough, Reading, Readings
from .set_search import Known, Watch
from .set_to_teach import Searched, SetToTeach
from .simulations import Outcome, Simulated
from .stakes import GoalResult, Stakes
from .steps import Alternative, Step
from .teaching_plan import Ending, TeachingPlan
from .told_once import told_once
from .undiscounted import Undiscounted, undiscounted
from .world_account import FeatureRange, WorldAccount, world_account

__all__ = [
    "SAME_GUARANTEE",
    "Acquaintance",
    "Alternative",
    "Assessment",
    "CandidateKnown",
    "Check",
    "Collected",
    "Combination",
    "Cut",
    "Difference",
    "Differing",
    "Ending",
    "Enough",
    "ExpertAccount",
    "Feature",
    "FeatureRange",
    "Frontier",
    "GoalOver",
    "GoalResult",
    "Guarantee",
    "Instead",
    "Kept",
    "Known",
    "LogDoubt",
    "Notice",
    "Oddity",
    "Offer",
    "OnceRecorded",
    "Outcome",
    "OverRewards",
    "PairDoubt",
    "Patience",
    "Point",
    "Reading",
    "Readings",
    "Record",
    "Searched",
    "SetToTeach",
    "Shortfall",
    "Simulated",
    "Stakes",
    "Standing",
    "Step",
    "TeachingPlan",
    "TooLittleTimeError",
    "Undiscounted",
    "Watch",
    "WeightDoubt",
    "WhatToShow",
    "WorldAccount",
    "account_in_time",
    "acquaint",
    "assess",
    "both_news",
    "check",
    "differing",
    "expert_account",
    "frontier",
    "log_doubt",
    "news",
    "plan",
    "policies",
    "told_once",
    "undiscounted",
    "world_account",
]
