"""Operations of groups and from any root: true members, the messages of each group, both readings alike."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.formulas.formula import phase_formula
from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import RECEIVE, SEND
from simcodesign.describe.demands.collective import ALGORITHMS, ON_NODES, ORDERS, ROOTED, SIGNALS
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from simcodesign.generate.columns import Ranks
from simcodesign.generate.lower import make_plan
from simcodesign.generate.messages.collectives.algorithm_messages import MESSAGES
from simcodesign.generate.plan import Plan
from tests import THOROUGH, builders, numbers_of_ranks
from tests.builders import closed_forms
from tests.oracles.messages.collective_replay import Columns

#: All but those of two levels, whose messages depend on the nodes of a machine.
PLAIN = [(name, way) for name, ways in ALGORITHMS.items() for way in ways if (name, way) not in ON_NODES]
SIZE = 1000.0
HEAD = "parameters: {q: {default: 1}, root: {default: 0}}\ngroups:\n  g: GROUP\n"
#: Rows and columns of process grids, groups of many sizes, and ranks that are in none.
COLOURS = ("rank // q", "rank % q", "floor(sqrt(rank))", "where(rank % 7 == 3, -1, floor(rank / 2) % q)")
COUNTS = numbers_of_ranks(40) if THOROUGH else (1, 2, 5, 13, 22)
HOCKNEY = {"startup_s": 1e-6, "per_byte_s": 1e-9, "receive_overhead_s": 2e-7, "reduction_per_byte_s": 5e-10}
LOGGOPS = {"model": "loggop", "overhead_s": 1e-6, "latency_s": 2e-6, "gap_s": 5e-7, "per_byte_s": 1e-9}


def machine(constants: dict = HOCKNEY) -> Machine:
    return builders.machine(builders.network(1024, **constants))


def collective(name: str, algorithm: str, more: str, head: str = "", order: str = "") -> Workload:
    size = "" if name in SIGNALS else f"bytes: {SIZE}, "
    return builders.workload(f"- {name}: {{{size}algorithm: {algorithm}{order}{more}}}\n", head)


def colours(group: str, ranks: int, q: int) -> list[int]:
    """The colours of ranks, by Python."""
    values = {"floor": lambda x: int(x // 1), "sqrt": np.sqrt, "where": lambda c, a, b: a if c else b, "q": q}
    return [int(eval(group, {**values, "rank": rank})) for rank in range(ranks)]


def groups_of(group: str, ranks: int, q: int) -> list[list[int]]:
    """Members of every group, one after another."""
    members = defaultdict(list)
    for rank, colour in enumerate(colours(group, ranks, q)):
        if colour >= 0:
            members[colour].append(rank)
    return list(members.values())


def by_rank(columns: Columns) -> list[list[tuple[int, int, float]]]:
    """Sends and receives of every rank in turn: kind, peer and bytes."""
    ranks = columns.present.shape[1]
    at = [np.flatnonzero(columns.present[:, rank]) for rank in range(ranks)]
    return [
        [
            (int(columns.kind[row]), int(columns.peer[row, rank]), float(columns.size_bytes[row, rank]))
            for row in at[rank]
            if columns.kind[row] in (SEND, RECEIVE)
        ]
        for rank in range(ranks)
    ]


def of_plan(plan: Plan) -> list[list[tuple[int, int, float]]]:
    """The same of a Plan, of which each message has its two ends."""
    messages = np.flatnonzero(np.isin(plan.kind, (SEND, RECEIVE)))
    other = plan.match[messages]
    assert (plan.match[other] == messages).all()
    assert (plan.rank[other] == plan.peer[messages]).all()
    assert (plan.size_bytes[other] == plan.size_bytes[messages]).all()
    rows: list[list[tuple[int, int, float]]] = [[] for _ in range(len(plan.first) - 1)]
    for op in messages.tolist():
        rows[plan.rank[op]].append((int(plan.kind[op]), int(plan.peer[op]), float(plan.size_bytes[op])))
    return rows


def expected(
    key: tuple[str, str], members: list[list[int]], ranks: int, root: int
) -> list[list[tuple[int, int, float]]]:
    """What every rank sends and receives: the algorithm of each group by itself, its rank i being the i-th after the
    root."""
    rows: list[list[tuple[int, int, float]]] = [[] for _ in range(ranks)]
    for group in members:
        writer = Ranks(len(group))
        MESSAGES[key].write(writer, 0.0 if key[0] in SIGNALS else SIZE)
        turned = group[root % len(group) :] + group[: root % len(group)]
        for local, row in enumerate(by_rank(Columns(writer))):
            rows[turned[local]] = [(kind, turned[peer], size) for kind, peer, size in row]
    return rows


@pytest.mark.parametrize("ranks", COUNTS)
@pytest.mark.parametrize("group", COLOURS)
def test_every_group_has_the_messages_of_the_algorithm_among_its_members(group: str, ranks: int) -> None:
    head = HEAD.replace("GROUP", group)
    for number, (name, algorithm) in enumerate(PLAIN):
        rooted = name in ROOTED
        q, root = 1 + number % 6, 5 * number + ranks if rooted else 0
        workload = collective(name, algorithm, ", group: g" + ", root: root % group_size" * rooted, head)
        point = bind(workload, machine(), {"P": ranks, "q": q, "root": root})
        assert of_plan(make_plan(point)) == expected((name, algorithm), groups_of(group, ranks, q), ranks, root)


@pytest.mark.parametrize("ranks", COUNTS)
def test_every_root(ranks: int) -> None:
    for number, (name, algorithm) in enumerate(PLAIN):
        if name not in ROOTED:
            continue
        workload = collective(name, algorithm, ", root: root", HEAD.replace("GROUP", "rank"))
        for root in range(ranks) if THOROUGH else {0, number % ranks, ranks // 2, ranks - 1}:
            point = bind(workload, machine(), {"P": ranks, "root": root})
            rows = expected((name, algorithm), [list(range(ranks))], ranks, root)
            assert of_plan(make_plan(point)) == rows


@pytest.mark.thorough
@pytest.mark.parametrize("constants", [HOCKNEY, LOGGOPS], ids=["hockney", "loggops"])
@pytest.mark.parametrize("ranks", [*numbers_of_ranks(40), 64, 128] if THOROUGH else [6, 23])
def test_groups_take_what_the_one_that_takes_longest_takes_by_itself(ranks: int, constants: dict) -> None:
    """In Hockney's model both readings agree; in LogGOPS each is what it is for so many ranks without groups."""
    on = machine(constants)
    for number, (name, algorithm) in enumerate(PLAIN):
        group, q = COLOURS[(number + ranks) % len(COLOURS)], 1 + (3 * number + ranks) % 9
        for order in [f", order: {way}" for way in ("near", "far")] if (name, algorithm) in ORDERS else [""]:
            more = ", group: g" + ", root: root % group_size" * (name in ROOTED)
            workload = collective(name, algorithm, more, HEAD.replace("GROUP", group), order)
            at = {"P": ranks, "q": q, "root": ranks + number}
            result, run = closed_forms(workload, on, at), simulate(workload, on, at, effects=())
            alone = collective(name, algorithm, "", order=order)
            sizes = sorted({len(members) for members in groups_of(group, ranks, q)})
            case = (name, algorithm, group, at)
            forecasts = [closed_forms(alone, on, {"P": size}) for size in sizes]
            runs = [simulate(alone, on, {"P": size}, effects=()) for size in sizes]
            assert result.makespan_s == max(one.makespan_s for one in forecasts), case
            assert run.makespan_s == pytest.approx(max(one.makespan_s for one in runs), rel=1e-12), case
            if constants is HOCKNEY:
                assert result.makespan_s == pytest.approx(run.makespan_s, rel=1e-12), case
            assert result.messages == run.messages, case
            assert result.message_bytes == pytest.approx(run.message_bytes, rel=1e-12), case


@pytest.mark.parametrize(("group", "grid"), [("rank // 6", [2, 3]), ("rank % 4", [3, 2]), ("rank // 12", [4, 3])])
def test_exchange_on_the_process_grid_of_each_group(group: str, grid: list[int]) -> None:
    step = f"- exchange: {{pattern: halo2d, bytes: 100, grid: {grid}, group: g, periodic: false}}\n"
    workload = builders.workload(step, HEAD.replace("GROUP", group))
    result, run = closed_forms(workload, machine(), {"P": 24}), simulate(workload, machine(), {"P": 24}, effects=())
    assert result.makespan_s == pytest.approx(run.makespan_s, rel=1e-12)
    assert result.messages == run.messages
    rows, cols = grid
    pairs = set()
    for members in groups_of(group, 24, 1):
        for place in range(rows * cols):
            row, col = divmod(place, cols)
            beside = [(row + 1, col), (row, col + 1)]
            inside = [members[r * cols + c] for r, c in beside if r < rows and c < cols]
            pairs |= {(members[place], other) for other in inside} | {(other, members[place]) for other in inside}
    plan = make_plan(bind(workload, machine(), {"P": 24}))
    sends = np.flatnonzero(plan.kind == SEND)
    assert sorted(zip(plan.rank[sends], plan.peer[sends], strict=True)) == sorted(pairs)


@pytest.mark.thorough
def test_largest_sizes_of_rows_and_columns_in_closed_form_are_those_counted() -> None:
    """``rank // q`` has a closed form, ``floor(rank / q)`` is counted: the same groups, so the same forecast."""
    P, q = np.meshgrid(np.arange(1.0, 41), np.arange(1.0, 13))
    for closed, counted in (("rank // q", "floor(rank / q)"), ("rank % q", "rank - q * floor(rank / q)")):
        results = []
        for group in (closed, counted):
            step = "- allreduce: {bytes: 8 * group_size, group: g}\n- barrier: {group: g}\n"
            workload = builders.workload(step, HEAD.replace("GROUP", group))
            results.append(closed_forms(workload, machine(), {"P": P, "q": q}))
        one, other = results
        assert (one.makespan_s == other.makespan_s).all()
        assert (one.messages == other.messages).all()
        assert (one.message_bytes == other.message_bytes).all()


def test_sends_and_receives_name_ranks_of_the_group() -> None:
    program = (
        "- send: {to: (group_rank + 1) % group_size, bytes: 8 + group_rank, group: g, when: group_size > 1}\n"
        "- receive: {from: (group_rank - 1) % group_size, bytes: 8 + (group_rank - 1) % group_size, group: g,"
        " when: group_size > 1}\n"
    )
    for ranks in (5, 12, 23):
        for group in COLOURS:
            workload = builders.workload(program, HEAD.replace("GROUP", group))
            at = {"P": ranks, "q": 5}
            plan = make_plan(bind(workload, machine(), at))
            sends = np.flatnonzero(plan.kind == SEND)
            sent = sorted(zip(plan.rank[sends], plan.peer[sends], plan.size_bytes[sends], strict=True))
            several = [members for members in groups_of(group, ranks, 5) if len(members) > 1]
            pairs = [
                (own, members[(i + 1) % len(members)], 8.0 + i) for members in several for i, own in enumerate(members)
            ]
            assert sent == sorted(pairs)
            assert closed_forms(workload, machine(), at).messages == len(pairs)


SUMMA = """simcodesign: 1
name: summa
parameters: {n: {default: 4096}, b: {default: 64}, q: {default: 8}}
groups: {row: rank // q, column: rank % q}
program:
  - repeat: n/b
    do:
      - broadcast: {bytes: 8*n*b/q, group: row, root: q - 1}
      - broadcast: {bytes: 8*n*b/q, group: column, root: 1}
      - compute: {flops: 2*n*n*b/P}
"""


def test_summa_is_its_textbook_formula() -> None:
    """n/b steps, each two broadcasts of q = sqrt(P) ranks by binomial trees and an update of n^2/P elements with b
    (van de Geijn and Watts, "SUMMA", Concurrency 9 (1997)): n/b 2 log2 q (alpha + 8 n b/q beta) + 2 n^3/P gamma."""
    n, b, q, alpha, beta, gamma = 4096, 64, 8, 1e-6, 1e-9, 1e-12
    on = builders.machine(builders.network(64, startup_s=alpha, per_byte_s=beta), rate=1 / gamma)
    textbook_s = n / b * 2 * np.log2(q) * (alpha + 8 * n * b / q * beta) + 2 * n**3 / q**2 * gamma
    summa = builders.read_workload(SUMMA)
    assert closed_forms(summa, on, {"P": 64}).makespan_s == pytest.approx(textbook_s, rel=1e-12)
    # Rank 7 is root of its row in each step: the chain that stays there is the whole sum.
    assert simulate(summa, on, {"P": 64}, effects=()).makespan_s == pytest.approx(textbook_s, rel=1e-3)


def test_summa_in_symbols_is_the_forecast() -> None:
    sympy = pytest.importorskip("sympy")
    symbols = phase_formula(builders.read_workload(SUMMA), "main")
    values = {"n": 4096, "b": 64, "q": 8, "P": 64, "t_s": 1e-6, "t_B": 1e-9, "t_c": 1e-12}
    on = builders.machine(builders.network(64, startup_s=1e-6, per_byte_s=1e-9), rate=1e12)
    value = sympy.lambdify(sorted(values), symbols, modules=[{"log2": np.log2}, "numpy"])(
        *(values[name] for name in sorted(values))
    )
    assert value == pytest.approx(closed_forms(builders.read_workload(SUMMA), on, {"P": 64}).makespan_s, rel=1e-12)


def test_counters_and_energy_are_of_the_ranks_in_groups() -> None:
    """Ranks 3, 10 and 17 are in no group: 19 of 22 ranks have 2 allreduces, whose messages are those sent."""
    step = "- repeat: 2\n  do:\n  - allreduce: {bytes: 100 * group_size, group: g, algorithm: ring}\n"
    workload = builders.workload(step, HEAD.replace("GROUP", COLOURS[3]))
    on = builders.machine(builders.network(64, **HOCKNEY, dynamic_power_w=3.0, energy_per_byte_j=1e-9))
    at = {"P": 22, "q": 5}
    run, result = simulate(workload, on, at, effects=(), counters=True), closed_forms(workload, on, at)
    members = groups_of(COLOURS[3], 22, 5)
    where = {rank: len(group) for group in members for rank in group}
    assert run.counters is not None
    collectives = run.counters.of("collectives").reshape(22, -1).sum(axis=1)
    assert collectives.tolist() == [2.0 if rank in where else 0.0 for rank in range(22)]
    assert result.messages == run.messages == sum(2 * 2 * len(group) * (len(group) - 1) for group in members)
    assert result.energy_j == pytest.approx(run.energy_j, rel=1e-12)


SHRINKING = "groups: {left: 'where(rank >= k, 0, -1)'}\nparameters: {size: {default: 100}}\n"


@pytest.mark.parametrize("size", ["size", "size*k"])
def test_groups_that_differ_from_iteration_to_iteration(size: str) -> None:
    """In iteration k a broadcast of ranks k and above; a barrier lets all begin the next one together."""
    on, ranks = builders.machine(builders.network(8, startup_s=1e-6, per_byte_s=1e-9)), 8
    program = f"- {{repeat: 8, index: k, do: [broadcast: {{bytes: {size}, group: left}}, barrier: {{}}]}}\n"
    workload = builders.workload(program, SHRINKING)
    rounds = [(ranks - k - 1).bit_length() for k in range(ranks)]
    expected = sum(count * (1e-6 + 1e-7 * (k if "k" in size else 1)) + 3e-6 for k, count in enumerate(rounds))
    forecasted, simulated = closed_forms(workload, on), simulate(workload, on, effects="none")
    assert forecasted.makespan_s == pytest.approx(expected, rel=1e-12)
    assert simulated.makespan_s == pytest.approx(expected, rel=1e-12)
    assert forecasted.messages == simulated.messages == sum(range(ranks)) + ranks * ranks * 3
    plan = make_plan(bind(workload, on))
    broadcasts = (plan.kind == SEND) & (plan.size_bytes > 0)
    assert "k" in size or {*plan.rank[broadcasts]} == {*range(ranks - 1)}


def test_a_group_with_an_index_outside_its_loop_is_an_error() -> None:
    program = (
        "- {repeat: 8, index: k, do: [broadcast: {bytes: 1, group: left}]}\n- broadcast: {bytes: 1, group: left}\n"
    )
    with pytest.raises(InputError, match="unknown name, got 'k'"):
        builders.workload(program, SHRINKING)


SHIFTS = """
- repeat: P - 1
  index: k
  do:
    - send: {to: (group_rank + 1) % group_size, bytes: 1000*k, group: left}
    - receive: {from: (group_rank - 1) % group_size, group: left}
    - broadcast: {bytes: 1000*k, group: left, root: group_size - 1}
    - {start: {allreduce: {bytes: 8, group: left}}, as: sum}
    - wait: sum
"""


@pytest.mark.parametrize("ranks", [2, 3, 8, 13])
def test_messages_in_groups_that_differ_from_iteration_to_iteration(ranks: int) -> None:
    """A rotation, a broadcast and a sum that is started, among the P - k ranks that are left in iteration k."""
    workload = builders.workload(SHIFTS, SHRINKING)
    forecasted, simulated = (read(workload, machine(), {"P": ranks}) for read in (forecast, simulate))
    left = range(ranks, 1, -1)
    expected = sum(1000 * k * (size + size - 1) for k, size in enumerate(left)) + sum(
        8 * (2 ** (size.bit_length() - 1) * (size.bit_length() - 1) + 2 * (size - 2 ** (size.bit_length() - 1)))
        for size in left
    )
    assert forecasted.message_bytes == pytest.approx(expected, rel=1e-12)
    assert simulated.message_bytes == pytest.approx(expected, rel=1e-12)
    assert forecasted.messages == simulated.messages


def test_a_peer_outside_a_later_group_is_an_error() -> None:
    program = "- {repeat: 3, index: k, do: [send: {to: group_rank + 1, bytes: 1, group: left, when: rank == 2}]}\n"
    with pytest.raises(InputError, match="rank 2: to = group_rank"):
        closed_forms(builders.workload(program, SHRINKING), machine(), {"P": 3})
