"""From a problem to a decision: how things stand, what to teach, and what a budget buys."""

from .advice import Advice, Alternative, Step, advise
from .basis import Difference
from .frontier import Frontier, Point, frontier
from .simulations import Simulated
from .standing import Guarantee, Standing, assess

__all__ = [
    "Advice",
    "Alternative",
    "Difference",
    "Frontier",
    "Guarantee",
    "Point",
    "Simulated",
    "Standing",
    "Step",
    "advise",
    "assess",
    "frontier",
]
