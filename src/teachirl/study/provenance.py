"""What a result was computed with: the packages and the machine."""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib import metadata
from pathlib import Path

# Those that have a say in the numbers.
PACKAGES = ("teachirl", "numpy", "scipy", "numba", "highspy", "clarabel")


def package_versions() -> dict[str, str]:
    """The versions of Python and of the packages that have a say in the numbers.

    >>> sorted(package_versions())
    ['clarabel', 'highspy', 'numba', 'numpy', 'python', 'scipy', 'teachirl']
    """
    return {**{name: _version(name) for name in PACKAGES}, "python": platform.python_version()}


@cache
def _version(package: str) -> str:
    """What is installed, read once: it does not change below a process."""
    return metadata.version(package)


def machine() -> dict[str, str | int]:
    """The system, its processors and its memory in bytes.

    >>> machine()["cpus"] >= 1
    True
    """
    return {
        "system": platform.platform(),
        "cpus": os.cpu_count() or 1,
        "cpu_model": _cpu_model(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return platform.processor() or platform.machine()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())
