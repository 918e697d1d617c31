"""Operations that programs in Python yield, checked: each distinct one once."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, isfinite
from typing import Any

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.describe.demands.collective import (
    ALGORITHMS,
    ON_NODES,
    ORDERS,
    ROOTED,
    SEGMENTED,
    SIGNALS,
    algorithm_in_order,
    algorithm_names,
)
from simcodesign.describe.network.algorithm_choice import NCCL
from simcodesign.describe.python_programs.keyword_calls import accelerator_demand, memory_demand
from simcodesign.describe.python_programs.recorded_operations import (
    ACCESS,
    COLLECTIVE,
    COMPUTE,
    COPY,
    KERNEL,
    MEMORY,
    PARTS,
    RECEIVE,
    SEND,
    Operation,
)
from simcodesign.describe.yaml.demands.messages import MOST_TAG


def checked(operation: Operation, ranks: int, place: Place) -> Operation:
    """Return the operation with numbers as float64 and int. InputError for what cannot be among ``ranks`` ranks."""
    kind, name, amount, *rest = operation
    if kind == MEMORY:
        return Operation((kind, name, memory_demand(amount, place)))
    if kind in (KERNEL, COPY):
        accelerator_demand(kind, amount, place)
        return Operation((kind, name, amount))
    if kind == COMPUTE:
        return Operation((kind, name, _amount(amount, name, place)))
    if kind == ACCESS:
        return Operation((kind, name, _amount(amount, "bytes", place), _amount(rest[0], "times", place)))
    if kind == SEND:
        to = _whole(rest[0], "to", ranks - 1, place)
        return Operation((kind, name, _amount(amount, "bytes", place), to, _whole(rest[1], "tag", MOST_TAG, place)))
    if kind == RECEIVE:
        size = None if amount is None else _amount(amount, "bytes", place)
        source = None if rest[0] is None else _whole(rest[0], "source", ranks - 1, place)
        return Operation((kind, name, size, source, _whole(rest[1], "tag", MOST_TAG, place)))
    return _collective(name, amount, rest, ranks, place)


def overlapping(parts: tuple[object, ...], place: Place) -> list[Operation]:
    """Parts that begin together, the processor's part last.

    InputError unless there are two, each at another part of the rank.
    """
    good: list[Operation] = []
    for part in parts:
        if not isinstance(part, Operation) or part[0] not in PARTS:
            value = part[0] if isinstance(part, Operation) else part
            allowed = "sc.rank.compute, memory, kernel, copy, read, write; of messages: start and wait"
            raise InputError("sc.rank.overlap cannot overlap this", place, value=value, allowed=allowed)
        good.append(part)
    busy = [PARTS[part[0]] for part in good]
    if len(good) < 2 or len({*busy}) < len(busy):
        allowed = "two or more of processor, memory, disk, accelerator and link"
        raise InputError("what overlaps is at different parts of a rank", place, value=busy, allowed=allowed)
    return sorted(good, key=lambda part: part[0] == COMPUTE)


def _collective(name: str, size: object, rest: Iterable[Any], ranks: int, place: Place) -> Operation:
    algorithm, root, options, number = rest
    if name in SIGNALS and size:
        raise InputError(f"{name} has no bytes", place, value=size)
    if root is not None and name not in ROOTED:
        raise InputError(f"{name} has no root", place, value=root, allowed=f"root with {', '.join(sorted(ROOTED))}")
    bytes_each = _amount(size, "bytes", place)
    if algorithm is None:
        algorithm = ALGORITHMS[name][0]
    elif algorithm not in algorithm_names(name):
        allowed = nearest(str(algorithm), algorithm_names(name))
        raise InputError(f"no such algorithm of {name}", place, value=algorithm, allowed=allowed)
    if (name, algorithm) in ON_NODES or algorithm == NCCL:
        others = ", ".join(one for one in algorithm_names(name) if (name, one) not in ON_NODES and one != NCCL)
        raise InputError(f"{name} in a program in Python looks at no nodes", place, value=algorithm, allowed=others)
    segments: tuple[int, ...] = ()
    for option, value in options:
        if option == "segment" and (name, algorithm) in SEGMENTED:
            segments = (_segments(bytes_each, value, place),)
        elif option == "order" and (name, algorithm) in ORDERS and value in ("near", "far"):
            algorithm = algorithm_in_order(name, str(algorithm), value)
        else:
            allowed = "bytes, root, algorithm; order = near or far for binomial trees; segment for chains and trees"
            raise InputError(f"{name} ({algorithm}): option {option}", place, value=value, allowed=allowed)
    root = _whole(root or 0, "root", ranks - 1, place)
    return Operation((COLLECTIVE, name, bytes_each, algorithm, root, segments, number))


def _segments(size: float, most: object, place: Place) -> int:
    """Return the number of parts in which the bytes are passed on: the fewest with at most ``most`` bytes each."""
    most_bytes = _amount(most, "segment", place)
    if not most_bytes:
        raise InputError("a segment has no bytes", place, value=most, allowed="more than 0 bytes")
    return max(ceil(size / most_bytes), 1)


def _amount(value: object, what: str, place: Place) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(value, str | bool) or not isfinite(number) or number < 0:
        raise InputError(what, place, value=value, allowed="a number from 0 on")
    return number


def _whole(value: object, what: str, most: int, place: Place) -> int:
    try:
        number = int(value)  # type: ignore[call-overload]
        good = not isinstance(value, str | bool) and number == value and 0 <= number <= most
    except (TypeError, ValueError, OverflowError):
        good = False
    if not good:
        raise InputError(what, place, value=value, allowed=f"a whole number from 0 to {most}")
    return int(number)


def shown(value: object) -> str:
    """Text for a value given instead of an operation."""
    if isinstance(value, Operation):
        return f"{value[0]} ({value[1]})" if isinstance(value[1], str) else str(value[0])
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def is_whole(value: object) -> bool:
    """Return whether a value is a whole number."""
    try:
        return int(value) == value  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError, OverflowError):
        return False
