"""What `import teachirl` gives, and when."""

import ast
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest

import teachirl as ti

PACKAGE = Path(ti.__file__).parent
STUB = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
HOMES = {
    each.name: line.module
    for line in STUB.body
    if isinstance(line, ast.ImportFrom)
    for each in line.names
}


MODULES = sorted(PACKAGE.rglob("*.py"))


@cache
def parsed(path):
    """The text of a module and its tree, for all tests that look at it."""
    text = path.read_text(encoding="utf-8")
    return text, list(ast.walk(ast.parse(text)))


def run(code):
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return result.stdout.strip()


def test_importing_the_package_loads_nothing_heavy():
    heavy = "{'numpy', 'scipy', 'numba', 'highspy', 'clarabel', 'pydantic', 'rich', 'typer'}"
    assert run(f"import sys, teachirl; print({heavy} & set(sys.modules))") == "set()"


def test_the_command_loads_what_is_hardly_used_when_it_is():
    begin = "import sys; from teachirl.__main__ import Postponing as P; sys.meta_path[:0] = [P()]"
    loaded = "print('numpy.f2py.rules' in sys.modules, end=' ')"
    use = "print(numpy.f2py.get_include()[-3:], end=' ')"
    said = run(f"{begin}; import numpy, scipy.sparse; {loaded}; {use}; {loaded}")
    assert said == "False src True"


def test_the_stub_imports_what_it_exports():
    [exported] = [
        ast.literal_eval(line.value)
        for line in STUB.body
        if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "__all__"
    ]
    assert len(exported) == len(set(exported))
    assert set(exported) == {*HOMES, "__version__"} == set(ti.__all__)
    assert set(exported) <= set(dir(ti))


def test_a_name_is_what_its_module_calls_so():
    for name, home in HOMES.items():
        module = import_module(f"teachirl.{home or name}")
        assert getattr(ti, name) is (getattr(module, name) if home else module), name


def test_no_module_hides_a_name():
    # Importing teachirl.x sets teachirl.x to the module, whatever else is called so.
    modules = {path.stem for path in PACKAGE.iterdir()}
    assert {name for name in HOMES if name in modules} == {
        "learners",
        "teachers",
        "testing",
        "worlds",
    }


def test_modules_and_names_can_be_asked_for_in_any_order():
    code = """
import teachirl.teaching.teach, teachirl.worlds.driving
from teachirl import teach, worlds
from teachirl.mdp import kernels
from teachirl import *
print(teach.__name__, worlds.driving.__name__, kernels.__name__, MDP.__name__)
"""
    assert run(code) == "teach driving teachirl.mdp.kernels MDP"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'teachirl' has no attribute 'teech'"):
        _ = ti.teech
    with pytest.raises(ImportError, match="cannot import name 'teech'"):
        exec("from teachirl import teech")


def test_the_version_is_that_of_the_distribution():
    assert ti.__version__ == version("teachirl")


PLAN = (PACKAGE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
ROOMS = re.findall(r"^      (\w+)(?:/|\.py) ", PLAN, flags=re.MULTILINE)


def test_the_plan_shows_every_room():
    # Folders that have moved may leave what was compiled in them behind.
    entries = {p.name for p in PACKAGE.iterdir() if p.is_file() or (p / "__init__.py").exists()}
    files = {"__init__.py", "__init__.pyi", "__main__.py", "py.typed"}
    assert set(ROOMS) == {name.removesuffix(".py") for name in entries - files}
    assert len(entries) <= 23


@pytest.mark.xdist_group("parsed")
def test_modules_and_functions_are_short():
    for path in MODULES:
        text, nodes = parsed(path)
        assert len(text.splitlines()) <= 400, path
        for node in nodes:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                assert node.end_lineno - node.lineno < 80, (path, node.name)


def imported_by(path):
    """The rooms that a module imports from, wherever in it, and what it takes."""
    here = path.relative_to(PACKAGE).parent.parts
    for node in parsed(path)[1]:
        if isinstance(node, ast.Import):
            assert not [each for each in node.names if each.name.startswith("teachirl")], path
        if isinstance(node, ast.ImportFrom) and (node.level or node.module.startswith("teachirl")):
            start = here[: len(here) - node.level + 1] if node.level else ()
            target = (*start, *(node.module or "").removeprefix("teachirl").strip(".").split("."))
            for each in node.names:
                yield next(filter(None, target), each.name), each.name


@pytest.mark.xdist_group("parsed")
def test_imports_point_one_way():
    for path in MODULES:
        room = path.relative_to(PACKAGE).with_suffix("").parts[0]
        for other, name in imported_by(path):
            assert not name.startswith("_") or name == "__version__", (path, name)
            if room not in ("__init__", "__main__") and other not in (room, "__version__"):
                assert ROOMS.index(other) < ROOMS.index(room), (path, other, name)


def test_the_reference_has_every_public_name():
    page = (PACKAGE.parents[1] / "docs" / "api.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^::: teachirl\.(.+)$", page, flags=re.MULTILINE))
    for name, home in HOMES.items():
        assert {home or name, f"{home}.{name}"} & shown, name
