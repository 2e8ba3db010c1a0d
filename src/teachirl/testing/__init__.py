"""For tests, yours and ours: contracts to check a class of yours by, and Hypothesis strategies.

from hypothesis import given
from teachirl.testing import check_learner, check_mdp, check_teacher, mdps

@given(mdps())
def test_my_wrapper(mdp):
    check_mdp(my_wrapper(mdp))

def test_my_learner():
    check_learner(MyLearner())

def test_my_teacher():
    check_teacher(MyTeacher())
"""

from importlib.util import find_spec

from ..errors import MissingExtraError

if find_spec("hypothesis") is None:
    raise MissingExtraError("hypothesis", "testing")

from .learner import check_learner
from .mdp import check_mdp, check_same
from .strategies import mdps, policies, weights, worldviews
from .teacher import check_teacher

__all__ = [
    "check_learner",
    "check_mdp",
    "check_same",
    "check_teacher",
    "mdps",
    "policies",
    "weights",
    "worldviews",
]
