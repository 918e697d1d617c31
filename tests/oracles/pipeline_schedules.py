"""Schedules of pipelines written out pass by pass, and a list scheduler for them: an oracle that imports nothing of ours.

Orders are those of the papers: GPipe (Huang et al. 2019), 1F1B and interleaved 1F1B as Megatron-LM runs them (Narayanan
et al., SC21), ZB-H1 (Qi et al. 2023, figure 2). A pass is ``(kind, micro_batch, chunk)``; kinds are F (forward), B
(backward, without gradients of weights where these are W).
"""

from __future__ import annotations

Pass = tuple[str, int, int]
Order = list[list[Pass]]


def gpipe(stages: int, micro_batches: int) -> Order:
    one = [(kind, number, 0) for kind in "FB" for number in range(micro_batches)]
    return [list(one) for _ in range(stages)]


def one_f_one_b(stages: int, micro_batches: int) -> Order:
    orders = []
    for stage in range(stages):
        warm_up = min(stages - stage - 1, micro_batches)
        order = [("F", number, 0) for number in range(warm_up)]
        for number in range(micro_batches - warm_up):
            order += [("F", warm_up + number, 0), ("B", number, 0)]
        order += [("B", number, 0) for number in range(micro_batches - warm_up, micro_batches)]
        orders.append(order)
    return orders


def interleaved(stages: int, micro_batches: int, chunks: int, group: int) -> Order:
    """Groups of ``group`` micro-batches go through a chunk, then through the next; the last group has the rest."""
    groups = [range(first, min(first + group, micro_batches)) for first in range(0, micro_batches, group)]
    forward = [("F", one, chunk) for group in groups for chunk in range(chunks) for one in group]
    backward = [("B", one, chunk) for group in groups for chunk in reversed(range(chunks)) for one in group]
    orders = []
    for stage in range(stages):
        warm_up = min(2 * (stages - stage - 1) + (chunks - 1) * group, len(forward))
        order = forward[:warm_up]
        for one, other in zip(forward[warm_up:], backward, strict=False):
            order += [one, other]
        orders.append(order + backward[len(forward) - warm_up :])
    return orders


def zero_bubble(stages: int, micro_batches: int) -> Order:
    """1F1B whose stage s computes gradients of weights s passes later, the last of them when no pass is left."""
    orders = []
    for stage, passes in enumerate(one_f_one_b(stages, micro_batches)):
        order: list[Pass] = []
        late: list[Pass] = []
        for kind, number, chunk in passes:
            order.append((kind, number, chunk))
            if kind == "B":
                late.append(("W", number, chunk))
                order += [late.pop(0)] if len(late) > stage else []
        orders.append(order + late)
    return orders


def makespan(order: Order, chunks: int, time_of: dict[str, float]) -> float:
    """The end of the last pass, where every pass begins when its stage and its input are ready and messages take no
    time. AssertionError for a schedule that cannot go on."""
    stages = len(order)
    done: dict[tuple[Pass, int], float] = {}
    clock, place = [0.0] * stages, [0] * stages
    while any(at < len(passes) for at, passes in zip(place, order, strict=True)):
        moved = False
        for stage in range(stages):
            while place[stage] < len(order[stage]):
                one = order[stage][place[stage]]
                needed = _input_of(one, stage, stages, chunks)
                if needed is not None and needed not in done:
                    break
                begin = max(clock[stage], 0.0 if needed is None else done[needed])
                clock[stage] = done[one, stage] = begin + time_of[one[0]]
                place[stage] += 1
                moved = True
        assert moved, "the schedule waits for itself"
    return max(clock)


def _input_of(one: Pass, stage: int, stages: int, chunks: int) -> tuple[Pass, int] | None:
    kind, number, chunk = one
    if kind == "W":
        return ("B", number, chunk), stage
    at, last = chunk * stages + stage, chunks * stages - 1
    if kind == "B" and at == last:
        return ("F", number, chunk), stage
    before = at - 1 if kind == "F" else at + 1
    return None if before < 0 else ((kind, number, before // stages), before % stages)
