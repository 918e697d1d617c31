"""The bundled bank of questions: every answer is computed again, from the formulas of the textbooks with plain numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from math import comb, exp, log2, sqrt

import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.lessons.compute import numbers_of
from simcodesign.lessons.courses.bank import read_bank
from simcodesign.lessons.courses.moodle import quiz_of
from simcodesign.lessons.folders import lesson_folder
from simcodesign.lessons.grading.questions import question_told
from simcodesign.lessons.grading.seeding import combinations_of
from simcodesign.lessons.grading.selection import only
from simcodesign.lessons.values import Values
from simcodesign.lessons.yaml.lesson import read_lesson
from tests import ROOT

LESSON = read_lesson(lesson_folder("bank"))
T_S, T_W = 5.0, 1e-3  # us, us/B
LEVELS = {1, 2, 3}
#: s of work, of an interval, of a checkpoint, of a restart
WORK, INTERVAL, WRITE, RESTART = 500 * 3600, 7200, 300, 600


class Plain:
    """Texts of questions are not needed here."""

    def moment(self, text: str, place: object) -> None:
        return None

    def text(self, text: str, form: str, place: object) -> str:
        return text


def rounds(nodes: int) -> int:
    return nodes.bit_length() - 1


def message(size: float) -> float:
    return T_S + size * T_W


def ring(nodes: int, size: float) -> float:
    return 2 * (nodes - 1) * message(size / nodes)


def doubling(nodes: int, size: float) -> float:
    return rounds(nodes) * message(size)


def parts(nodes: int, size: float) -> float:
    """A scatter in halves, then an allgather around a ring."""
    return sum(message(size / 2**k) for k in range(1, rounds(nodes) + 1)) + (nodes - 1) * message(size / nodes)


def crossing(nodes: int) -> float:
    """Between a size at which recursive doubling is faster and one at which the ring is, by halving."""
    low, high = 1.0, 1e9
    while high / low > 1 + 1e-9:
        middle = sqrt(low * high)
        low, high = (middle, high) if doubling(nodes, middle) < ring(nodes, middle) else (low, middle)
    return low


def bruck(nodes: int, size: float) -> float:
    """In round k every block whose number has the bit k is sent on."""
    return sum(message(size * sum(block >> k & 1 for block in range(nodes))) for k in range(rounds(nodes)))


def ring_distance(nodes: int) -> float:
    return sum(min(k, nodes - k) for k in range(nodes)) / nodes


def mean_present(rate: float, service: float, servers: int) -> float:
    """Mean number in M/M/c, by the balance equations of its states."""
    weights = [1.0]
    for k in range(1, 2000):
        weights.append(weights[-1] * rate * service / min(k, servers))
    return sum(k * one for k, one in enumerate(weights)) / sum(weights)


def cyclic_misses(lines: int, capacity: int) -> int:
    """Ten passes through an LRU cache, access by access."""
    kept: dict[int, None] = {}
    missed = 0
    for line in list(range(lines)) * 10:
        missed += line not in kept
        kept.pop(line, None)
        kept[line] = None
        if len(kept) > capacity:
            del kept[next(iter(kept))]
    return missed


def product_misses(rows: int, capacity: int) -> int:
    """The same for three loops: C is accessed once for each element, after its sum."""
    kept: dict[tuple[str, int, int], None] = {}
    missed = 0
    for i in range(rows):
        for j in range(rows):
            for access in [
                *((name, *at) for k in range(rows) for name, at in (("a", (i, k)), ("b", (k, j)))),
                ("c", i, j),
            ]:
                missed += access not in kept
                kept.pop(access, None)
                kept[access] = None
                if len(kept) > capacity:
                    del kept[next(iter(kept))]
    return missed


def mean_failures(nodes: int) -> float:
    return 43800 * 3600 / nodes


def daly(nodes: int) -> float:
    m = mean_failures(nodes)
    return m * exp(RESTART / m) * (exp((INTERVAL + WRITE) / m) - 1) * WORK / INTERVAL / 3600


def harmonic(nodes: int) -> float:
    return sum(1 / k for k in range(1, nodes + 1))


def kernel(size: float) -> float:
    return 5 + max(4 * 1024 * size / 10e6, 1024 * size / 1e6)


def copy(size: float) -> float:
    return 10 + 1024 * size / 25e3


def stored(nodes: int, size: float) -> float:
    """A message that every node on its way stores, link by link."""
    return T_S + sum(0.1 + size * T_W for _ in range(2 * (round(sqrt(nodes)) - 1)))


def waiting_by_residual_life(load: float, squared_variation: float) -> float:
    """The rest of the read in service and the reads that wait: W = load * residual + load * W, in ms."""
    mean_square = 10**2 * (1 + squared_variation)
    return load * (mean_square / (2 * 10)) / (1 - load)


#: By question, its answer in its unit: P nodes, m bytes, a load.
ANSWERS: dict[str, Callable[[int, float, float], float]] = {
    "message": lambda P, m, load: message(m),
    "reached": lambda P, m, load: 100 * (m / 64 / message(m / 64)) * T_W,
    "split": lambda P, m, load: 64 * message(m / 64) / message(m),
    "loggp": lambda P, m, load: 1 + 3 + 1 + (m - 1) * 1e-3,
    "gap": lambda P, m, load: (P - 1) * 2 + 1 + 3 + 1,
    "tree": lambda P, m, load: rounds(P) * message(m),
    "sent": lambda P, m, load: 2 * P - 2,
    "ring": lambda P, m, load: ring(P, m) / 1e3,
    "parts": lambda P, m, load: parts(P, m) / 1e3,
    "faster": lambda P, m, load: rounds(P) * message(m) / parts(P, m),
    "crossing": lambda P, m, load: crossing(P),
    "bruck": lambda P, m, load: (P - 1) * message(64) / bruck(P, 64),
    "middle": lambda P, m, load: sqrt(P),
    "diameter": lambda P, m, load: 2 * sqrt(P) - 2,
    "torus": lambda P, m, load: 2 * ring_distance(round(sqrt(P))),
    "corner": lambda P, m, load: message(m / 64) + 0.1 * 2 * (sqrt(P) - 1),
    "bisection": lambda P, m, load: P * P / 4 / sqrt(P) / (P - 1),
    "nearest": lambda P, m, load: 0.75 * sqrt(P) / log2(sqrt(P)),
    "response": lambda P, m, load: mean_present(load * 100, 0.01, 1) / (load * 100) * 1e3,
    "present": lambda P, m, load: mean_present(load * 100, 0.01, 1),
    "equal": lambda P, m, load: 10 + 10 * load / (2 * (1 - load)),  # Pollaczek and Khinchine without variance
    "second": lambda P, m, load: mean_present(load * 100, 0.01, 2) / (load * 100) * 1e3,
    "apart": lambda P, m, load: mean_present(load * 100, 0.01, 2) / mean_present(load * 100, 0.005, 1),
    "amdahl": lambda P, m, load: 1 / (0.02 + 0.98 / P),
    "limit": lambda P, m, load: 20 / load,
    "scaled": lambda P, m, load: P - (P - 1) * load / 20,
    "karp": lambda P, m, load: 100 * load / 20,
    "isoefficiency": lambda P, m, load: load / (1 - load) * 2 * P * rounds(P),
    "access": lambda P, m, load: (1 - load / 20) * 1 + load / 20 * 101,
    "lines": lambda P, m, load: 100 / (P / 8),
    "cyclic": lambda P, m, load: cyclic_misses(P, 100),
    "product": lambda P, m, load: product_misses(round(4 * sqrt(P)), 128),
    "roofline": lambda P, m, load: min(100, 10 * sqrt(P)),
    "kernel": lambda P, m, load: kernel(m),
    "copies": lambda P, m, load: 1000 / 25,
    "transfer": lambda P, m, load: copy(m) / 1e3,
    "worth": lambda P, m, load: 2 * copy(m) / kernel(m) / (1 / load - 1),
    "bubble": lambda P, m, load: 100 * (1 - 40 * load / (40 * load + sqrt(P) - 1)),
    "ten": lambda P, m, load: (sqrt(P) - 1) / 0.1,
    "memory": lambda P, m, load: 40 * load / sqrt(P),
    "gradients": lambda P, m, load: ring(P, 1024 * m) / 1e3,
    "hidden": lambda P, m, load: 100 * (1 - 1.5 * load / (1 + load / 2)),
    "together": lambda P, m, load: 43800 / P,
    "young": lambda P, m, load: sqrt(2 * WRITE * mean_failures(P)),
    "overhead": lambda P, m, load: 100 * (WRITE / INTERVAL + (INTERVAL / 2 + RESTART) / mean_failures(P)),
    "first_order": lambda P, m, load: 100 * (sqrt(2 * WRITE / mean_failures(P)) + RESTART / mean_failures(P)),
    "daly": lambda P, m, load: daly(P),
    "waiting": lambda P, m, load: 100 - 100 / (1 + load),
    "balance": lambda P, m, load: (1 + load) * P / (P + load),
    "bursts": lambda P, m, load: -100 * sum(comb(P, k) * (-load / 100) ** k for k in range(1, P + 1)),
    "slowest": lambda P, m, load: harmonic(P),
    "stored": lambda P, m, load: stored(P, m / 64) / (message(m / 64) + 0.2 * (sqrt(P) - 1)),
    "variance": lambda P, m, load: waiting_by_residual_life(load, log2(P)) + 10,
    "doubled": lambda P, m, load: 2 * (1 + (P - 1) * load / 20) / (1 + (2 * P - 1) * load / 20),
    "levels": lambda P, m, load: (1 - load / 20) + load / 20 * ((1 - load) * 11 + load * 111),
    "ridge": lambda P, m, load: load * 10e12 / 1e12,
    "step": lambda P, m, load: 30 * (40 * load) + 30 * (sqrt(P) - 1),
    "survives": lambda P, m, load: 100 * exp(-24 / 43800) ** P,
    "halves": lambda P, m, load: 100 * (P / 2 * 1 + P / 2 * (1 + load)) / (P * (1 + load)),
    "uniform": lambda P, m, load: 10 + 10 * load * P / (P + 1),
}
#: Answers of simulations differ from the formula by chance, or by what the formula leaves out.
SIMULATED = {"nearest": 0.005, "slowest": 0.04}


@pytest.fixture(scope="module")
def told() -> list[tuple[tuple[int, float, float], dict[str, dict[str, object]]]]:
    """The stops of each combination, and its questions by their names."""
    numbers = numbers_of(LESSON, 1)
    found = []
    for drawn in combinations_of(LESSON):
        values = Values(LESSON, numbers.lattices, numbers.traces, drawn)
        nodes, size, load = (LESSON.sliders[name].stops[drawn[name]].value for name in ("nodes", "size", "load"))
        questions = {one.name: question_told(one, values, Plain()) for step in LESSON.steps for one in step.questions}
        found.append(((round(nodes), size, load), questions))
    return found


def test_answers(told: list[tuple[tuple[int, float, float], dict[str, dict[str, object]]]]) -> None:
    known: dict[tuple[str, int, float, float], float] = {}
    for stops, questions in told:
        assert {name for name, one in questions.items() if "answer" in one} == set(ANSWERS)
        for name, answer in ANSWERS.items():
            key = (name, *stops) if name != "product" else (name, stops[0], 0, 0)
            if key not in known:
                known[key] = answer(*stops)
            assert questions[name]["answer"] == pytest.approx(known[key], rel=SIMULATED.get(name, 1e-6)), (name, stops)


def test_the_fastest_all_reduce(told: list[tuple[tuple[int, float, float], dict[str, dict[str, object]]]]) -> None:
    for (nodes, size, _), questions in told:
        halving = 2 * sum(message(size / 2**k) for k in range(1, rounds(nodes) + 1))
        times = {"recursive": doubling(nodes, size), "ring": ring(nodes, size), "Rabenseifner": halving}
        choices = questions["algorithm"]["choices"]
        assert isinstance(choices, list)
        right = next(one["html"] for one in choices if one["right"])
        assert min(times, key=lambda name: times[name]) == right.split()[0]


def test_the_bubble_is_the_bubble_of_a_simulated_pipeline() -> None:
    """Eight stages, 20 micro-batches, messages that take no time."""
    machine = sc.Machine.load("crossbar-16", {"network.startup": "0 s", "network.bandwidth": "1e30 B/s"})
    given = {"P": 8, "micro_batches": 20, "schedule": "one_f_one_b"}
    step_s = sc.simulate("pipeline", machine, given, effects=[]).makespan_s
    assert 1 - 20 * 0.03 / step_s == pytest.approx(7 / 27, rel=1e-6)


def test_topics_and_levels() -> None:
    by_topic = {step.name: Counter(one.level for one in step.questions) for step in LESSON.steps}
    assert len(by_topic) == 10
    assert all(set(levels) == LEVELS and sum(levels.values()) >= 4 for levels in by_topic.values())
    assert sum(sum(levels.values()) for levels in by_topic.values()) >= 60
    assert all(one.hints and one.points == one.level for step in LESSON.steps for one in step.questions)


def test_the_page_lists_all_questions() -> None:
    text = (ROOT / "docs" / "bank.md").read_text(encoding="utf-8")
    for step in LESSON.steps:
        cells = [", ".join(f"`{one.name}`" for one in step.questions if one.level == level) for level in sorted(LEVELS)]
        assert f"| {' | '.join([step.name, *cells])} |\n" in text


def test_one_topic_and_level() -> None:
    bank = read_bank(lesson_folder("bank"), 1, changes=only(LESSON, ["Queues", "Caches"], [1]))
    assert [(*one.place, one.name) for one in bank.topics] == [
        ("Queues", "Level 1", "response"),
        ("Queues", "Level 1", "present"),
        ("Caches", "Level 1", "access"),
        ("Caches", "Level 1", "lines"),
    ]
    category = quiz_of(bank)[0].findtext("category/text")
    assert category == "$course$/Questions by topic and level/Queues/Level 1/response"
    assert len(only(LESSON, ["Noise"], []).hide) == 9
    assert not only(LESSON, [], []).hide


@pytest.mark.parametrize(
    ("topics", "levels", "word"),
    [
        (["Queue"], [], "did you mean 'Queues'"),
        ([], [4], r"allowed: 1, 2, 3"),
        (["Queues", "Lines"], [1], "no such step"),
    ],
)
def test_topics_and_levels_that_a_lesson_lacks(topics: list[str], levels: list[int], word: str) -> None:
    with pytest.raises(InputError, match=word):
        only(LESSON, topics, levels)


def test_a_lesson_without_levels_has_none_to_select() -> None:
    with pytest.raises(InputError, match="none of the questions states one"):
        only(read_lesson(lesson_folder("broadcast")), [], [1])


@pytest.mark.parametrize("language", ["en", "de"])
def test_numbers_of_all_questions_are_written_in_full(language: str) -> None:
    bank = read_bank(lesson_folder("bank"), 1, language=language)
    texts = [text for topic in bank.topics for one in topic.variants for text in (one.asked, one.solution, *one.hints)]
    assert [text for text in texts if re.search(r"\de[+-]?\d", text)] == []
    large = {"en": "417,800 ± 8,360", "de": "417\u202f800 ± 8360"}[language]  # bytes
    assert any(large in text for text in texts)
    assert f"{crossing(256):.4g}" == "4.178e+05"
