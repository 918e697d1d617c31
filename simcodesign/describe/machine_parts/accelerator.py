"""The accelerators of a node, and their links to the host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.keys.forms import ABOVE_0, Amount, Choice, Constant, Quantity, Whole
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Section, bandwidth
from simcodesign.describe.machine_parts.efficiency import Efficiency, EfficiencyForm
from simcodesign.describe.machine_parts.rates import RATES, Rates, by_format
from simcodesign.describe.yaml.tree import Entry


@dataclass(frozen=True)
class Accelerator:
    """``count`` accelerators of every node, all alike.

    A kernel is launched in ``launch_s`` by the processor, then computes at ``rate_flop_per_s``, or in a number format
    at one of ``rates``, times ``efficiency`` and ``efficiency_by_shape``, while its bytes pass at ``memory_per_byte_s``
    each, ``memory_latency_s`` after its beginning; it takes the longer of the two. For kernels of attention,
    ``attention_efficiency`` and ``attention_efficiency_by_shape`` replace these two efficiencies, unless the former is
    None. Its memory holds ``capacity_bytes``, of which ``reserved_bytes`` are for buffers of messages and other
    software, not for footprints of ranks.
    A copy of m bytes between host and accelerator takes ``link_latency_s + m link_per_byte_s``; both directions work at
    the same time if the link ``is_full_duplex``. None: not stated. At work it draws ``dynamic_power_w``. The effect
    ``interference`` takes the fraction ``interference`` off the rate of a kernel while messages of its rank are in
    flight.
    """

    count: int
    rate_flop_per_s: FloatOrArray | None = None
    launch_s: FloatOrArray = 0.0
    memory_latency_s: FloatOrArray = 0.0
    memory_per_byte_s: FloatOrArray | None = None
    capacity_bytes: FloatOrArray | None = None
    reserved_bytes: float = 0.0
    link_latency_s: FloatOrArray = 0.0
    link_per_byte_s: FloatOrArray | None = None
    is_full_duplex: bool = True
    dynamic_power_w: FloatOrArray | None = None
    rates: Rates = field(default_factory=Rates)
    efficiency: FloatOrArray = 1.0
    efficiency_by_shape: Efficiency | None = None
    attention_efficiency: FloatOrArray | None = None
    attention_efficiency_by_shape: Efficiency | None = None
    interference: float = 0.0

    def of_ranks(self, node: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the accelerator of every rank (P,), numbered node after node.

        The ranks of a node, by their ``place`` in it, use its accelerators round robin.
        """
        return node * self.count + place % self.count


def needed_accelerator(
    accelerator: Accelerator | None, machine: str, place: Place, lacking: NDArray[np.bool_] | None = None
) -> Accelerator:
    """Return the accelerator for a demand at ``place``.

    InputError where the machine has none, and where ranks use one that are on nodes without; ``lacking`` (..., P):
    which ranks these are.
    """
    if lacking is not None and lacking.any():
        what = f"rank {int(np.nonzero(lacking)[-1][0])} uses an accelerator, which the nodes of its partition have not"
        raise InputError(what, place, allowed="'when: ...', or a mapping onto partitions that have accelerators")
    if accelerator is None:
        what = f"this needs an accelerator, which {machine} has not"
        raise InputError(what, place, allowed="a machine with 'accelerator: {count: ..., rate: ...}'")
    return accelerator


def needed_rate(accelerator: Accelerator, format: str | FloatOrArray, machine: str, place: Place) -> FloatOrArray:
    """Return its operations per second in a number format, or in none if ``format`` is empty, at the efficiency 1.

    ``format``: the name of one, or numbers of formats (``FORMAT_NUMBERS``).

    InputError where the machine does not state it.
    """
    return by_format(format, place, lambda name: _needed_rate_in(accelerator, name, machine, place))


def _needed_rate_in(accelerator: Accelerator, format: str, machine: str, place: Place) -> FloatOrArray:
    """Return its operations per second in one number format, or in none."""
    rate = getattr(accelerator.rates, format) if format else accelerator.rate_flop_per_s
    if rate is None:
        key = f"rates.{format}" if format else "rate"
        stated = ", ".join(f"type: {name}" for name in accelerator.rates.stated())
        what = f"this needs accelerator.{key}, which {machine} does not state"
        raise InputError(
            what, place, allowed=f"a machine with it, --set accelerator.{key}=...{f'; here {stated}' if stated else ''}"
        )
    assert not isinstance(rate, Rates)
    return rate


def efficiency_of(
    accelerator: Accelerator,
    amounts: Mapping[str, FloatOrArray | None],
    machine: str,
    place: Place,
    is_attention: bool = False,
) -> FloatOrArray:
    """Return the fraction of its rates that a kernel with these amounts reaches.

    ``is_attention``: whether the kernel is attention, which has an efficiency of its own if the machine states one.

    InputError unless it is above 0 and at most 1, and for an amount that is needed and None.
    """
    key, efficiency, by_shape = "accelerator.efficiency", accelerator.efficiency, accelerator.efficiency_by_shape
    if is_attention and accelerator.attention_efficiency is not None:
        key, efficiency = "accelerator.attention_efficiency", accelerator.attention_efficiency
        by_shape = accelerator.attention_efficiency_by_shape
    if by_shape is not None:
        names = {name: amount for name, amount in amounts.items() if amount is not None}
        efficiency = efficiency * by_shape.at(names, key, place)
    every = np.asarray(efficiency)
    good = (every > 0) & (every <= 1)
    if not np.all(good):
        what = f"{key} of {machine} is out of range"
        raise InputError(what, place, value=float(every[~good].flat[0]), allowed="a fraction above 0, at most 1")
    return efficiency


def needed_per_byte_s(per_byte_s: FloatOrArray | None, part: str, machine: str, place: Place) -> FloatOrArray:
    """Return the time per byte of its ``memory`` or ``link``. InputError where the machine does not state it."""
    if per_byte_s is None:
        what = f"this needs the bandwidth of accelerator.{part}, which {machine} does not state"
        raise InputError(what, place, allowed=f"accelerator: {{..., {part}: {{bandwidth: ...}}}}")
    return per_byte_s


MAX_ACCELERATORS = 10_000
BELOW_1 = "0 or above, below 1"
_MEMORY = Section(
    Key("latency", Constant("time"), "time of a kernel's access without its bytes", "0 s", field="memory_latency_s"),
    *bandwidth("bandwidth", "per_byte", "memory_per_byte_s", "bytes per second between the accelerator and its memory"),
    Key("capacity", Constant("size", ABOVE_0), "bytes of its memory", field="capacity_bytes"),
    Key(
        "reserved",
        Amount("size"),
        "bytes of it that footprints cannot have: buffers of messages, and other software",
        "0 B",
        field="reserved_bytes",
    ),
)
_LINK = Section(
    Key("latency", Constant("time"), "time of a copy without its bytes", "0 s", field="link_latency_s"),
    *bandwidth("bandwidth", "per_byte", "link_per_byte_s", "bytes per second of a copy, in each direction"),
    Key(
        "duplex",
        Choice({"full": True, "half": False}),
        "`full`: both directions concurrently; `half`: one at a time",
        "full",
        field="is_full_duplex",
    ),
)


class _BelowOne(Quantity):
    """A fraction from 0 to below 1."""

    range = BELOW_1

    def __init__(self) -> None:
        super().__init__("count")

    def read(self, entry: Entry) -> float:
        value = entry.quantity(self.dimension)
        if not 0 <= value < 1:
            raise entry.error("interference is out of range", BELOW_1)
        return value


def _accelerator(**values: Any) -> Accelerator:
    """Return the accelerator of these fields; each of its efficiencies is a number, or depends on the shape."""
    for name in ("efficiency", "attention_efficiency"):
        if isinstance(values.get(name), Efficiency):
            values |= {name: 1.0, f"{name}_by_shape": values[name]}
    return Accelerator(**values)


#: Keys of ``accelerator``.
ACCELERATOR = Section(
    Key("count", Whole(1, MAX_ACCELERATORS), "accelerators of a node", required=True),
    Key(
        "rate",
        Constant("rate", ABOVE_0),
        "operations per second of one accelerator, for kernels without `type`",
        field="rate_flop_per_s",
    ),
    Key("rates", RATES, "operations per second of one accelerator by number format, for kernels with `type`"),
    Key(
        "efficiency",
        EfficiencyForm(),
        "fraction of `rates` that kernels reach, at most 1",
        "1",
    ),
    Key(
        "attention_efficiency",
        EfficiencyForm(),
        "fraction of `rates` that kernels of attention reach, at most 1",
        "as `efficiency`",
    ),
    Key("launch", Constant("time"), "time of the processor to start a kernel", "0 s", field="launch_s"),
    Key("memory", _MEMORY, "the memory of an accelerator", field=""),
    Key("link", _LINK, "what copies between host and accelerator take", field=""),
    Key("interference", _BelowOne(), "fraction of its rate that a kernel loses while messages are in flight", "0"),
    Key("dynamic_power", Constant("power"), "what one draws while it computes", field="dynamic_power_w"),
    make=_accelerator,
)
