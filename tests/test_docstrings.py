"""Every public name says what it takes and gives: complete numpydoc, with an example."""

import dataclasses
import enum
import inspect
import re
from functools import cached_property
from importlib import import_module

import teachirl as ti

UNDERLINED = re.compile(r"^([A-Z][\w ]*)\n-{3,}$", flags=re.MULTILINE)
# A parameter's text starts with its type or shape: `array [S], …`, `Policy or None`, `"a" or "b"`.
TYPED = re.compile(
    r"(?:(?:int |bool |sparse )?arrays?|bools?|dict|floats?|ints?|sequences?|str|tuples?|path"
    r'|[A-Z]\w*[a-z]\w*|MDP|numpy\.random\.Generator|"\w+")(?:$|[ ,;.])'
)


def exported():
    """Each function and class that the public door leads to, by the name that a user calls it."""
    doors = {"ti": ti} | {
        f"ti.{room}": import_module(f"teachirl.{room}")
        for room in ("learners", "teachers", "testing", "worlds")
    }
    return {
        f"{door}.{name}": thing
        for door, module in doors.items()
        for name in module.__all__
        if callable(thing := getattr(module, name))
    }


def members(cls):
    """The public methods and properties that a class of ours defines or inherits from one."""
    for home in cls.__mro__:
        if home.__module__.startswith("teachirl"):
            for name, each in vars(home).items():
                if isinstance(each, (staticmethod, classmethod)):
                    each = each.__func__
                known = inspect.isfunction(each) or isinstance(each, (property, cached_property))
                if known and not name.startswith("_"):
                    yield name, each


EXPORTED = exported()
OBJECTS = EXPORTED | {
    f"{name}.{key}": each
    for name, cls in EXPORTED.items()
    if inspect.isclass(cls)
    for key, each in members(cls)
}


def sections(thing):
    """The sections of a docstring by their titles, "" for what stands before them."""
    parts = UNDERLINED.split(inspect.cleandoc(thing.__doc__ or ""))
    return dict(zip(["", *parts[1::2]], parts[0::2], strict=True))


def entries(text):
    """What a section's unindented lines `name, other : text` say of each name."""
    lines = re.findall(r"^(\w+(?:, \w+)*) : (.*)$", text, flags=re.MULTILINE)
    return {name: said for names, said in lines for name in names.split(", ")}


def taken(thing):
    """The parameters of a function, or those of a class's constructor and its fields."""
    if isinstance(thing, (property, cached_property)):
        return []
    if inspect.isclass(thing):
        if issubclass(thing, enum.Enum) or getattr(thing, "_is_protocol", False):
            return []
        if dataclasses.is_dataclass(thing):
            return [each.name for each in dataclasses.fields(thing) if each.name[0] != "_"]
        if not inspect.isfunction(thing.__init__):  # that of an exception, or of an object
            return []
        thing = thing.__init__
    return [name for name in inspect.signature(thing).parameters if name not in ("self", "cls")]


def test_what_it_takes_is_documented():
    for name, thing in OBJECTS.items():
        said, wanted = sections(thing), taken(thing)
        assert said[""].strip(), f"{name}: no summary"
        known = entries("".join(said.get(title, "") for title in ("Parameters", "Attributes")))
        assert [each for each in wanted if each not in known] == [], f"{name}: missing"
        if inspect.isfunction(thing):
            assert [each for each in known if each not in wanted] == [], f"{name}: not taken"
        untyped = [each for each in known if not TYPED.match(known[each])]
        assert untyped == [], f"{name}: without a type or shape"


def test_what_it_gives_is_documented():
    for name, thing in OBJECTS.items():
        if inspect.isfunction(thing):
            gives = inspect.signature(thing).return_annotation
            if gives not in (None, "None"):
                assert {"Returns", "Yields"} & sections(thing).keys(), name


def test_there_is_an_example():
    for name, thing in EXPORTED.items():
        assert ">>> " in sections(thing).get("Examples", ""), name
