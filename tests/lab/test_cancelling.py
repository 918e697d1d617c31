"""A page that goes away takes its simulations with it: the processes that work for it are ended, others start anew."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from simcodesign.core.errors import InputError
from simcodesign.lab import work
from simcodesign.lab.app import Laboratory
from simcodesign.lab.asked import MOST_SEEDS
from simcodesign.lab.work import Workers
from tests.lab.client import MACHINE, TOKEN, WORKLOAD, Client, asked

#: On a busy machine; a process that is not ended stays for good.
PATIENCE_S = 20.0
#: Some 0.9 million operations: with many seeds it takes many seconds, less than are allowed.
SLOW = WORKLOAD.replace("repeat: 1 - order", "repeat: 7000")


def cpu_s(pid: int) -> float:
    """What a process has worked (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.thorough
def test_a_stream_that_is_left_ends_its_processes() -> None:
    workers = Workers(1)
    client = Client(Laboratory(workers, 1))

    async def leave_while_it_runs() -> tuple[int, float]:
        fine = await client.ask("POST", f"/{TOKEN}/describe", body=_json(asked()))
        assert fine.status == 200  # the process is there, and warm
        (pid,) = workers.executor.processes
        leaves = asyncio.Event()
        noisy = {"machine": f"{MACHINE}\nnoise: {{network: 2 %}}\n", "effects": ["noise"], "seeds": MOST_SEEDS}
        body = _json(asked(workload=SLOW, axis="m", values=[1.0, 2.0, 3.0], **noisy))
        stream = asyncio.create_task(client.ask("POST", f"/{TOKEN}/simulate", body=body, leaves=leaves))
        began_s = cpu_s(pid)
        while cpu_s(pid) < began_s + 1.5:  # a point that has not begun takes no process with it
            await asyncio.sleep(0.1)
            assert not stream.done()
        assert is_there(pid)
        left = time.monotonic()
        leaves.set()
        await stream
        while is_there(pid):
            await asyncio.sleep(0.02)
            assert time.monotonic() - left < PATIENCE_S
        again = await client.ask("POST", f"/{TOKEN}/simulate", body=_json(asked()))
        assert [name for name, _ in again.events] == [
            "point",
            "done",
        ]  # by another process, and nothing waits before it
        return pid, time.monotonic() - left

    pid, _ = asyncio.run(leave_while_it_runs())
    assert pid not in workers.executor.processes
    workers.close()
    assert workers.executor.processes == ()


@pytest.mark.thorough
def test_points_that_are_nearly_done_keep_their_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "GRACE_S", 20.0)
    workers = Workers(1)
    client = Client(Laboratory(workers, 1))

    async def leave_after_the_first_point() -> None:
        leaves, seen = asyncio.Event(), asyncio.Event()
        body = _json(asked(axis="m", values=[1.0 * k for k in range(1, 40)]))
        stream = asyncio.create_task(client.ask("POST", f"/{TOKEN}/simulate", body=body, leaves=leaves, seen=seen))
        await seen.wait()
        before = workers.executor.processes
        leaves.set()
        reply = await stream
        assert len(reply.events) < 39  # what had not begun never does
        again = await client.ask("POST", f"/{TOKEN}/simulate", body=_json(asked()))
        assert again.events[-1][0] == "done"
        assert workers.executor.processes == before

    asyncio.run(leave_after_the_first_point())
    workers.close()


@pytest.mark.thorough
def test_what_waits_for_a_process_is_not_too_slow() -> None:
    """A look of a moment behind a second of work, where looks may take half a second; and one that takes longer."""
    workers = Workers(1)

    async def look() -> None:
        workers.executor.submit(time.sleep, 1.0)
        assert await workers.answer(abs, -1, limit_s=0.5) == 1  # type: ignore[arg-type, comparison-overlap]
        with pytest.raises(InputError, match="takes longer"):
            await workers.answer(time.sleep, 20.0, limit_s=0.5)  # type: ignore[arg-type]

    asyncio.run(look())
    workers.close()


def _json(content: object) -> bytes:
    import json

    return json.dumps(content).encode()
