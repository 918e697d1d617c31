"""A broadcast down a binomial tree on a folded cube, as fluid: an independent calculation of how often its bytes take the
time of one message. Rates are fractions of a link; whenever a message ends, they are filled up anew."""

from __future__ import annotations

from fractions import Fraction

Point = tuple[int, ...]


def folded(side: int, rank: int) -> Point:
    """X, Y, Z, a, b, c of a rank: Y is fastest, then Z; a line goes up one row of half its nodes and down the other."""
    y, z, x = rank % side, rank // side % side, rank // side**2
    half = side // 2
    folds = [(n, 0) if n < half else (side - 1 - n, 1) for n in (x, y, z)]
    return (*(long for long, _ in folds), *(short for _, short in folds))


def route(source: Point, target: Point) -> list[object]:
    """The directed links, one dimension after another; the machine is wider than twice the job, so that no ring helps."""
    links: list[object] = []
    at = list(source)
    for axis, end in enumerate(target):
        while at[axis] != end:
            step = 1 if end > at[axis] else -1
            links.append((tuple(at), axis, step))
            at[axis] += step
    return links


def shares(flows: dict[int, list[object]]) -> dict[int, Fraction]:
    """The rate of each flow: the stations with the smallest share fill first."""
    room = {station: Fraction(1) for stations in flows.values() for station in stations}
    users: dict[object, set[int]] = {station: set() for station in room}
    for flow, stations in flows.items():
        for station in stations:
            users[station].add(flow)
    rates: dict[int, Fraction] = {}
    while len(rates) < len(flows):
        share, station = min(
            ((room[one] / len(own), one) for one, own in users.items() if own), key=lambda item: item[0]
        )
        for flow in [*users[station]]:
            rates[flow] = share
            for one in flows[flow]:
                room[one] -= share
                users[one].discard(flow)
    return rates


def messages_long(side: int, interfaces: int = 6) -> Fraction:
    """When the last rank has the broadcast, in times of one message, without startups: each rank sends to rank + 1, 2, 4,
    ... at once, over its interfaces alternately."""
    ranks, now = side**3, Fraction(0)
    left: dict[int, Fraction] = {}
    ways: dict[int, list[object]] = {}

    def send(rank: int, last: int) -> None:
        for number, distance in enumerate(2**k for k in range(last)):
            child = rank + distance
            way = route(folded(side, rank), folded(side, child))
            ways[child], left[child] = [("interface", rank, number % interfaces), *way], Fraction(1)

    send(0, (ranks - 1).bit_length())
    while left:
        rates = shares({child: ways[child] for child in left})
        step = min(left[child] / rates[child] for child in left)
        now += step
        left = {child: rest - step * rates[child] for child, rest in left.items()}
        done = [child for child, rest in left.items() if rest == 0]
        for child in done:
            del left[child]
        for child in done:
            send(child, (child & -child).bit_length() - 1)
    return now
