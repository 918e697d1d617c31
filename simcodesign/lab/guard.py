"""Who may ask: requests to this address with the token in their path, and no others."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

ADDRESS = "127.0.0.1"
#: The most bytes of a request: two descriptions and values.
MOST_BYTES = 512 * 1024
HEADERS = [
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]


def new_token() -> str:
    """Return a secret: 32 random bytes."""
    return secrets.token_urlsafe(32)


class Guard:
    """Application of ASGI that lets through only requests with the right host, origin, token and size.

    The host of a page of another name that leads here differs; a foreign origin is refused, and too many bytes are.
    Everything else gets a status and a few words.
    """

    def __init__(self, app: App, token: str, port: int) -> None:
        self.app, self.token = app, token
        self.hosts = {f"{name}:{port}" for name in (ADDRESS, "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        refusal = (403, "no websockets") if scope["type"] != "http" else self.refusal(scope)
        if refusal is not None:
            await _refuse(send, *refusal)
            return

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *HEADERS]
            await send(message)

        await self.app({**scope, "path": scope["path"][len(self.token) + 1 :]}, _limited(receive), send_with_headers)

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Status and words, if the request is none of ours."""
        headers = [(name.lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value for name, value in headers if name == b"host"]
        origins = [value for name, value in headers if name == b"origin"]
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return 421, "this server answers for its own address alone"
        if any(origin not in {f"http://{host}" for host in self.hosts} for origin in origins):
            return 403, "a request from another page"
        given = scope["path"].removeprefix("/").split("/")[0]
        if not secrets.compare_digest(given.encode(), self.token.encode()) or "/" not in scope["path"][1:]:
            return 404, "the address has a token, which simcodesign lab prints"
        sizes = [value for name, value in headers if name == b"content-length"]
        if any(not size.isdigit() or int(size) > MOST_BYTES for size in sizes):
            return 413, f"a request has {MOST_BYTES} bytes at most"
        if scope["method"] == "POST" and (b"content-type", "application/json") not in headers:
            return 415, "a request is JSON"
        return None


def _limited(receive: Receive) -> Receive:
    """``receive`` that ends a request longer than allowed, whatever length it claims."""
    seen = 0

    async def limited() -> MutableMapping[str, Any]:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        return {"type": "http.disconnect"} if seen > MOST_BYTES else message

    return limited


async def _refuse(send: Send, status: int, words: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), *HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{words}\n".encode()})
