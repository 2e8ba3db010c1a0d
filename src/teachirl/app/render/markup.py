"""The pieces that a page is made of: every text that goes in is escaped, once."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable

from ...figures.cards import NUMERIC
from ...figures.cards import escaped as text
from ...figures.drawing import panel_svg
from ..document.elements import Fact, Figure, Sentence, Table

# Of tables that are brief on a console.
MOST_ROWS = 100


def _prose(sentence: str) -> str:
    """A sentence; what is in backticks is set as code, as nobody reads backticks on a page.

    >>> _prose("`--seconds` < 3")
    '<code>--seconds</code> &lt; 3'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", str(text(sentence)))


def paragraph(sentence: str, kind: str = "") -> str:
    """A paragraph, of a class of its own if it has a kind; nothing if it is empty."""
    opening = f'<p class="{kind}">' if kind else "<p>"
    return f"{opening}{_prose(sentence)}</p>" if sentence else ""


def bullets(sentences: Iterable[Sentence]) -> str:
    """A list of sentences; nothing if there are none."""
    items = "".join(f"<li>{_prose(each.text)}</li>" for each in sentences if each.text)
    return f"<ul>{items}</ul>" if items else ""


def facts(numbers: Iterable[Fact]) -> str:
    """Numbers that matter, each with what it is."""
    groups = "".join(
        f"<div><dt>{text(each.label)}</dt><dd>{text(each.show(each.value))}</dd></div>"
        for each in numbers
    )
    return f'<dl class="facts">{groups}</dl>' if groups else ""


def _numeric(cells: Iterable[str]) -> bool:
    """Whether all that is there are numbers."""
    there = [cell for cell in cells if cell]
    return bool(there) and all(map(NUMERIC.match, there))


def table(shown: Table) -> str:
    """A table whose first column names its rows; columns of numbers are aligned to the right.

    A narrow screen scrolls it sideways, with the keyboard as well.
    """
    columns = shown.shown
    rows = shown.rows if shown.brief is None else shown.rows[:MOST_ROWS]
    if not rows or not columns:
        return ""
    caption = shown.caption
    if len(rows) < len(shown.rows):
        caption += f" ({len(shown.rows) - len(rows)} more rows are left out)"
    texts = [[column.cell(row) for column in columns] for row in rows]
    by_column = zip(*texts, strict=True)
    kinds = [' class="n"' if _numeric(cells) else "" for cells in by_column]
    kinds[0] = ""
    heads = "".join(
        f'<th scope="col"{kind}>{text(column.heading)}</th>'
        for column, kind in zip(columns, kinds, strict=True)
    )
    body = "".join(
        f'<tr><th scope="row">{text(first)}</th>'
        + "".join(
            f"<td{kind}>{text(each)}</td>" for each, kind in zip(rest, kinds[1:], strict=True)
        )
        + "</tr>"
        for first, *rest in texts
    )
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{text(caption)}"><table>'
        f"<caption>{text(caption)}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def figure(shown: Figure) -> str:
    """Panels with their caption; if the figure has numbers of its own, they can be unfolded.

    Panels are images of their own, so that they stand side by side or one below the other.
    """
    parts = []
    for panel, alt in zip(shown.panels, shown.alts, strict=True):
        svg = base64.b64encode(panel_svg(panel).encode()).decode()
        parts.append(
            f'<div class="panel"><p class="above">{text(panel.title)}</p>'
            f'<img src="data:image/svg+xml;base64,{svg}" alt="{text(alt)}"></div>'
        )
    numbers = "" if shown.numbers is None else table(shown.numbers)
    return (
        f'<figure><div class="panels">{"".join(parts)}</div>'
        f"<figcaption>{text(shown.caption)}</figcaption></figure>"
        + (folded(f"Numbers: {shown.title}", numbers) if numbers else "")
    )


def folded(title: str, content: str) -> str:
    """What is unfolded on demand."""
    return f"<details><summary>{text(title)}</summary>{content}</details>"


def section(title: str, content: str, level: int) -> str:
    """A heading of that level, and what is below it."""
    heading = f"<h{level}>{text(title)}</h{level}>"
    return f"<section>{heading}{content}</section>" if level == 2 else heading + content


def code(content: str) -> str:
    """A text as it is."""
    # The first line break in a pre is dropped by every browser.
    return f"<pre>\n{text(content)}</pre>"


__all__ = ["bullets", "code", "facts", "figure", "folded", "paragraph", "section", "table", "text"]
