"""The pages and what they load: files of this package, read once."""

from __future__ import annotations

import html
from functools import cache
from importlib import resources

from fastapi.responses import HTMLResponse, Response

from .security import refuse

KINDS = {"js": "text/javascript", "css": "text/css"}


def page(name: str, token: str, **texts: str) -> HTMLResponse:
    """A page, with the token that its requests carry, and texts where it has their names."""
    text = _file(name)
    for key, value in {"token": token, **texts}.items():
        text = text.replace(f"{{{{{key}}}}}", html.escape(value))
    return HTMLResponse(text)


def static(name: str) -> Response:
    """A script or a style of ours."""
    there = {each.name for each in resources.files(__package__).joinpath("page").iterdir()}
    kind = KINDS.get(name.rpartition(".")[2])
    if name not in there or kind is None:
        return refuse(404, "there is no such file")
    return Response(_file(name), media_type=kind)


@cache
def _file(name: str) -> str:
    return resources.files(__package__).joinpath("page", name).read_text(encoding="utf-8")


__all__ = ["page", "static"]
