"""Documents as one HTML file that needs nothing else, neither scripts nor a network."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from ...files import replacing
from ..document.elements import (
    Bullets,
    Code,
    Document,
    Element,
    Explanation,
    Facts,
    Figure,
    Folded,
    Section,
    Sentence,
    Table,
)
from . import markup

# Nothing may be fetched or run; pictures are in the page.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def write_report(folder: Path, document: Document) -> Path:
    """Write a document to folder/report.html, atomically.

    Parameters
    ----------
    folder : made if it is not there
    document : Document

    Returns
    -------
    Path of the page

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from teachirl.app.document.elements import Document, Section, Sentence
    >>> said = Document("it", "A title", [Section("First", (Sentence("All is well."),))])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(pathlib.Path(folder) / "out", said).name
    'report.html'
    """
    text = page(document)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "report.html"
    with replacing(path) as file:
        file.write(text.encode())
    return path


def page(document: Document) -> str:
    """The text of the page.

    Parameters
    ----------
    document : Document

    Returns
    -------
    str
    """
    parts = [_element(section, 2) for section in document.sections]
    style = resources.files(__package__).joinpath("report.css").read_text(encoding="utf-8")
    title = markup.text(document.title)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p>What a learner who imitates an expert must be taught, and what is then guaranteed.</p>
</header>
<main>
{"".join(part + chr(10) for part in parts if part)}</main>
<footer>
<p>Made by teachirl. This page is complete in itself and loads nothing.</p>
</footer>
</body>
</html>
"""


def _element(element: Element, level: int) -> str:
    """The markup of an element; sections in sections have headings of the next level."""
    match element:
        case Section():
            inside = "".join(_element(each, level + 1) for each in element.elements)
            return markup.section(element.title, inside, level) if inside else ""
        case Sentence():
            return markup.paragraph(element.text)
        case Explanation():
            return markup.paragraph(element.text, "here" if element.aside else "")
        case Bullets():
            return markup.bullets(element.sentences)
        case Facts():
            return markup.facts(element.facts)
        case Table():
            return markup.table(element)
        case Figure():
            return markup.figure(element)
        case Folded():
            return markup.folded(element.title, markup.table(element.table))
        case Code():
            return markup.code(element.text)
    return ""


__all__ = ["page", "write_report"]
