"""A study with people: its TOML file, read strictly, and who is in which condition."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal

import numpy as np
from markdown_it import MarkdownIt
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from ...errors import FileFormatError, require

MAX_TEXT = 200_000
MOST_FEATURES = 20
CONSENT = (
    "You will watch short episodes of somebody who knows what to do, and then act yourself. What "
    "you do is recorded, with the time that you take, under a number that does not name you. You "
    "may stop at any time by closing this page."
)
INSTRUCTIONS = (
    "Watch what is shown. Then act so that what you see comes out as it did there. From time to "
    "time something new becomes visible."
)


class Strict(BaseModel):
    """No key but those that are known."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Condition(Strict):
    """What differs between groups."""

    name: str = Field(min_length=1, max_length=60)
    teacher: Literal["TRGreedy", "GapGreedy", "Random", "none"] = "GapGreedy"
    show: Literal["optimal", "choose"] = "optimal"
    order: Literal["chosen", "reversed", "shuffled"] = "chosen"


class Study(Strict):
    """A study, as its file says it.

    Attributes
    ----------
    seed : of the assignment, of the worlds' chances and of all that is drawn
    participants : how many links there are
    watch : episodes that are watched in a block
    episodes : episodes that are acted in a block
    steps : after how many steps an episode is cut off
    features : how many features are taught, one between two blocks
    place : whether participants see where on the map they are
    action_names : whether actions are called by their names, which may tell of what is hidden, and
        not by arrows and letters
    consent, instructions : Markdown, or the name of a file beside the study's that ends in .md
    condition : Condition, at least one
    """

    seed: int = Field(default=0, ge=0)
    participants: int = Field(default=1, ge=1, le=10_000)
    watch: int = Field(default=4, ge=1, le=50)
    episodes: int = Field(default=3, ge=1, le=100)
    steps: int = Field(default=30, ge=1, le=500)
    features: int = Field(default=2, ge=0, le=MOST_FEATURES)
    place: bool = True
    action_names: bool = False
    consent: str = CONSENT
    instructions: str = INSTRUCTIONS
    condition: tuple[Condition, ...] = Field(default=(Condition(name="lesson"),), min_length=1)

    @field_validator("condition")
    @classmethod
    def _distinct(cls, given: tuple[Condition, ...]) -> tuple[Condition, ...]:
        if len({each.name for each in given}) < len(given):
            raise ValueError("expected conditions with distinct names")
        return given

    def assigned(self) -> list[int]:
        """The condition of each participant: in every group as many, up to one; by the seed.

        >>> conditions = [{"name": "a"}, {"name": "b"}]
        >>> study = Study(participants=6, condition=conditions)
        >>> sorted(study.assigned()), study.assigned() == study.assigned()
        ([0, 0, 0, 1, 1, 1], True)
        """
        rng, count = np.random.default_rng([self.seed, 1]), len(self.condition)
        found: list[int] = []
        while len(found) < self.participants:
            found += rng.permutation(count).tolist()
        return found[: self.participants]


def read_study(path: Path | None) -> Study:
    """A study of a file; one participant and one condition without.

    Parameters
    ----------
    path : the TOML file; None for the usual

    Returns
    -------
    Study, with its texts
    """
    if path is None:
        return Study()
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        study = Study.model_validate(tables)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: {_said(error)}") from None
    texts = {name: _text(path, getattr(study, name)) for name in ("consent", "instructions")}
    return study.model_copy(update=texts)


def _said(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return f"this is not TOML: {error}"
    first: Any = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"]))
    said = "there is no such key" if first["type"] == "extra_forbidden" else first["msg"]
    return f"{place}: {said}, got {first['input']!r:.60}"


def _text(path: Path, given: str) -> str:
    if not given.endswith(".md") or "\n" in given:
        return given
    root = path.parent.resolve()
    file = (root / given).resolve()
    require(file.is_relative_to(root), f"{path}: {given} must lie in the study's folder")
    require(file.is_file(), f"{path}: there is no {given}")
    require(file.stat().st_size <= MAX_TEXT, f"{path}: {given} is too long")
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError(f"{path}: {given} must be text in UTF-8") from None


def markup(text: str) -> str:
    """Markdown as markup that can do nothing: no tags of its own, no pictures, no scripts.

    >>> markup("**Yes** <script>alert(1)</script>")
    '<p><strong>Yes</strong> &lt;script&gt;alert(1)&lt;/script&gt;</p>\\n'
    """
    reader = MarkdownIt("commonmark", {"html": False}).disable(
        ["image", "html_block", "html_inline"]
    )
    return str(reader.render(text))


__all__ = ["Condition", "Study", "markup", "read_study"]
