import gc
import os
import signal
import tempfile

import pytest
from hypothesis import HealthCheck, settings

# The workers share the processors: threads of BLAS would wait for each other.
if "OMP_NUM_THREADS" not in os.environ:
    os.environ["OPENBLAS_NUM_THREADS"] = "1"

# Thousands of tests and hundreds of kernels are there to stay: looking for garbage among them again
# and again takes a tenth of the time.
gc.set_threshold(100_000, 50, 100)

# What commands keep is nobody's but the tests'.
os.environ["TEACHIRL_CACHE"] = tempfile.mkdtemp(prefix="teachirl-")

# Ignored in the background of a shell, also by all whom the tests start and then interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples every time: a failure is a change of the code, not of the dice. The first
# example may compile a kernel, so no deadline.
settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")


def pytest_make_parametrize_id(val):
    """A short name for texts of up to a megabyte: each worker sends the names of all tests."""
    return f"{val[:40]!r} {len(val)}" if isinstance(val, str | bytes) and len(val) > 400 else None


def pytest_collection_finish():
    # What was imported until now is no garbage, and need not be looked through for any.
    gc.freeze()


@pytest.fixture
def unhurried(monkeypatch):
    """Without any time for more, there is time for what an answer needs, on a busy machine too."""
    monkeypatch.setattr("teachirl.app.decisions.patience.GRACE", 60.0)
