"""Teach inverse reinforcement learners: what to show, what to tell, and how sure you can be.

`__init__.pyi` says what is here and which module it comes from, to type checkers and to this file.
A name is loaded when it is first asked for, so that ``import teachirl`` costs next to nothing.
"""

import ast
from importlib import import_module
from pathlib import Path

__version__ = "0.1.0"


def _homes() -> dict[str, str]:
    """The module that each name comes from; that of a subpackage is itself."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [line for line in stub.body if isinstance(line, ast.ImportFrom)]
    return {each.name: line.module or each.name for line in imports for each in line.names}


_HOMES = _homes()
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f".{_HOMES[name]}", __name__)
    value = home if name == _HOMES[name] else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
