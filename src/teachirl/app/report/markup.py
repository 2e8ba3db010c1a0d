"""The pieces that a page is made of: every text that goes in is escaped, once, here."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Sequence

from ...figures.drawing import panel_svg
from ...figures.records import printable
from ..digits import number
from .pictures import Picture

NUMERIC = re.compile(r"((< )?−?\d+(\.\d+)?(e[−+-]?\d+)?( %)?|–)$")


def text(value: object) -> str:
    """Any value as text that no name can break out of.

    >>> text('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    return html.escape(printable(str(value)))


def paragraph(sentence: str, kind: str = "") -> str:
    opening = f'<p class="{kind}">' if kind else "<p>"
    return f"{opening}{text(sentence)}</p>" if sentence else ""


def bullets(sentences: Iterable[str]) -> str:
    items = "".join(f"<li>{text(sentence)}</li>" for sentence in sentences)
    return f"<ul>{items}</ul>" if items else ""


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Numbers that matter, each with what it is."""
    groups = "".join(
        f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>" for name, value in pairs
    )
    return f'<dl class="facts">{groups}</dl>'


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str | float]]) -> str:
    """A table whose first column names its rows; columns of numbers are aligned to the right.

    A narrow screen scrolls it sideways, with the keyboard as well.
    """
    texts = [[each if isinstance(each, str) else number(each) for each in row] for row in rows]
    columns = list(zip(*texts, strict=True)) or [()] * len(header)
    kinds = [' class="n"' if all(map(NUMERIC.match, column)) else "" for column in columns]
    kinds[0] = ""
    heads = "".join(
        f'<th scope="col"{kind}>{text(name)}</th>' for name, kind in zip(header, kinds, strict=True)
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


def shown(picture: Picture, *, opened: bool = False) -> str:
    """A picture with its caption and its numbers.

    Panels are images of their own, so that they stand side by side or one below the other. The
    numbers can be unfolded; `opened` if they are from the start.
    """
    parts = []
    for panel, alt in zip(picture.panels, picture.alts, strict=True):
        svg = base64.b64encode(panel_svg(panel).encode()).decode()
        parts.append(
            f'<div class="panel"><p class="above">{text(panel.title)}</p>'
            f'<img src="data:image/svg+xml;base64,{svg}" alt="{text(alt)}"></div>'
        )
    caption = f"The numbers: {picture.title}"
    if picture.left_out:
        caption += f" ({picture.left_out} more rows are left out)"
    numbers = table(caption, picture.header, picture.rows)
    return (
        f'<figure><div class="panels">{"".join(parts)}</div>'
        f"<figcaption>{text(picture.caption)}</figcaption></figure>"
        + folded(f"Numbers: {picture.title}", numbers, opened=opened)
    )


def folded(title: str, content: str, *, opened: bool = False) -> str:
    opening = "<details open>" if opened else "<details>"
    return f"{opening}<summary>{text(title)}</summary>{content}</details>"


def section(title: str, *parts: str) -> str:
    return f"<section><h2>{text(title)}</h2>{''.join(parts)}</section>"


def heading(title: str) -> str:
    return f"<h3>{text(title)}</h3>"


def code(content: str) -> str:
    # The first line break in a pre is dropped by every browser.
    return f"<pre>\n{text(content)}</pre>"


__all__ = [
    "bullets",
    "code",
    "facts",
    "folded",
    "heading",
    "paragraph",
    "section",
    "shown",
    "table",
    "text",
]
