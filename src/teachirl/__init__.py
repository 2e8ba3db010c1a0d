"""Teach inverse reinforcement learners: what to show, what to tell, and how sure you can be.

`__init__.pyi` says what is here and which module it comes from, to type checkers and to this file.
A name is loaded when it is first asked for, so that ``import teachirl`` costs nothing: until it is
done, the command does not hear of Ctrl-C.
"""

__version__ = "0.1.0"
_homes: dict[str, str] = {}


def _home_of_each() -> dict[str, str]:
    """The module that each name comes from; that of a subpackage is itself."""
    if not _homes:
        import ast
        from pathlib import Path

        stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
        imports = [line for line in stub.body if isinstance(line, ast.ImportFrom)]
        _homes.update(
            (each.name, line.module or each.name) for line in imports for each in line.names
        )
    return _homes


def __getattr__(name: str) -> object:
    homes = _home_of_each()
    value: object
    if name == "__all__":
        value = ["__version__", *homes]
    elif name not in homes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    else:
        from importlib import import_module

        home = import_module(f".{homes[name]}", __name__)
        value = home if name == homes[name] else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), "__version__", *_home_of_each()})
