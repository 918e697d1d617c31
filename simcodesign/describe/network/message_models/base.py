"""Base class of all models of messages, and their registry.

A model is a frozen dataclass of its constants in one module of this folder, which registers it by the name that machine
files have for it. ``generate.messages.message_models`` defines what its messages do in a simulation,
``analytic.messages.message_models`` what they cost in a forecast; both are found by its class. What else differs
between models is a property of the class, named by the reason: no code asks which model it is.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import ClassVar, Self

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.core.registry import Registry
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.keys.forms import Choice, Constant, Flag
from simcodesign.describe.keys.key import Key

ENTRY_POINTS = "simcodesign.message_models"


@dataclass(frozen=True)
class SizeSegment(ABC):
    """The constants of messages above the segment before it, up to and including ``up_to_bytes``.

    They are for all bytes of a message, not for those beyond the segment before. None: the constant of the model. With
    ``rendezvous`` what comes after a send waits until the receiver takes the message up, as above S. Each model has
    segments of its own.
    """

    up_to_bytes: FloatOrArray = np.inf
    rendezvous: bool = field(default=False, kw_only=True)

    @property
    @abstractmethod
    def per_byte_s(self) -> FloatOrArray:
        """Seconds per byte of a message."""


@dataclass(frozen=True)
class MessageModel(ABC):
    """Cost of a message of m bytes for its sender and its receiver, and its time of arrival.

    ``per_byte_s``: seconds per byte of a message. Beyond ``rendezvous_above_bytes`` (S), what comes after a send waits
    until the receiver takes the message up. ``segments``: the constants by the size of a message, instead of the
    model's; only the constants in ``beside_segments`` may be stated as well.
    """

    #: Name in machine files, and for readers.
    name: ClassVar[str]
    title: ClassVar[str]
    #: Keys of its constants, choices and flags in the network of a machine file; the last required one is the time per
    #: byte.
    keys: ClassVar[tuple[Key, ...]] = ()
    #: The constants among them: key -> field and dimension. Those that are required, and the others.
    required: ClassVar[Mapping[str, tuple[str, str]]]
    optional: ClassVar[Mapping[str, tuple[str, str]]]
    #: Constants that a segment may leave out, and the model then states.
    beside_segments: ClassVar[tuple[str, ...]] = ()
    #: Segments of its messages by size.
    segment: ClassVar[type[SizeSegment]]
    #: The choices among them: key, and field -> its words; and the flags.
    choices: ClassVar[Mapping[str, tuple[str, ...]]]
    flags: ClassVar[tuple[str, ...]]
    #: Flags that are false between nodes, and that each network inside nodes states for itself.
    flags_of_level: ClassVar[tuple[str, ...]] = ()
    #: Constants by the symbols of the literature.
    symbols: ClassVar[Mapping[str, str]] = {}
    #: Ranks do their operations in the order of the program; otherwise messages have the processor as they come.
    ranks_work_in_order: ClassVar[bool] = True
    #: Sends, and receives, of a rank begin some time apart, which may be longer than they take.
    has_gaps: ClassVar[bool] = False
    #: A message within a node may have a startup and a bandwidth of its own.
    has_local_costs: ClassVar[bool] = False
    #: After a startup, the bytes enter the network by themselves: they may go in packets, and choose a route then.
    bytes_follow_startup: ClassVar[bool] = False
    #: Several messages that follow one another are as one that takes as long (``train``).
    goes_in_trains: ClassVar[bool] = False
    #: Formulas in symbols (t_s, t_w) describe its messages. Subclasses do not inherit it: they cost more.
    has_symbolic_prices: ClassVar[bool] = False

    rendezvous_above_bytes: FloatOrArray | None = field(default=None, kw_only=True)
    segments: tuple[SizeSegment, ...] = field(default=(), kw_only=True)

    def __init_subclass__(cls) -> None:
        cls.has_symbolic_prices = vars(cls).get("has_symbolic_prices", False)
        constants = [(key, key.form.dimension) for key in cls.keys if isinstance(key.form, Constant)]
        cls.required = {key.name: (key.target, dimension) for key, dimension in constants if key.required}
        cls.optional = {key.name: (key.target, dimension) for key, dimension in constants if not key.required}
        cls.choices = {key.name: tuple(key.form.choices) for key in cls.keys if isinstance(key.form, Choice)}
        cls.flags = tuple(key.name for key in cls.keys if isinstance(key.form, Flag))

    @property
    @abstractmethod
    def per_byte_s(self) -> FloatOrArray:
        """Seconds per byte of a message."""

    @property
    def startup_s(self) -> FloatOrArray:
        """Time of a message before its bytes, whatever its size, if messages within a node have one of their own."""
        return 0.0

    @classmethod
    def constants(cls) -> Mapping[str, tuple[str, str]]:
        """Key of a constant in a file -> field and dimension, of the model alone."""
        return {**cls.required, **cls.optional}

    @classmethod
    def constants_by_size(cls) -> Mapping[str, tuple[str, str]]:
        """Return the constants that segments can state: those that are fields of its segments."""
        own = {one.name for one in fields(cls.segment)}
        return {key: constant for key, constant in cls.constants().items() if constant[0] in own}

    @classmethod
    def per_byte_key(cls) -> str:
        """Return the key of the time per byte."""
        return [*cls.required][-1]

    @classmethod
    def in_segments(cls) -> tuple[str, ...]:
        """Keys of constants that a model with segments does not state itself."""
        return tuple(key for key in cls.constants_by_size() if key not in cls.beside_segments)

    @property
    def least_s_per_byte(self) -> FloatOrArray:
        """Seconds per byte of the fastest messages, if they differ by size."""
        if not self.segments:
            return self.per_byte_s
        return functools.reduce(np.minimum, (segment.per_byte_s for segment in self.segments))

    @property
    def price_is_convex(self) -> bool:
        """Whether the time of a message is a convex function of its size."""
        return False

    @property
    def has_receive_overhead(self) -> bool:
        """Whether some message keeps its receiver busy."""
        return True

    @property
    def receives_by_size(self) -> bool:
        """Whether how long a message keeps its receiver busy depends on its segment, where ranks work in order."""
        return False

    def sending(self, sends: str | None) -> Self:
        """Return the model of messages sent so (``sends``); itself if that is not given, or makes no difference."""
        return self

    @property
    def bytes_hold_sender(self) -> bool:
        """Whether a message holds its sender while its bytes leave."""
        return False

    @property
    def flight_holds_sender(self) -> bool:
        """Whether what the hops add holds the sender, too."""
        return False

    @property
    def holds_both_ends(self) -> bool:
        """Whether a message holds its receiver for as long as its sender, from when the receive has its turn."""
        return False

    @property
    def bytes_flow_together(self) -> bool:
        """Whether the bytes of concurrent messages of a rank flow in parallel, each as fast as one alone."""
        return False

    @property
    def starts_at_every_hop(self) -> bool:
        """Whether a message is sent again at every hop."""
        return False

    @property
    def has_rendezvous(self) -> bool:
        """Whether some senders wait until their messages are taken up."""
        return self.rendezvous_above_bytes is not None or any(segment.rendezvous for segment in self.segments)

    @property
    def half_performance_bytes(self) -> FloatOrArray | None:
        """The size whose bytes take as long as the startup; None if that is none, or no startup."""
        return None

    @abstractmethod
    def sender_words(self, last: str | None) -> str:
        """For what a message holds its sender.

        ``last``: what of it has passed when that ends, where links are shared so that this releases senders.
        """

    @abstractmethod
    def receiver_words(self) -> str:
        """For what a message holds its receiver."""

    def check(self, place: Place) -> None:
        """InputError for properties of the model that cannot be."""
        for key, allowed in self.choices.items():
            if (value := getattr(self, key)) not in allowed:
                raise InputError(
                    f"network.{key}: not one of the choices", place, value=value, allowed=", ".join(allowed)
                )
        for key in self.flags:
            if not isinstance(value := getattr(self, key), bool):
                raise InputError(f"network.{key}: not one of the choices", place, value=value, allowed="true, false")


#: The models that there are, by name.
MESSAGE_MODELS: Registry[str, type[MessageModel]] = Registry("message model", __name__, ENTRY_POINTS)
