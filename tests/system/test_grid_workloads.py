"""The shipped algorithms on process grids: textbook formulas, both readings, engines, and what moves where.

Oracles: formulas of textbooks, computed here from startup, bytes and rates; the blocks that every process holds, moved by the
messages of a simulation.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from math import log2

import numpy as np
import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.comparison.compare import compare
from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import SEND
from simcodesign.describe.design_point import bind
from simcodesign.describe.evaluated.useful_flops import useful_flops
from simcodesign.describe.machine import Machine
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml import files
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.describe.yaml.workload import workload_from
from simcodesign.engine.simulate import simulate
from simcodesign.generate.lower import make_plan
from tests import ROOT
from tests.shipped_pairs import GRIDS

ROUNDING = 1e-12
load_workload = cache(files.load_workload)
#: Fewer steps than by default, and no less in them, for 16 ranks (27 in a cube).
SMALL: dict[str, dict[str, float]] = {
    "cannon": {"n": 64},
    "cg-2d": {"n": 4096, "iterations": 2},
    "dns-matmul": {"P": 27, "n": 60},
    "hpl": {"n": 320, "b": 32},
    "pencil-fft": {"n": 32},
    "simple-matmul": {"n": 64},
    "summa": {"n": 64, "b": 8},
    "sweep3d": {"planes": 40, "iterations": 2},
}
#: The limits of those with long published formulas are higher.
MOST_LINES = {"pencil-fft": 30, "hpl": 148, "sweep3d": 80}


@cache
def without_hops() -> Machine:
    """torus-cluster: 2 us for a message, 2 GB/s, 8 GFLOP/s, nothing for hops."""
    return files.load_machine("torus-cluster", {"network.hop_latency": 0})


def message_s(size_bytes: float) -> float:
    return 2e-6 + size_bytes / 2e9


def test_every_one_is_tried() -> None:
    assert {*SMALL} == {*GRIDS}


@pytest.mark.parametrize("name", GRIDS)
def test_they_are_short(name: str) -> None:
    text = (ROOT / "workloads" / f"{name}.yaml").read_text(encoding="utf-8")
    lines = len(text.splitlines())
    assert lines < MOST_LINES.get(name, 60)


def test_the_page_names_them_and_their_lines() -> None:
    page = (ROOT / "docs" / "describe-workloads.md").read_text(encoding="utf-8")
    texts = [(ROOT / "workloads" / f"{name}.yaml").read_text(encoding="utf-8") for name in GRIDS]
    lines = sorted(len(text.splitlines()) for text in texts)
    assert f"of {lines[0]} to {lines[-1]} lines" in page
    assert all(f"`{name}`" in page for name in GRIDS)


@pytest.mark.parametrize("name", GRIDS)
def test_bounds_and_engines(name: str) -> None:
    workload, given = load_workload(name), {"P": 16, **SMALL[name]}
    effects = ["hops", "links", "interfaces", "imbalance", "noise"]
    comparison = compare(workload, "torus-cluster", given, effects=effects[:3])
    assert comparison.within_bounds
    one, other = (
        simulate(workload, "torus-cluster", given, effects=effects, seed=5, engine=engine)
        for engine in ("simpy", "compiled")
    )
    assert (one.makespan_s, one.phases) == (other.makespan_s, other.phases)


@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("read", [forecast, simulate])
def test_other_process_grids_are_refused(name: str, read) -> None:
    with pytest.raises(InputError, match="process grid"):
        read(load_workload(name), "torus-cluster", {**SMALL[name], "P": 18})


def summa_s(n: int, b: int, q: int) -> float:
    """Two broadcasts by binomial trees among q processes and a product, n / b times (van de Geijn and Watts 1997)."""
    return n // b * (2 * log2(q) * message_s(8 * n * b / q) + 2 * n**2 * b / q**2 / 8e9)


@pytest.mark.parametrize(
    ("n", "b", "q", "textbook_s"),
    [(1024, 128, 8, 7.43603e-3), (2048, 64, 8, None), (4096, 64, 8, None), (1024, 32, 4, None), (2048, 128, 16, None)],
)
def test_summa_is_its_textbook_formula(n: int, b: int, q: int, textbook_s: float | None) -> None:
    expected = summa_s(n, b, q)
    if textbook_s is not None:
        assert expected == pytest.approx(textbook_s, rel=1e-6)
    given = {"P": q**2, "n": n, "b": b}
    forecasted = forecast(load_workload("summa"), without_hops(), given)
    simulated = simulate(load_workload("summa"), without_hops(), given, effects="none")
    assert forecasted.makespan_s == pytest.approx(expected, rel=ROUNDING)
    assert simulated.makespan_s == pytest.approx(expected, rel=1e-3)
    assert simulated.messages == forecasted.messages == n // b * 2 * q * (q - 1)


@pytest.mark.parametrize("q", [1, 2, 3, 4, 8])
def test_cannon_is_its_textbook_formula(q: int) -> None:
    """Two messages to skew, two for each rotation: 2 q messages of n^2 / q^2 numbers and 2 n^3 / q^2 flop (Kumar et al.)."""
    n = 48 * q
    expected = 2 * (n**3 / q**2) / 8e9 + (2 * q * message_s(8 * 48**2) if q > 1 else 0)
    given = {"P": q**2, "n": n}
    for result in (
        forecast(load_workload("cannon"), without_hops(), given),
        simulate(load_workload("cannon"), without_hops(), given, effects="none"),
    ):
        assert result.makespan_s == pytest.approx(expected, rel=ROUNDING)
        assert result.messages == 2 * q * (q - 1) * (1 + (q if q > 1 else 0))


@pytest.mark.parametrize("q", [2, 3, 5, 8])
def test_cannon_brings_together_what_is_multiplied(q: int) -> None:
    """In step t process (i, j) has A(i, i + j + t) and B(i + j + t, j): every product of C(i, j) once."""
    plan = make_plan(bind(load_workload("cannon"), without_hops(), {"P": q**2}))
    targets = [list(plan.peer[(plan.rank == rank) & (plan.kind == SEND)]) for rank in range(q**2)]
    blocks = {rank: [rank % q, rank // q] for rank in range(q**2)}  # the column of the block of A, the row of that of B

    def move(which: int, who: list[int]) -> None:
        moved = {int(targets[rank].pop(0)): blocks[rank][which] for rank in who}
        assert moved.keys() == {*who}
        for rank, block in moved.items():
            blocks[rank][which] = block

    every = list(range(q**2))
    move(0, [rank for rank in every if rank // q > 0])
    move(1, [rank for rank in every if rank % q > 0])
    for step in range(q):
        assert all(blocks[rank] == [(rank // q + rank % q + step) % q] * 2 for rank in every)
        if step < q - 1:
            move(0, every)
            move(1, every)
    assert not any(targets)


@pytest.mark.parametrize(("p", "q"), [(4, 4), (2, 8), (3, 5), (1, 4), (16, 16)])
def test_pencil_fft_is_its_textbook_formula(p: int, q: int) -> None:
    """Three sweeps of 5 n log2 n flop a line; q - 1 messages of 1/q of a process's points, then p - 1 of 1/p of them."""
    n, ranks = 120, p * q
    points = n**3 / ranks
    transposes = (q - 1) * message_s(16 * points / q) + (p - 1) * message_s(16 * points / p)
    expected = 3 * 5 * points * log2(n) / 8e9 + transposes
    given = {"P": ranks, "n": n, "q": q}
    for result in (
        forecast(load_workload("pencil-fft"), without_hops(), given),
        simulate(load_workload("pencil-fft"), without_hops(), given, effects="none"),
    ):
        assert result.makespan_s == pytest.approx(expected, rel=ROUNDING)
        assert result.message_bytes == pytest.approx(16 * n**3 * ((q - 1) / q + (p - 1) / p), rel=ROUNDING)


def test_pencil_fft_in_an_array_of_grids() -> None:
    """All grids of 64 processes in one forecast: the balanced one sends the fewest messages."""
    q = 2.0 ** np.arange(7)
    times = forecast(load_workload("pencil-fft"), without_hops(), {"P": 64, "q": q, "n": 64}).components[
        "communication"
    ]
    each = [64 / columns + columns - 2 for columns in q]
    assert np.argmin(times) == np.argmin(each)


def swept_s(px: int, py: int, blocks: int, block_s: float, x_s: float, y_s: float) -> float:
    """Eight sweeps, two from each corner, block by block and rank by rank: receive in x, in y, compute, send in x, in y."""
    done_s = np.zeros((px, py))
    for from_x, from_y in np.repeat([(1, 1), (1, 0), (0, 1), (0, 0)], 2, axis=0):
        step_x, step_y = 1 - 2 * from_x, 1 - 2 * from_y
        for _ in range(blocks):
            sent_s: dict[tuple[int, int, str], float] = {}
            for x in range(px)[::step_x]:
                for y in range(py)[::step_y]:
                    begins_s = max(done_s[x, y], sent_s.get((x, y, "in x"), 0.0), sent_s.get((x, y, "in y"), 0.0))
                    done_s[x, y] = begins_s + block_s
                    if 0 <= x + step_x < px:
                        done_s[x, y] += x_s
                        sent_s[x + step_x, y, "in x"] = done_s[x, y]
                    if 0 <= y + step_y < py:
                        done_s[x, y] += y_s
                        sent_s[x, y + step_y, "in y"] = done_s[x, y]
    return float(done_s.max())


@pytest.mark.parametrize(("px", "py"), [(1, 1), (4, 1), (1, 5), (2, 2), (4, 3), (3, 7)])
def test_sweep3d_is_its_sweeps(px: int, py: int) -> None:
    given = {"P": px * py, "px": px, "columns_x": 4, "columns_y": 7, "planes": 30, "iterations": 1}
    blocks, cells = 30 // 10 * 2, 4 * 7 * 10 * 3
    expected = swept_s(px, py, blocks, 36 * cells / 8e9, message_s(8 * cells / 4), message_s(8 * cells / 7))
    for result in (
        forecast(load_workload("sweep3d"), without_hops(), given),
        simulate(load_workload("sweep3d"), without_hops(), given, effects="none"),
    ):
        assert sum(result.phases["sweep"].values()) == pytest.approx(expected, rel=ROUNDING)


@pytest.mark.parametrize(("px", "py", "mk"), [(8, 8, 10), (4, 16, 5), (16, 2, 40), (1, 7, 400)])
def test_sweep3d_fills_its_pipeline_as_published(px: int, py: int, mk: int) -> None:
    """Hoisie, Lubeck and Wasserman 2000: 8 N + 2 (px - 1) + 4 (py - 1) blocks one after another, N of each sweep."""
    free = ("startup", "hop_latency", "interfaces.per_byte", "per_byte")
    machine = files.load_machine("torus-cluster", {f"network.{constant}": 0 for constant in free})
    result = forecast(load_workload("sweep3d"), machine, {"P": px * py, "px": px, "mk": mk})
    blocks = 8 * 400 // mk * 2 + 2 * (px - 1) + 4 * (py - 1)
    assert result.makespan_s == pytest.approx(12 * blocks * 36 * 25 * mk * 3 / 8e9, rel=ROUNDING)


@pytest.mark.parametrize("q", [1, 2, 4, 8])
def test_conjugate_gradients_are_their_textbook_formula(q: int) -> None:
    """An expand and a fold double and halve what they send; two combines of a number; 2 z + 10 flop a row."""
    ranks, n = q**2, 2**14
    halves_s = sum(message_s(2**i * 8 * n / ranks) for i in range(int(log2(q))))
    across_s = message_s(8 * n / ranks) if q > 1 else 0.0
    combines_s = 2 * log2(ranks) * message_s(8)
    expected = 3 * (across_s + 2 * halves_s + combines_s + (2 * 27 + 10) * n / ranks / 8e9)
    given = {"P": ranks, "n": n, "iterations": 3}
    forecasted = forecast(load_workload("cg-2d"), without_hops(), given)
    simulated = simulate(load_workload("cg-2d"), without_hops(), given, effects="none")
    assert forecasted.makespan_s == pytest.approx(expected, rel=ROUNDING)
    assert simulated.makespan_s == pytest.approx(expected, rel=ROUNDING)
    assert useful_flops(bind(load_workload("cg-2d"), without_hops(), given)) == simulated.flops


#: The priced step of hpl, and what it stands for: every column of a panel by itself.
PIVOTING = "exchange: {pattern: halo1d, group: owners, messages: b*ceil(log2(p))/2, train: train, bytes: 8*(2*b + 4)}"
COLUMN_BY_COLUMN = "{repeat: b, do: [allreduce: {bytes: 8*(2*b + 4), group: owners, algorithm: recursive_doubling}]}"


@cache
def hpl_by_column() -> Workload:
    text = (ROOT / "workloads" / "hpl.yaml").read_text(encoding="utf-8")
    assert text.count(PIVOTING) == 1
    return workload_from(parse_yaml(text.replace(PIVOTING, COLUMN_BY_COLUMN), "hpl.yaml"))


@pytest.mark.parametrize("lookahead", [0, 1])
@pytest.mark.parametrize(("p", "q"), [(1, 4), (2, 3), (4, 4), (8, 2)])
def test_pivoting_of_a_panel_is_priced_as_its_messages(p: int, q: int, lookahead: int) -> None:
    """Where p is a power of two: a train to both neighbours takes as long as all combines of its columns."""
    given = {"P": p * q, "q": q, "n": 128, "b": 16, "lookahead": lookahead}
    priced, by_column = (
        simulate(workload, without_hops(), given, effects="none")
        for workload in (load_workload("hpl"), hpl_by_column())
    )
    assert priced.makespan_s == pytest.approx(by_column.makespan_s, rel=1e-9)
    assert priced.messages == by_column.messages
    assert priced.message_bytes == pytest.approx(by_column.message_bytes, rel=ROUNDING)


@pytest.mark.parametrize("p", [3, 6])
def test_pivoting_elsewhere_folds_in_besides(p: int) -> None:
    """f = floor(log2 p) rounds, and one message before and one after them, against ceil(log2 p) = f + 1 here."""
    given = {"P": 2 * p, "q": 2, "n": 16, "b": 16}
    priced, by_column = (
        simulate(workload, without_hops(), given, effects="none")
        for workload in (load_workload("hpl"), hpl_by_column())
    )
    missing = 16 * message_s(8 * (2 * 16 + 4))
    assert by_column.makespan_s - priced.makespan_s == pytest.approx(missing, rel=1e-6)


def copied_rows(swap: str, rows: int, processes: int, is_current: bool) -> float:
    """Count the rows that HPL copies in a process where b rows are swapped whose pivots are spread evenly, by its routines:
    dlaswp01N to 06N copy a row where they pack or unpack one, and twice where they exchange two, as dlaswp00N does."""
    own = rows / processes
    if swap == "spread_roll":
        before_roll = rows + own if is_current else 2 * own  # 01N; 06N
        return before_roll + 2 * rows  # 00N
    if is_current:
        return (rows + own) + (rows - own)  # 01N; 03N in all rounds
    return own + own + (rows - own)  # 02N; 04N into the matrix; 04N and 03N into U


@pytest.mark.parametrize("swap", ["binary_exchange", "spread_roll"])
def test_hpl_copies_rows_as_its_routines_do(swap: str) -> None:
    """4 x 4 processes; the diagonal moves from row to row, and the sum is of the row that copies most."""
    given: dict[str, float | str] = {"n": 320, "b": 32, "q": 4, "P": 16, "lookahead": 0, "swap": swap, "layout": 0}
    machine = files.load_machine("torus-cluster", {"network.packing": 1e-6})
    of_rows = [
        sum(copied_rows(swap, 32, 4, row == (panel - 1) % 4) for panel in range(1, 10)) * 1e-6 for row in range(4)
    ]
    summed = forecast(load_workload("hpl"), machine, given, longest_path=False)
    assert summed.phases["swap"]["computation"] == pytest.approx(max(of_rows))
    simulated = simulate(load_workload("hpl"), machine, given, effects="none")
    without = simulate(load_workload("hpl"), without_packing(machine), given, effects="none")
    more_s = (simulated.ranks.busy_s - without.ranks.busy_s)[:, :, 0].sum(axis=1)
    assert more_s.reshape(4, 4) == pytest.approx(np.repeat(of_rows, 4).reshape(4, 4))


def without_packing(machine: Machine) -> Machine:
    return machine.with_constants({"network.packing": 0.0})


@pytest.mark.parametrize("swap", [0, 1])
@pytest.mark.parametrize("broadcast", [0, 1])
def test_hpl_without_lookahead_is_the_sum_over_its_panels(broadcast: int, swap: int) -> None:
    """Panel, broadcast, swap and update after one another, of 1/p of the rows and 1/q of the columns: at most the sum of
    HPL's textbook terms, at least what all have to wait for. By Python, panel after panel."""
    p, q, b, panels = 4, 4, 32, 12
    n, sum_s, least_s = b * panels, 0.0, 0.0
    for k in range(panels):
        m = n - k * b
        panel_s = b**2 * (m - b / 3) / p / 8e9 + b * log2(p) * message_s(8 * (2 * b + 4))
        broadcast_s = (log2(q) if broadcast else q - 1) * message_s(8 * b * m / p)
        update_s = (m / q) * (b**2 + 2 * b * m / p) / 8e9 if k else 0.0
        swap_s = log2(p) * message_s(8 * b * m / q)
        if swap:  # scattered in halves, then rolled
            halves_s = sum(message_s(2**i * 8 * b * m / q / p) for i in range(2))
            swap_s = halves_s + (p - 1) * message_s(8 * b * m / q / p)
        swap_s = swap_s if k else 0.0
        sum_s += panel_s + broadcast_s + swap_s + update_s
        least_s += panel_s + swap_s + update_s + message_s(8 * b * m / p)
    given = {"P": p * q, "q": q, "n": n, "b": b, "lookahead": 0, "broadcast": broadcast, "swap": swap, "layout": 0}
    simulated = simulate(load_workload("hpl"), without_hops(), given, effects="none")
    assert least_s * (1 - ROUNDING) <= simulated.makespan_s <= sum_s * (1 + ROUNDING)


Sent = list[tuple[int, int, float]]


def scattered(p: int) -> Sent:
    """(distances from the diagonal of sender and receiver, rows of all) of a binomial scatter of a p-th to each."""
    bits = [2**i for i in reversed(range((p - 1).bit_length()))]
    return [(h, h + bit, min(bit, p - h - bit) / p) for bit in bits for h in range(0, p - bit, 2 * bit)]


def rolled(p: int) -> Sent:
    """The exchanges of HPL_rollN: to the neighbours by turns, until all have the piece of each."""
    sent: Sent = []
    has: list[set[int]] = [{process} for process in range(p)]
    turns, under_way = [(-1, 0)] * p, defaultdict[tuple[int, int], list[int]](list)
    while any(turn < p - 1 for turn, _ in turns):
        for process, (turn, partner) in enumerate(turns):
            came = under_way[partner, process]
            if turn in range(p - 1) and came:
                has[process].add(came.pop(0))
            elif turn >= 0:
                continue
            turn, right = turn + 1, (process + turn + 1) % 2 == 0
            to = (process + (1 if right else -1)) % p
            turns[process] = turn, to
            if turn < p - 1:
                piece = (process + (-1 if right else 1) * (turn // 2)) % p
                assert piece in has[process]
                under_way[process, to].append(piece)
                sent.append((process, to, 1 / p))
    assert has == [{*range(p)}] * p
    return sent


def binary_exchanged(p: int) -> Sent:
    """The messages of HPL_pdlaswp00N, by what each process has: the rows with the diagonal, or which others' rows."""
    even = 2 ** (p.bit_length() - 1)
    with_all, rows, sent = {0}, [{process} - {0} for process in range(p)], list[tuple[int, int, float]]()

    def send(sender: int, receiver: int) -> None:
        sent.append((sender, receiver, 1.0 if sender in with_all else len(rows[sender]) / p))

    def exchange(one: int, other: int) -> None:
        send(one, other)
        send(other, one)
        rows[one] = rows[other] = rows[one] | rows[other]
        if with_all & {one, other}:
            with_all.update({one, other})

    for extra in range(even, p):
        if extra == even:
            exchange(0, even)
        else:
            send(extra, extra - even)
            rows[extra - even] |= rows[extra]
    sent += [(even + one, even + other, 1.0) for one, other, _ in scattered(p - even)]
    for bit in (2**i for i in range(even.bit_length() - 1)):
        for process in range(even):
            if process < process ^ bit:
                exchange(process, process ^ bit)
    assert all(rows[process] == {*range(1, p)} and process in with_all for process in range(even))
    return sent + [(extra - even, extra, 1.0) for extra in range(even, p)]


def swapped(swap: str, p: int, n: int, **more: float) -> Sent:
    """What one column of p processes sends in swaps of blocks of 16 rows: sorted sender, receiver, bytes."""
    given: dict[str, float | str] = {"P": p, "q": 1, "n": n, "b": 16, "lookahead": 0, "swap": swap, **more}
    plan = make_plan(bind(load_workload("hpl"), without_hops(), given))
    sent = (plan.kind == SEND) & (plan.phase == plan.phases.index("swap"))
    columns = (plan.rank[sent], plan.peer[sent], plan.size_bytes[sent].round(6))
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


def expected_swaps(routine: Callable[[int], Sent], p: int, n: int, panels: range) -> Sent:
    """The messages of a routine for some panels, from the process of the diagonal of each."""
    return sorted(
        ((one + k - 1) % p, (other + k - 1) % p, round(part * 8 * 16 * (n - k * 16), 6))
        for k in panels
        for one, other, part in routine(p)
    )


def spread_and_rolled(p: int) -> Sent:
    """The messages of HPL_pdlaswp01N, of pieces that are even."""
    return scattered(p) + rolled(p)


@pytest.mark.parametrize("p", [1, 2, 3, 4, 5, 6, 7, 8, 12, 15])
def test_hpl_swaps_rows_by_the_messages_of_its_routines(p: int) -> None:
    """Facts of HPL 2.3: HPL_pdlaswp00N; HPL_pdlaswp01N, HPL_spreadN and HPL_rollN. The diagonal moves on by a process."""
    n, panels = 16 * (p + 2), range(1, p + 2)
    assert swapped("binary_exchange", p, n) == expected_swaps(binary_exchanged, p, n, panels)
    assert swapped("spread_roll", p, n) == expected_swaps(spread_and_rolled, p, n, panels)


def test_hpl_mixes_swaps_by_columns() -> None:
    """HPL_pdupdateNN: spread-roll for more columns of a process than the threshold, here 80 and 64, then 48 to 16."""
    expected = expected_swaps(spread_and_rolled, 5, 96, range(1, 3))
    expected += expected_swaps(binary_exchanged, 5, 96, range(3, 6))
    assert swapped("mix", 5, 96, threshold=48) == sorted(expected)


@pytest.mark.parametrize("swap", ["binary_exchange", "spread_roll"])
@pytest.mark.parametrize("p", [4, 5, 6])
def test_hpl_swaps_rows_where_senders_wait(swap: str, p: int) -> None:
    """HPL posts receives before it sends, so that senders that wait for receivers do not wait for each other."""
    given: dict[str, float | str] = {"P": 2 * p, "q": 2, "n": 320, "b": 32, "swap": swap}
    waits = files.load_machine("torus-cluster", {"network.S": 1})
    one, other = (
        simulate(load_workload("hpl"), waits, given, effects="none", engine=engine) for engine in ("simpy", "compiled")
    )
    assert one.makespan_s == other.makespan_s
    assert one.makespan_s >= simulate(load_workload("hpl"), "torus-cluster", given, effects="none").makespan_s


def dealt_out(blocks: int, processes: int) -> np.ndarray:
    """Deal blocks out to processes in turn: (blocks,) the process that has each."""
    return np.resize(np.arange(processes), blocks)


@pytest.mark.parametrize("lookahead", [0, 1])
@pytest.mark.parametrize(("p", "q", "panels"), [(4, 4, 10), (3, 5, 11), (6, 2, 7), (1, 3, 5)])
def test_hpl_deals_blocks_out_in_turn(p: int, q: int, panels: int, lookahead: int) -> None:
    """Flops of every process, counted block by block of the matrix."""
    b, row_of, column_of = 8, dealt_out(panels, p), dealt_out(panels, q)
    flops = np.zeros((p, q))
    for k in range(panels):
        flops[row_of[k], k % q] -= b**3 / 3
        for row in range(k, panels):
            flops[row_of[row], k % q] += b**3
        if k:
            for column in range(k, panels):
                flops[:, column_of[column]] += b**3
                for row in range(k, panels):
                    flops[row_of[row], column_of[column]] += 2 * b**3
    given = {"P": p * q, "q": q, "n": b * panels, "b": b, "lookahead": lookahead}
    result = simulate(load_workload("hpl"), without_hops(), given, effects="none")
    # Without packing and reductions, processors only compute.
    assert result.ranks.busy_s[:, :, 0].sum(axis=1).reshape(p, q) * 8e9 == pytest.approx(flops, rel=1e-9)
    assert result.flops == pytest.approx(flops.sum(), rel=1e-9)


def ring_edges(broadcast: str, q: int, root: int) -> set[tuple[int, int]]:
    """Who sends the panel to whom along a row of q processes: the rules of HPL_1ring, 1rinM, 2ring and 2rinM, rank by rank."""
    second = (root + (q + 1) // 2) % q if "two" in broadcast and q > 2 else None
    edges = set()
    for rank in range(q):
        before = (rank - 1) % q
        from_root = rank == second or ("modified" in broadcast and (before - 1) % q == root)
        if rank != root:
            edges.add((root if from_root else before, rank))
    return edges


@pytest.mark.parametrize("q", [1, 2, 3, 4, 7, 8])
@pytest.mark.parametrize("broadcast", ["ring", "modified_ring", "two_rings", "modified_two_rings"])
def test_panels_of_hpl_go_along_its_rings(broadcast: str, q: int) -> None:
    """One row of processes, where nothing else is sent: from each of them as the owner."""
    given: dict[str, float | str] = {"P": q, "q": q, "n": 16 * q, "b": 16, "broadcast": broadcast, "lookahead": 0}
    plan = make_plan(bind(load_workload("hpl"), without_hops(), given))
    sent = plan.kind == SEND
    expected = sorted(edge for root in range(q) for edge in ring_edges(broadcast, q, root))
    assert sorted(zip(plan.rank[sent].tolist(), plan.peer[sent].tolist(), strict=True)) == expected


@pytest.mark.parametrize("q", [3, 4, 6])
def test_the_long_broadcasts_of_hpl_pass_parts_round(q: int) -> None:
    """All get the panel by a scatter and a ring; the next owner, in the modified one, as a whole from the owner alone."""
    given: dict[str, float | str] = {"P": q, "q": q, "n": 16, "b": 16, "lookahead": 0}
    panel_bytes = 8 * 16 * 16
    for broadcast, others in (("long", q), ("modified_long", q - 1)):
        plan = make_plan(bind(load_workload("hpl"), without_hops(), {**given, "broadcast": broadcast}))
        to_next = (plan.kind == SEND) & (plan.peer == 1) & (plan.rank == 0)
        sent = plan.size_bytes[plan.kind == SEND].sum()
        halves = sum(min(bit, others - child) for bit in (1, 2, 4) for child in range(bit, others, 2 * bit))
        passed = (others * (others - 1) + halves) / others * panel_bytes
        assert sent == pytest.approx(passed + (panel_bytes if others < q else 0))
        if others < q:
            assert plan.size_bytes[to_next].tolist() == [panel_bytes]
            assert not ((plan.rank == 1) & (plan.kind == SEND)).any()


def test_hpl_does_the_operations_of_a_factorisation() -> None:
    """2/3 n^3 of use; besides, all processes of a column solve for the same rows of U, as HPL's do."""
    n, b, p = 1280, 32, 4
    given = {"P": 16, "n": n, "b": b, "lookahead": 0}
    design_point = bind(load_workload("hpl"), without_hops(), given)
    assert useful_flops(design_point) == pytest.approx(2 / 3 * n**3, rel=ROUNDING)
    again = (p - 1) * sum(b**2 * (n - k * b) for k in range(1, n // b))
    simulated = simulate(load_workload("hpl"), without_hops(), given, effects="none")
    assert simulated.flops == pytest.approx(2 / 3 * n**3 + again, rel=1e-11)


def test_hpl_on_grids_and_blocks_of_several_sizes_at_once() -> None:
    """Loops of as many iterations as each point has: the groups of an iteration are looked at where it is."""
    grids, blocks = np.array([4.0, 8.0, 16.0]), np.array([32.0, 64.0, 128.0])
    workload = load_workload("hpl")
    together = forecast(workload, "torus-cluster", {"P": 64, "n": 512, "q": grids, "b": blocks}).makespan_s
    alone = [
        float(forecast(workload, "torus-cluster", {"P": 64, "n": 512, "q": q, "b": b}).makespan_s)
        for q, b in zip(grids, blocks, strict=True)
    ]
    assert together == pytest.approx(alone, rel=ROUNDING)


@pytest.mark.thorough
def test_lookahead_hides_panels_and_broadcasts() -> None:
    given = {"P": 16, "n": 3200, "b": 32}
    without, ahead = (
        simulate(load_workload("hpl"), without_hops(), {**given, "lookahead": depth}, effects="none")
        for depth in (0, 1)
    )
    assert ahead.makespan_s < 0.95 * without.makespan_s
    assert ahead.message_bytes == pytest.approx(without.message_bytes, rel=ROUNDING)


DOCUMENT = (ROOT / "docs" / "process-grids.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| \d+ x (\d+) \| (\w+) \| (.*) \|$", DOCUMENT, re.MULTILINE)


def test_the_table_of_choices_has_every_grid() -> None:
    assert len(ROWS) == 6


@pytest.mark.thorough
@pytest.mark.parametrize("row", ROWS, ids=" ".join)
def test_the_table_of_choices(row: tuple[str, str, str]) -> None:
    q, broadcast, cells = row
    choices = [(swap, depth) for swap in ("binary_exchange", "spread_roll") for depth in (0, 1)]
    for (swap, depth), cell in zip(choices, cells.split(" | "), strict=True):
        given = {"P": 64, "n": 16000, "q": int(q), "broadcast": broadcast, "swap": swap, "lookahead": depth}
        simulated, forecasted = map(float, re.fullmatch(r"(\S+) \((\S+)\)", cell).groups())
        result = simulate(load_workload("hpl"), "xeon-cluster", given, effects=["hops", "links", "interfaces"])
        assert result.makespan_s == pytest.approx(simulated, abs=6e-4)
        assert forecast(load_workload("hpl"), "xeon-cluster", given).makespan_s == pytest.approx(forecasted, abs=6e-4)


BLOCKS = re.findall(r"^\| (\d+) \| (\S+ \(.*\)) \|$", DOCUMENT, re.MULTILINE)


def test_the_table_of_blocks_has_every_size() -> None:
    assert [int(mk) for mk, _ in BLOCKS] == [1, 10, 40, 200]


@pytest.mark.thorough
@pytest.mark.parametrize("row", BLOCKS, ids=" ".join)
def test_the_table_of_blocks(row: tuple[str, str]) -> None:
    mk, cells = row
    for mmi, cell in zip((1, 3, 6), cells.split(" | "), strict=True):
        given = {"P": 64, "mk": int(mk), "mmi": mmi, "iterations": 1}
        simulated, forecasted = map(float, re.fullmatch(r"(\S+) \((\S+)\)", cell).groups())
        result = simulate(load_workload("sweep3d"), "torus-cluster", given, effects=["hops", "links", "interfaces"])
        assert 1e3 * result.makespan_s == pytest.approx(simulated, abs=6e-3)
        result = forecast(load_workload("sweep3d"), "torus-cluster", given)
        assert 1e3 * result.makespan_s == pytest.approx(forecasted, abs=6e-3)
