"""The laboratory as an application of ASGI: pages, forecasts, and simulated points as a stream of events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from simcodesign.core.errors import InputError
from simcodesign.lab.answers import Answer, described, error_rows, forecast_over
from simcodesign.lab.asked import MOST_POINTS, Asked
from simcodesign.lab.guard import Guard
from simcodesign.lab.pages import LAB_POLICY, free_page, lesson_page
from simcodesign.lab.starts import shipped_text, start_at, stops_asked
from simcodesign.lab.work import Stream, Workers, event, too_long
from simcodesign.lessons.folders import available, lesson_folder
from simcodesign.lessons.yaml.lesson import read_lesson

#: Seconds that a forecast may take.
FORECAST_S = 5.0
#: Pairs of texts that have been looked at in another process, and are forecast in this one from then on.
MOST_LOOKED_AT = 64
OnPage = Callable[[], str]


@dataclass(eq=False)
class Laboratory:
    """State of one server: its processes, the lesson that it was started with, and what it has seen."""

    workers: Workers
    processes: int
    lesson: str | Path | None = None
    looked_at: dict[tuple[str, str], None] = field(default_factory=dict)

    async def describe(self, asked: Asked) -> Answer:
        """Names, parameters and effects; in another process, since nothing is known of these texts yet."""
        answer = await self.workers.answer(described, asked)
        self.looked_at[asked.machine, asked.workload] = None
        while len(self.looked_at) > MOST_LOOKED_AT:
            del self.looked_at[next(iter(self.looked_at))]
        return answer

    async def forecast(self, asked: Asked) -> Answer:
        """Forecasts at all values: in this process, in milliseconds, once its texts have been looked at."""
        if (asked.machine, asked.workload) not in self.looked_at:
            await self.describe(replace(asked, axis=None, values=()))
        try:
            return await asyncio.wait_for(run_in_threadpool(forecast_over, asked), FORECAST_S)
        except TimeoutError:
            raise too_long(FORECAST_S) from None


async def _events(stream: Stream) -> AsyncIterator[str]:
    """Yield a stream as server-sent events."""
    async for name, content in stream:
        yield event(name, content)


def application(laboratory: Laboratory, token: str, port: int) -> Guard:
    """Return the server's application, behind its guard."""
    routes = [
        Route("/", partial(_page, free_page)),
        Route("/lesson/{name}", partial(_lesson, laboratory)),
        Route("/lesson/{name}/start/{run}", partial(_start, laboratory)),
        Route("/shipped/{kind}/{name}", _shipped),
        Route("/describe", partial(_answer, laboratory.describe), methods=["POST"]),
        Route("/forecast", partial(_answer, laboratory.forecast), methods=["POST"]),
        Route("/simulate", partial(_stream, laboratory.workers.points, MOST_POINTS), methods=["POST"]),
        Route("/ladder", partial(_stream, laboratory.workers.rungs, 1), methods=["POST"]),
    ]
    handlers: dict[Any, Any] = {404: _unknown, Exception: _broken}
    return Guard(Starlette(routes=routes, exception_handlers=handlers), token, port)


async def _page(make: OnPage, request: Request) -> Response:
    html = await run_in_threadpool(make)
    return HTMLResponse(html, headers={"content-security-policy": LAB_POLICY})


def _folder(laboratory: Laboratory, request: Request) -> Path | None:
    """Return the folder of a bundled lesson, or of the one that the server was started with; None for any other."""
    name, started = request.path_params["name"], laboratory.lesson
    if isinstance(started, Path) and name == started.resolve().name:
        return lesson_folder(started)
    return lesson_folder(name) if name in available() else None


async def _start(laboratory: Laboratory, request: Request) -> Response:
    """Return a run of a lesson as texts and values for the panel, at the stops that the request names."""
    folder, name = _folder(laboratory, request), request.path_params["run"]
    if folder is None:
        return _unknown(request, None)
    try:
        run = read_lesson(folder).runs.get(name)
        if run is None:
            return _unknown(request, None)
        return JSONResponse(start_at(run, stops_asked(run, request.query_params)))
    except InputError as error:
        return JSONResponse({"errors": error_rows(error)}, 422)


async def _lesson(laboratory: Laboratory, request: Request) -> Response:
    """Return a bundled lesson, or the lesson that the server was started with."""
    folder = _folder(laboratory, request)
    if folder is None:
        return _unknown(request, None)
    try:
        return await _page(partial(lesson_page, folder, laboratory.processes), request)
    except InputError as error:
        return PlainTextResponse(f"{error}\n", 422)


async def _shipped(request: Request) -> Response:
    text = shipped_text(request.path_params["kind"], request.path_params["name"])
    return _unknown(request, None) if text is None else PlainTextResponse(text)


async def _asked(request: Request, most_values: int) -> Asked:
    """Return the content of a request. InputError for what is no JSON."""
    try:
        content = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise InputError("not a request", allowed="JSON") from None
    return Asked.of(content, most_values)


async def _answer(answer: Callable[[Asked], Any], request: Request) -> Response:
    """Return the requested answer, or the errors of the request."""
    try:
        return JSONResponse(await answer(await _asked(request, 400)))
    except Exception as error:
        return JSONResponse({"errors": error_rows(error)}, 422)


async def _stream(stream: Callable[[Asked], Stream], most_values: int, request: Request) -> Response:
    """Return a stream of events, whose simulations end with it."""
    try:
        asked = await _asked(request, most_values)
    except (InputError, ClientDisconnect) as error:
        return JSONResponse({"errors": error_rows(error)}, 422)
    return StreamingResponse(_events(stream(asked)), media_type="text/event-stream")


def _unknown(request: Request, error: Exception | None) -> Response:
    return PlainTextResponse("there is no such page\n", 404)


def _broken(request: Request, error: Exception) -> Response:
    return JSONResponse({"errors": error_rows(error)}, 500)
