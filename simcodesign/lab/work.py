"""Work in other processes for a page that may go away: it has a limit of time, and is stopped when no page waits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future

from simcodesign.core.errors import InputError, Place
from simcodesign.core.processes.process_pool import ProcessExecutor, WorkerDied
from simcodesign.lab.answers import Answer, error_rows, rung_at, simulated_at
from simcodesign.lab.asked import PARAMETERS, Asked

#: Seconds that one simulated point, and the first look at a description, may take.
POINT_S, LOOK_S = 30.0, 15.0
#: Seconds after which a point without a waiting page is stopped: most are done until then, and their process stays.
GRACE_S = 0.3
_LOOK_AGAIN_S = 0.05
#: Names and contents of events.
Stream = AsyncIterator[tuple[str, Answer]]


class Workers:
    """Processes for one page, on as many CPUs as are given."""

    def __init__(self, processes: int) -> None:
        self.executor = ProcessExecutor(processes)
        self._leaving: set[asyncio.Task[None]] = set()

    async def answer(self, function: Callable[..., Answer], *arguments: object, limit_s: float = LOOK_S) -> Answer:
        """Return what ``function`` gives in another process.

        InputError for what it raises, and beyond ``limit_s`` from its beginning: what waits for a process is not too
        slow.
        """
        future: Future[Answer] = self.executor.submit(function, *arguments)
        waits, clock = asyncio.wrap_future(future), asyncio.get_running_loop().time
        end_s = None
        try:
            while not (await asyncio.wait([waits], timeout=_LOOK_AGAIN_S))[0]:
                if end_s is None and future.running():
                    end_s = clock() + limit_s
                if end_s is not None and clock() > end_s:
                    raise too_long(limit_s)
            return waits.result()
        except WorkerDied as error:
            raise InputError(f"this cannot be computed: {error}") from None
        finally:
            self.executor.stop(future)

    def points(self, asked: Asked, limit_s: float = POINT_S) -> Stream:
        """Return the simulated points of all values: ``("point", ...)``, and all other messages of ``_stream``."""
        return self._stream(simulated_at, asked, "point", max(len(asked.values), 1), limit_s)

    def rungs(self, asked: Asked, limit_s: float = POINT_S) -> Stream:
        """Return the rungs at the first value: ``("rung", ...)``, and all other messages of ``_stream``."""
        return self._stream(rung_at, asked, "rung", len(asked.effects) + 1, limit_s)

    async def _stream(
        self, function: Callable[[Asked, int], Answer], asked: Asked, kind: str, count: int, limit_s: float
    ) -> Stream:
        """Yield what ``function`` returns at each place as it is done: ``(kind, ...)``.

        A failure is ``("failed", ...)`` with its place; the last item is ``("done", ...)``. All work ends with the
        iterator.
        """
        futures = [self.executor.submit(function, asked, place) for place in range(count)]
        waits = {asyncio.wrap_future(future): place for place, future in enumerate(futures)}
        began_s: dict[int, float] = {}
        try:
            while waits:
                done, _ = await asyncio.wait(waits, timeout=_LOOK_AGAIN_S, return_when=asyncio.FIRST_COMPLETED)
                for one in done:
                    yield _outcome(one, kind, waits.pop(one), limit_s)
                now_s = asyncio.get_running_loop().time()
                for place in waits.values():
                    if futures[place].running() and now_s - began_s.setdefault(place, now_s) > limit_s:
                        self.executor.stop(futures[place])
            yield "done", {f"{kind}s": count}
        finally:
            self._leave([futures[place] for place in waits.values()])
            for one in waits:
                one.cancel()

    def _leave(self, futures: list[Future[Answer]]) -> None:
        """Stop work without a waiting page: tasks that have not begun now, the rest after a moment."""
        left = [future for future in futures if not future.cancel()]
        if left:
            task = asyncio.get_running_loop().create_task(self._stop_later(left))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    async def _stop_later(self, futures: list[Future[Answer]]) -> None:
        await asyncio.sleep(GRACE_S)
        for future in futures:
            self.executor.stop(future)

    def close(self) -> None:
        """End all processes."""
        self.executor.shutdown(cancel_futures=True)


def too_long(limit_s: float) -> InputError:
    """Return the error of what takes longer than it may."""
    return InputError(f"takes longer than {limit_s:g} s", Place(PARAMETERS), allowed="fewer ranks or repetitions")


def event(name: str, content: Answer) -> str:
    """Return a server-sent event."""
    return f"event: {name}\ndata: {json.dumps(content, allow_nan=False)}\n\n"


def _outcome(done: asyncio.Future[Answer], kind: str, place: int, limit_s: float) -> tuple[str, Answer]:
    error = done.exception()
    if error is None:
        return kind, done.result()
    shown = too_long(limit_s) if isinstance(error, WorkerDied) else error
    rows = error_rows(shown) if isinstance(shown, Exception) else []
    return "failed", {"place": place, "errors": rows}
