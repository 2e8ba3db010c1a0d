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

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..errors import MissingExtraError
from .learner import check_learner
from .mdp import check_mdp, check_same
from .teacher import check_teacher

if TYPE_CHECKING:
    from .strategies import mdps, policies, weights, worldviews

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


def __getattr__(name: str) -> object:
    """The strategies, which alone need Hypothesis."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if find_spec("hypothesis") is None:
        raise MissingExtraError("hypothesis", "testing")
    return getattr(import_module(".strategies", __name__), name)
