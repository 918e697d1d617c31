"""Who gets an answer: the token, the host and the origin of every request are looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from simcodesign.lab.app import Laboratory
from simcodesign.lab.guard import MOST_BYTES, new_token
from simcodesign.lab.work import Workers
from tests.lab.client import PORT, TOKEN, Client, asked


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    workers = Workers(1)  # no process starts, since nothing is asked of it
    yield Client(Laboratory(workers, 1))
    assert workers.executor.processes == ()
    workers.close()


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        (f"/{TOKEN}/", {}, 200),
        (f"/{TOKEN}/", {"host": f"localhost:{PORT}"}, 200),
        (f"/{TOKEN}/", {"host": f"localhost:{PORT}", "origin": f"http://127.0.0.1:{PORT}"}, 200),
        (f"/{TOKEN}/", {"host": "127.0.0.1"}, 421),
        (f"/{TOKEN}/", {"host": f"evil.example:{PORT}"}, 421),  # its name may lead to 127.0.0.1
        (f"/{TOKEN}/", {"host": f"127.0.0.1:{PORT + 1}"}, 421),
        (f"/{TOKEN}/", {"host": ""}, 421),
        (f"/{TOKEN}/", {"origin": "http://evil.example"}, 403),
        (f"/{TOKEN}/", {"origin": "null"}, 403),
        ("/", {}, 404),
        ("//", {}, 404),
        (f"/{TOKEN}", {}, 404),
        (f"/{TOKEN}x/", {}, 404),
        (f"/{TOKEN[:-1]}/", {}, 404),
        (f"//{TOKEN}/", {}, 404),
        (f"/x/../{TOKEN}/", {}, 404),
        ("/\u00e9/", {}, 404),
    ],
)
def test_who_is_let_in(path: str, headers: dict[str, str], status: int, client: Client) -> None:
    reply = client.get(path, headers=headers)
    assert reply.status == status
    assert reply.headers["x-frame-options"] == "DENY"
    assert TOKEN.encode() not in reply.body


def test_a_form_of_another_page_cannot_post(client: Client) -> None:
    content = asked()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert client.post(f"/{TOKEN}/forecast", content, headers={"content-type": kind}).status == 415


def test_a_request_that_is_too_long(client: Client) -> None:
    body = b" " * (MOST_BYTES + 1)
    assert asyncio.run(client.ask("POST", f"/{TOKEN}/forecast", body=body)).status == 413
    for said in ("10", "", "-1", "many"):
        reply = asyncio.run(client.ask("POST", f"/{TOKEN}/forecast", body=body, headers={"content-length": said}))
        assert reply.status in (413, 422, 500)
    assert client.post(f"/{TOKEN}/forecast", "not a request").status == 422
    assert asyncio.run(client.ask("POST", f"/{TOKEN}/forecast", body=b"\xff{")).status == 422
    assert asyncio.run(client.ask("POST", f"/{TOKEN}/forecast", body=b"[" * 100_000)).status == 422


def test_websockets_and_other_methods(client: Client) -> None:
    assert asyncio.run(client.ask("DELETE", f"/{TOKEN}/forecast")).status == 405
    assert client.get(f"/{TOKEN}/forecast").status == 405


def test_tokens_are_long_and_differ() -> None:
    assert len({new_token() for _ in range(100)}) == 100
    assert len(new_token()) >= 43  # 32 bytes in base64
