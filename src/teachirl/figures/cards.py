"""Results as a notebook shows them: small tables that no name can break out of.

A card sets no colours and no sizes of its own, so that it is readable on light and on dark pages.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .records import printable

# What is aligned to the right: numbers as `digits` writes them.
NUMERIC = re.compile(r"((< )?[−-]?\d+(\.\d+)?(e[−+-]?\d+)?( %)?|–)$")
# Of longer tables, and texts, a card shows the beginning.
MOST_ROWS = 10
MOST_LETTERS = 300


def escaped(value: object) -> str:
    """Any value as text of a page, whatever is in it.

    >>> escaped('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    return html.escape(printable(str(value)))


def _short(text: str) -> str:
    """A text of a cell; names from files may be as long as they like."""
    return escaped(text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…")


@dataclass(frozen=True)
class Grid:
    """A table of texts.

    Attributes
    ----------
    heads : a text a column; the first column names the rows
    rows : the first rows, each with a text a column
    n_rows : how many there are in all, if not just these
    """

    heads: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    n_rows: int | None = None


def card(
    title: str,
    facts: Iterable[tuple[str, str]] = (),
    grid: Grid | None = None,
    notes: Iterable[str] = (),
) -> str:
    """A title, facts with what they are, a table, and sentences below it, as HTML.

    >>> card("A plan", notes=["1 < 2"])
    '<div><p><strong>A plan</strong></p><p>1 &lt; 2</p></div>'
    """
    parts = [f"<p><strong>{escaped(title)}</strong></p>"]
    lines = "".join(
        f'<tr><th scope="row" style="text-align: left">{_short(label)}</th>'
        f'<td style="text-align: left">{_short(value)}</td></tr>'
        for label, value in facts
    )
    if lines:
        parts.append(f"<table><tbody>{lines}</tbody></table>")
    if grid is not None and grid.rows:
        parts.append(_table(grid))
    parts += [f"<p>{escaped(each)}</p>" for each in notes if each]
    return f"<div>{''.join(parts)}</div>"


def _table(grid: Grid) -> str:
    sides = [
        "right" if place and all(map(NUMERIC.match, filter(None, cells))) else "left"
        for place, cells in enumerate(zip(*grid.rows, strict=True))
    ]

    def line(kinds: Sequence[str], texts: Sequence[str]) -> str:
        cells = (
            f'<{kind} style="text-align: {side}">{_short(text)}</{kind[:2]}>'
            for kind, side, text in zip(kinds, sides, texts, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    heads = line(['th scope="col"'] * len(sides), grid.heads)
    body = "".join(line(['th scope="row"', *["td"] * (len(sides) - 1)], row) for row in grid.rows)
    left_out = (grid.n_rows or 0) - len(grid.rows)
    more = f"<p>… and {left_out} more</p>" if left_out > 0 else ""
    return f"<table><thead>{heads}</thead><tbody>{body}</tbody></table>{more}"


__all__ = ["MOST_ROWS", "NUMERIC", "Grid", "card", "escaped"]
