"""A browser's side of the laboratory: requests to the application, without a network."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from simcodesign.lab.app import Laboratory, application
from simcodesign.lab.guard import Guard
from simcodesign.lab.starts import shipped_text

TOKEN, PORT = "a-token", 8080
MACHINE, WORKLOAD = shipped_text("machine", "mesh-256") or "", shipped_text("workload", "broadcast") or ""


@dataclass
class Reply:
    """What came back."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[tuple[str, Any]]:
        blocks = [block.split("\n") for block in self.body.decode().split("\n\n") if block]
        return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


@dataclass
class Client:
    """Asks the application of a laboratory as a browser does."""

    laboratory: Laboratory
    app: Guard = field(init=False)

    def __post_init__(self) -> None:
        self.app = application(self.laboratory, TOKEN, PORT)

    def get(self, path: str, **options: Any) -> Reply:
        return asyncio.run(self.ask("GET", path, **options))

    def post(self, path: str, content: object, **options: Any) -> Reply:
        return asyncio.run(self.ask("POST", path, body=json.dumps(content).encode(), **options))

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: dict[str, str] | None = None,
        leaves: asyncio.Event | None = None,
        query: str = "",
        seen: asyncio.Event | None = None,
    ) -> Reply:
        """One request; with ``leaves`` it goes away when that is set, and ``seen`` is set with the first bytes."""
        given = {"host": f"127.0.0.1:{PORT}", "content-type": "application/json", "content-length": str(len(body))}
        given |= headers or {}
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "scheme": "http",
            "http_version": "1.1",
            "headers": [(name.encode(), value.encode()) for name, value in given.items() if value],
            "asgi": {"version": "3.0", "spec_version": "2.3"},
        }
        messages = [{"type": "http.request", "body": body, "more_body": False}]
        reply = Reply()

        async def receive() -> Any:
            if messages:
                return messages.pop()
            await (leaves or asyncio.Event()).wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                reply.status = message["status"]
                reply.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            else:
                reply.body += message.get("body", b"")
                if seen is not None and reply.body:
                    seen.set()

        await self.app(scope, receive, send)
        return reply


def asked(**changes: Any) -> dict[str, Any]:
    """A broadcast on 64 nodes of a mesh, with changes."""
    return {"machine": MACHINE, "workload": WORKLOAD, "parameters": {"P": 64}, **changes}
