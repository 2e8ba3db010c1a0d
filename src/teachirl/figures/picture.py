"""A figure that shows itself in a notebook, and is a file or a matplotlib figure on demand."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import MissingExtraError, require
from ..files import replacing
from .cards import escaped
from .drawing import FORMATS, drawn, figure_contents, panel_svg
from .records import Figure


@dataclass(frozen=True, eq=False)
class Picture:
    """What `plot` gives: the numbers that are drawn, shown as a picture by a notebook.

    Attributes
    ----------
    figure : Figure, the numbers: its panels and what is in them
    alts : tuple of str, what each panel shows, in words

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> picture = ti.plot_policy(mdp, ti.Policy.uniform(mdp))
    >>> picture
    Picture('policy', 1 panel)
    >>> picture.figure.panels[0].marks[0].values.round(1)
    array([[1.3, 2.5, 2.4, 2.5, 1.3]])
    """

    figure: Figure
    alts: tuple[str, ...]

    def __post_init__(self) -> None:
        if find_spec("matplotlib") is None:
            raise MissingExtraError("matplotlib", "plot")

    def __repr__(self) -> str:
        count = len(self.figure.panels)
        return f"Picture({self.figure.name!r}, {count} panel{'' if count == 1 else 's'})"

    def _repr_html_(self) -> str:
        # Panels have a background of their own: their black letters stay readable on dark pages.
        panels = []
        for panel, alt in zip(self.figure.panels, self.alts, strict=True):
            svg = base64.b64encode(panel_svg(panel).encode()).decode()
            title = f"<div>{escaped(panel.title)}</div>" if panel.title else ""
            panels.append(
                f'<div style="display: inline-block; margin-right: 1em">{title}'
                f'<img src="data:image/svg+xml;base64,{svg}" alt="{escaped(alt)}"></div>'
            )
        caption = f"<figcaption>{escaped(self.figure.caption)}</figcaption>"
        return f"<figure>{''.join(panels)}{caption}</figure>"

    def save(self, path: str | Path) -> None:
        """Write the picture, or its numbers, whole or not at all.

        Parameters
        ----------
        path : str or Path that ends with .pdf, .svg, .png, or .csv for the numbers
        """
        path = Path(path)
        suffix = path.suffix.removeprefix(".")
        require(
            suffix in FORMATS, f"path must end with one of .{', .'.join(FORMATS)}, got {path.name}"
        )
        content = figure_contents(self.figure, (suffix,))[suffix]
        with replacing(path) as file:
            file.write(content)

    def matplotlib(self) -> Any:
        """The picture as a figure of matplotlib, to change it before it is saved or shown.

        Returns
        -------
        matplotlib.figure.Figure
        """
        with drawn(self.figure) as drawing:
            return drawing


__all__ = ["Picture"]
