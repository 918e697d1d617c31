"""Base class of all demands. A demand is a leaf of a program: one thing that ranks do.

A kind of demand is added in four places: its dataclass (here in describe/demands), its keys in a workload file
(``demand`` in describe/yaml/demands/base.py), its closed form (``CLOSED_FORMS`` in analytic/demands/base.py) and its
lowering to operations (``LOWERINGS`` in generate/demands/base.py). Modules of these folders are imported by
themselves. Other packages register the same four in a module and name it as an entry point::

    [project.entry-points."simcodesign.demands"]
    sleep = "my_package.sleep"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.core.expressions.expression import Expression, parse
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine import Machine
from simcodesign.describe.randomness.distribution import Distribution

#: Evaluates an expression, and names it in errors.
Evaluate = Callable[[Expression, str], FloatOrArray]
ONE = parse(1)
#: The part of a machine that messages use; the parts of a rank are named by ``Demand.works_on``.
NETWORK = "network"
MESSAGES = frozenset({NETWORK})
#: Where other packages name the modules that register kinds of demands.
ENTRY_POINTS = "simcodesign.demands"


@dataclass(frozen=True)
class Demand:
    """The ranks that it applies to (all, when ``when`` is None) and its place in the file.

    ``started_as``: the name under which it is started, so that its ranks continue immediately, until a ``Wait`` of this
    name; empty for what they do at its place. ``polled``: if that is not 0, it begins when a ``Poll`` of this name
    finds that its first message has arrived, or at the ``Wait``, and its ranks do nothing else until it is done.
    """

    when: Expression | None
    place: Place = field(compare=False)
    started_as: str = field(default="", kw_only=True)
    polled: Expression | None = field(default=None, kw_only=True)
    #: Whether its amounts must be the same for every rank, so that they may not depend on ``rank``.
    alike_on_all_ranks: ClassVar[bool] = False
    #: Whether a program may start it and wait for it later.
    can_be_started: ClassVar[bool] = False
    #: The part of a rank that it keeps busy: parts that differ may work at the same time. Empty for messages.
    works_on: ClassVar[str] = ""
    #: Other parts of the machine that it may use, by ``NETWORK`` and the names of ``works_on``. None for the one
    #: that it works on; for any part, if it works on none, as in kinds of demands of other packages.
    uses_parts: ClassVar[frozenset[str] | None] = None

    def amounts(self) -> Iterator[Expression]:
        """Every expression on which the cost of this demand depends."""
        yield from ()

    def peers(self) -> Iterator[Expression]:
        """Yield the ranks that it names: they differ from rank to rank, but the cost does not depend on them."""
        yield from ()

    def rank_expressions(self) -> Iterator[Expression]:
        """Yield the expressions that may name ``rank``, in which amounts must be the same for every rank."""
        yield from self.peers()

    def data_names(self) -> Iterator[tuple[str, Place]]:
        """Yield the data structures of the workload that it names, and where."""
        yield from ()

    def at(self, names: Mapping[str, FloatOrArray], machine: Machine) -> Demand:
        """Return the demand where names have these values, on a machine.

        Itself, unless it leaves something to be chosen by them.
        """
        return self

    def expressions(self) -> Iterator[Expression]:
        """Every expression of this demand."""
        if self.when is not None:
            yield self.when
        if self.polled is not None:
            yield self.polled
        yield from self.peers()
        yield from self.amounts()

    @property
    def parts(self) -> frozenset[str] | None:
        """Return the parts of the machine that it may use. None: any part.

        The parts in ``uses_parts`` of its class, or the part that it ``works_on``.
        """
        return self.uses_parts if self.uses_parts is not None or not self.works_on else frozenset({self.works_on})

    @property
    def label(self) -> str:
        """Its kind in words: for tables in which a demand is a row."""
        return kind_in_words(type(self))

    @property
    def title(self) -> str:
        """Its kind and its amounts in words."""
        return " ".join([kind_in_words(type(self)), ", ".join(amount.text for amount in self.amounts())]).rstrip()

    @property
    def variation(self) -> Distribution | None:
        """How its times vary each time that it is done; None if they do not."""
        return getattr(self, "varies", None)

    @property
    def sends_as(self) -> str | None:
        """How its messages are sent, if that is not left to the machine (``network.sends``)."""
        return None

    @property
    def collective_algorithm(self) -> tuple[str, str] | None:
        """The operation and the algorithm of a collective operation; None of others."""
        return None

    def sent_on(self, machine: Machine) -> Machine:
        """Return the machine whose messages are sent like the demand's, and through as many interfaces.

        The same object for all demands of this kind.
        """
        tuning = machine.network.tunings.get(self.collective_algorithm or ("", ""))
        return machine.sending(self.sends_as, None if tuning is None else tuning.interfaces)

    @property
    def communicator(self) -> str | None:
        """The groups of ranks that do it, each by itself; None if all ranks are one."""
        return getattr(self, "group", None)

    @property
    def differs_by_rank(self) -> bool:
        """Whether its cost may differ from rank to rank; the ranks of a group may be all that do it."""
        if self.communicator is not None and not self.alike_on_all_ranks:
            return True
        return self.when is not None or any("rank" in amount.names for amount in self.amounts())


def kind_in_words(kind: type) -> str:
    """``DiskAccess`` as "disk access"."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", kind.__name__).lower()


def grid_error(
    ranks: FloatOrArray, written: Sequence[Expression], extents: Sequence[FloatOrArray], place: Place
) -> InputError:
    """Return the error for a process grid that does not hold ``ranks`` ranks.

    With its extents, if they are single numbers.
    """
    several = "P" if np.size(ranks) > 1 else f"P = {int(np.asarray(ranks).item())}"
    texts = " x ".join(extent.text for extent in written)
    single = all(np.size(extent) == 1 for extent in extents)
    numbers = " x ".join(f"{float(np.asarray(extent).item()):.6g}" for extent in extents) if single else ""
    value = f"{texts} = {numbers}" if texts and numbers and texts != numbers else numbers or texts
    what = f"the process grid does not hold {several} ranks"
    return InputError(what, place, value=value, allowed="whole numbers whose product is P")
