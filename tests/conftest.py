from hypothesis import HealthCheck, settings

# The same examples every time: a failure is a change of the code, not of the dice. The first
# example may compile a kernel, so no deadline.
settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")
