"""How quick a page is in headless Chromium: 4,032 messages of an all-to-all, and 400 stops. Printed, not judged: the
times are of the machine, and of what else it does. docs/lessons.md names the command."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from simcodesign.lessons.page import build_lesson
from tests.lessons.test_browser import CHROMIUM, DESKTOP, Visit, browser

__all__ = ["browser"]  # the fixture

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this system: apt-get install chromium"),
]

WORKLOAD = """\
simcodesign: 1
name: everybody
parameters: {m: {default: 65536, unit: B}}
program: [{all_to_all: {bytes: m, algorithm: linear}}]
"""
LESSON = f"""\
simcodesign: 1
name: speed
title: Speed
sliders:
  size: {{about: size, dimension: size, sets: m, stops: [{", ".join(f"{k} KiB" for k in range(1, 401))}], start: 64 KiB}}
  startup: {{about: startup, dimension: time, sets: network.startup, stops: [0.1 us, 1 us, 10 us], start: 0.1 us}}
runs:
  main:
    workload: everybody.yaml
    machine: mesh-256
    set: {{network.distance: none, nodes: 64, network.topology.shape: [8, 8]}}
    parameters: {{P: 64}}
    sliders: [size, startup]
    effects: [hops, links]
    simulate: {{size: [1 KiB, 64 KiB, 400 KiB], startup: [0.1 us]}}
    traces: [{{size: 64 KiB}}]
steps:
  - name: One
    text: one.md
    views:
      - {{kind: curve, run: main, over: size}}
      - {{kind: sliders}}
      - [{{kind: network, run: main}}, {{kind: gantt, run: main}}]
      - {{kind: clock, run: main}}
"""
#: Milliseconds of the store's ``flush``, which draws all figures in sight; the median of 60.
SLIDER = """() => { const { store } = document.querySelector("lesson-curve"), took = [];
  for (let k = 0; k < 60; k++) { store.setStop("startup", k % 3); store.setStop("size", (37 * k) % 400);
    const begin = performance.now(); store.flush(); took.push(performance.now() - begin); }
  return took.sort((one, other) => one - other)[30]; }"""
#: Frames a second, milliseconds of JavaScript for one, and the fewest messages that move in any, over two seconds.
PLAY = """async () => { const one = document.querySelector("lesson-network"), { store, end } = one, moving = [], took = [];
  const count = (time) => one.trace.messages.filter((message) => message.begin <= time && time < message.arrival).length;
  const times = Array.from({ length: 100 }, (_, k) => (k * end) / 100);
  store.set({ time: times.reduce((best, time) => (count(time) > count(best) ? time : best)), speed: 0.25 });
  one.clock.toggle(end);
  const draw = store.flush.bind(store);
  store.flush = () => { const begin = performance.now(); draw(); took.push(performance.now() - begin); };
  const begin = performance.now();
  while (performance.now() - begin < 2000) { await new Promise(requestAnimationFrame); moving.push(count(store.state.time)); }
  one.clock.toggle(); return [moving.length / 2, took.sort((one, other) => one - other)[took.length >> 1], Math.min(...moving)]; }"""


def test_how_quick_a_page_is(browser: Any, tmp_path: Path) -> None:
    for name, text in (("lesson.yaml", LESSON), ("everybody.yaml", WORKLOAD), ("one.md", "Text.\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    build_lesson(tmp_path, tmp_path / "page.html", 2)
    began = time.perf_counter()
    visit = Visit(browser, tmp_path / "page.html", DESKTOP)
    load_s = time.perf_counter() - began
    visit.see("lesson-curve")
    slider_ms = visit.page.evaluate(SLIDER)
    visit.see("lesson-clock")
    frames, clock_ms, moving = visit.page.evaluate(PLAY)
    visit.close()
    print(f"\nload {load_s:.2f} s; slider with 400 points {slider_ms:.1f} ms; {moving} messages or more: ", end="")
    print(f"{frames:.0f} frames/s, {clock_ms:.1f} ms of JavaScript each")
    assert visit.errors == []
    assert moving > 1900
