"""Who may ask for what: hosts, origins, tokens, sizes and rates, before anything is looked at.

A page of another site can send requests to a server on this machine, and by a name that it controls
even read the answers. So the Host must be one of ours, an Origin must be that of our own page,
whatever is under ``/api`` needs the token that only our page knows, and what changes something
needs it in a header, which no foreign page can set.
"""

from __future__ import annotations

import hmac
import json
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...errors import InvalidInputError

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
READING = ("GET", "HEAD")
# Bytes of a body; episodes and policies of an unknown learner may be larger.
BODY, UPLOAD = 64 << 10, 4 << 20
# Requests a second that one client may send for long, and at once; a file of ours counts less, as a
# room full of participants may come from one address, and each page loads a handful.
RATE, BURST, STATIC = 60.0, 240.0, 0.05
CLIENTS = 4096
# Requests of one client that are answered at the same time: events that go on are among them.
AT_ONCE = 32


@dataclass
class Guard:
    """What a server lets in.

    Attributes
    ----------
    hosts : what a Host header may say
    token : what pages of ours know
    open : whether a page may be asked for without the token, as on loopback
    own : whether a path has a secret of its own, such as a participant's link; then it needs no
        other, and its rate is its own
    """

    hosts: frozenset[str]
    token: str
    open: bool
    own: Callable[[str], str | None] = lambda path: None
    _tokens: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    _open: Counter[str] = field(default_factory=Counter)

    def refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        """Why a request is refused, with a status; None if it is not."""
        method, path = scope["method"], scope["path"]
        if headers.get("host", "") not in self.hosts:
            return 421, "this server does not answer to that Host"
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] not in self.hosts:
            return 403, "requests of other pages are refused"
        followed = method in READING and headers.get("sec-fetch-mode") == "navigate"  # a link
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none") and not followed:
            return 403, "requests of other pages are refused"
        if ".." in path or "\\" in path or "\0" in path:
            return 400, "no path has .. in it"
        secret, client = self.own(path), self.client(scope)
        if not self._in_time(client, STATIC if path.startswith("/static/") else 1.0):
            return 429, "too many requests"
        if self._open[client] >= AT_ONCE:
            return 429, "too many requests at once: close a page first"
        if method in READING:
            free = secret is not None or path.startswith("/static/")
            page = not path.startswith("/api/")
            if free or (page and self.open) or self._knows(scope, headers):
                return None
            return 401, "the link with the token is needed"
        if secret is None and not self._same(headers.get("x-token", "")):
            return 401, "the token is missing"
        if secret is not None and headers.get("x-token") is None:
            return 401, "the token is missing"
        return None

    def client(self, scope: Scope) -> str:
        """Who asks: a participant by the link, others by their address."""
        return self.own(scope["path"]) or str((scope.get("client") or ["?"])[0])

    @contextmanager
    def answering(self, scope: Scope) -> Iterator[None]:
        """While a request is answered, it counts."""
        client = self.client(scope)
        self._open[client] += 1
        try:
            yield
        finally:
            self._open[client] -= 1
            if not self._open[client]:
                del self._open[client]

    def limit(self, path: str) -> int:
        """How many bytes a body may have."""
        return UPLOAD if path.startswith("/api/upload/") else BODY

    def _knows(self, scope: Scope, headers: Headers) -> bool:
        if self._same(headers.get("x-token", "")) or self._same(_known_cookie(headers)):
            return True
        return self._same(*parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[:1])

    def _same(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self.token.encode())

    def _in_time(self, client: str, count: float) -> bool:
        """Whether a client has a request left: they come back at a rate, up to so many at once."""
        now = time.monotonic()
        left, before = self._tokens.pop(client, (BURST, now))
        left = min(left + (now - before) * RATE, BURST)
        self._tokens[client] = (max(left - count, 0.0), now)
        while len(self._tokens) > CLIENTS:
            self._tokens.popitem(last=False)
        return left >= count


class Guarded:
    """An application behind a guard.

    Parameters
    ----------
    app : the application
    guard : Guard
    """

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self.app, self.guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers, limit = Headers(scope=scope), self.guard.limit(scope["path"])
        refused = self.guard.refusal(scope, headers)
        length = headers.get("content-length", "0")
        if refused is None and (not length.isdecimal() or int(length) > limit):
            refused = 413, f"a body has at most {limit} bytes"

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                for name, value in HEADERS.items():
                    MutableHeaders(scope=message).setdefault(name, value)
            await send(message)

        if refused is not None:
            await refuse(*refused)(scope, receive, dressed)
            return
        count = 0

        async def counted() -> Message:
            nonlocal count
            message = await receive()
            count += len(message.get("body", b""))
            if count > limit:
                raise HTTPException(413, f"a body has at most {limit} bytes")
            return message

        with self.guard.answering(scope):
            await self.app(scope, counted, dressed)


def refuse(status: int, reason: str) -> Response:
    """An answer that says why not; what is no text in it is escaped."""
    return Response(json.dumps({"error": reason}), status, media_type="application/json")


def read_json(text: str | bytes) -> dict[str, Any]:
    """A JSON object that somebody sent, in which texts are texts.

    >>> read_json('{"at": 3}')
    {'at': 3}
    """
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()  # halves of characters are no text
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InvalidInputError("expected a JSON object")
    return value


def hosts_of(host: str, port: int) -> frozenset[str]:
    """What a Host header says of a server at this address."""
    names = {host, "127.0.0.1", "localhost", "[::1]"} if is_loopback(host) else {host}
    return frozenset({f"{name}:{port}" for name in names} | (names if port == 80 else set()))


def is_loopback(host: str) -> bool:
    """Whether an address is of this machine alone."""
    return host in ("127.0.0.1", "localhost", "::1")


def cookie_of(host: str) -> str:
    """The name of the cookie of a server that a Host header names.

    Browsers send cookies to all ports of a host: two desks need two names.

    >>> cookie_of("127.0.0.1:8765"), cookie_of("localhost")
    ('teachirl-8765', 'teachirl-80')
    """
    port = host.rpartition(":")[2]
    return f"teachirl-{port if port.isdecimal() else 80}"


def _known_cookie(headers: Headers) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(cookie_of(headers.get("host", "")))
    except CookieError:
        return ""
    return "" if found is None else found.value


__all__ = ["Guard", "Guarded", "cookie_of", "hosts_of", "is_loopback", "read_json", "refuse"]
