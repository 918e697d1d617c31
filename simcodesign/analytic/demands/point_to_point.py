"""Closed forms of single messages."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

import numpy as np

from simcodesign.analytic.demands.base import CLOSED_FORMS, Charge, ClosedForm, Occupation
from simcodesign.analytic.demands.messages import message_charge, prices_at
from simcodesign.analytic.formulas.formula_prices import Payment, SymbolicPrices
from simcodesign.analytic.messages.collective_traffic import Traffic, checked_peers
from simcodesign.analytic.messages.costs_by_size import at_size
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts, price
from simcodesign.analytic.messages.route_links import links_of_peers
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.evaluation import EvaluatedStep, Evaluation
from simcodesign.describe.machine import Machine
from simcodesign.describe.programs.groups import GROUP_NAMES, Ints, Membership
from simcodesign.describe.programs.program import walk


class SendForm(ClosedForm[Send]):
    """A send by itself: until its message arrives, and its sender is done."""

    received_apart = True

    def charge(self, demand: Send, step: EvaluatedStep) -> Charge:
        _check_peers(step, "to", demand.to)
        message, here = send_prices(demand, step).message, step.present
        size = step.amount(demand.bytes, "bytes")
        sent = step.over_ranks(here * np.ones_like(size)), step.over_ranks(here * size)
        one = message(size)
        cost = Cost(np.maximum(one.arrival_s, one.send_s), *sent)
        return message_charge(step, cost, lambda: step.over_ranks(one.send_s * here))

    def traffic(self, demand: Send, step: EvaluatedStep) -> Traffic:
        ranks = step.evaluation.design_point.ranks
        source = np.flatnonzero(np.broadcast_to(step.present, ranks))
        target = peers_of(step, "to", demand.to, source)
        size = np.broadcast_to(np.asarray(step.amount(demand.bytes, "bytes"), dtype=np.float64), ranks)
        return Traffic(source, target, size[source], np.ones(len(source)))

    def requirements(self, demand: Send, step: EvaluatedStep, counting: str) -> dict[str, FloatOrArray]:
        return {"sent_bytes": step.amount(demand.bytes, "bytes")}

    def payments(self, demand: Send, prices: SymbolicPrices) -> Iterator[Payment]:
        yield prices.of("t_s"), ()
        yield prices.bytes(demand.bytes, ())

    def model_terms(self, demand: Send) -> list[tuple[str, str]]:
        return [("sent_bytes", demand.bytes.text)]


class ReceiveForm(ClosedForm[Receive]):
    """A receive by itself, of an arrived message: its send has the other part of the time."""

    def charge(self, demand: Receive, step: EvaluatedStep) -> Charge:
        if demand.source is not None:
            _check_peers(step, "from", demand.source)
        held_s = _receive_prices(demand, step).message(received_bytes(demand, step.evaluation)).held_s
        cost = Cost(held_s, 0.0, 0.0)
        return message_charge(step, cost, lambda: step.over_ranks(held_s * step.present))

    def occupation(self, demand: Receive, step: EvaluatedStep) -> Occupation:
        receive_s = empty_receive_s(step.machine, step.evaluation.design_point.ranks)
        # In LogGOPS a message is taken up when it comes, perhaps before the operations preceding its receive.
        in_order = step.machine.network.message_model.ranks_work_in_order
        return Occupation(receive_s if in_order else 0.0, receive_s)

    def payments(self, demand: Receive, prices: SymbolicPrices) -> Iterator[Payment]:
        yield from ()


def send_prices(demand: Send, step: EvaluatedStep) -> MessageCosts:
    """Cost of the message of every rank: by its own route if links differ, which requires looking at all ranks."""
    network, ranks = step.machine.network, step.evaluation.ranks
    if not step.machine.paths_differ:
        return prices_at(step)
    return price(network, ranks, links=links_of_peers(step.machine, _peers_of_all(step, "to", demand.to)))


def _receive_prices(demand: Receive, step: EvaluatedStep) -> MessageCosts:
    """Cost of the receive of every rank: by the level of its message if nodes have networks inside."""
    if demand.source is None or not step.machine.has_levels:
        return prices_at(step)
    peers = _peers_of_all(step, "from", demand.source)
    return price(step.machine.network, step.evaluation.ranks, links=links_of_peers(step.machine, peers))


def _peers_of_all(step: EvaluatedStep, what: str, peer: Expression) -> Ints:
    """Return the peer of every rank, itself if it does not do the step."""
    here = np.asarray(step.present) != 0
    ranks: FloatOrArray = step.evaluation.value(peer, what)
    if step.demand.communicator is not None:
        groups = step.membership
        ranks = groups.rank_of(np.clip(ranks, 0, groups.group_size - 1).astype(np.int64)).astype(np.float64)
    return np.where(here, ranks, step.evaluation.names["rank"]).astype(np.int64)


def empty_receive_s(machine: Machine, ranks: int) -> FloatOrArray:
    """Time of a receive before the bytes count, which only the send determines, copies apart.

    The least of messages of any size.
    """
    networks = (
        at_size(network, size)
        for network in machine.levels
        for size in ([segment.up_to_bytes for segment in network.message_model.segments] or [0.0])
    )
    return functools.reduce(np.minimum, (price(network, ranks, 0.0).message(0.0).receive_s for network in networks))


def received_bytes(receive: Receive, evaluation: Evaluation) -> FloatOrArray:
    """Its own number, or the bytes of the nearest preceding send with its tag, or of the next one if there is none."""
    if receive.bytes is not None:
        return evaluation.amount(receive.bytes, "bytes")
    program = evaluation.design_point.workload.program
    steps = [step for step in walk(program) if isinstance(step, Send | Receive)]
    here = next(place for place, step in enumerate(steps) if step is receive)
    sends = [step for step in (*reversed(steps[:here]), *steps[here:]) if isinstance(step, Send)]
    send = next((step for step in sends if step.tag == receive.tag), None)
    if send is None:
        return 0.0
    if not send.bytes.names & {"rank", *GROUP_NAMES}:
        return evaluation.amount(send.bytes, "bytes")
    if send.group is not None or receive.group is not None:
        what = "a receive in a group whose message's bytes depend on its sender must state its bytes"
        raise InputError(what, receive.place, value=send.bytes.text)
    if receive.source is None:
        most: FloatOrArray = np.max(evaluation.amount(send.bytes, "bytes"), axis=-1, keepdims=True)
        return most  # from anyone: the largest counts
    return evaluation.amount(send.bytes, "bytes", {"rank": receive.source.evaluate(evaluation.names)})


def _check_peers(step: EvaluatedStep, what: str, peer: Expression) -> None:
    """InputError for messages without a peer; all ranks can be looked at only for a single design point."""
    design_point, group = step.evaluation.design_point, step.demand.communicator
    if design_point.shape:
        return
    # The indices of loops whose iterations are evaluated one by one.
    plain = {name: value for name, value in step.evaluation.names.items() if not np.ndim(value)}
    for iteration in step.evaluation.iterations():
        names = {**design_point.values, **plain, "rank": design_point.every_rank(), **iteration}
        if group is None:
            checked_peers(what, peer, names, _present(step, names))
            continue
        workload = design_point.workload
        colour = workload.groups[group]
        members = Membership.by_colour(group, colour.evaluate(names), design_point.ranks, colour, workload.indices)
        names |= {"group_rank": members.group_rank.astype(float), "group_size": members.group_size.astype(float)}
        here = _present(step, names)
        members.checked_peers(peer.evaluate(names), what, peer, here[members.present[here]])


def _present(step: EvaluatedStep, names: Mapping[str, FloatOrArray]) -> Ints:
    """Return the ranks to which a step applies in one iteration, whatever its groups."""
    when = step.demand.when
    here = 1.0 if when is None else when.evaluate(names)
    return np.flatnonzero(np.broadcast_to(here, step.evaluation.design_point.ranks))


def peers_of(step: EvaluatedStep, what: str, peer: Expression, here: Ints) -> Ints:
    """Return the peer of each rank in ``here``, by its number in its group if the step names one.

    All is of one design point.
    """
    if step.demand.communicator is None:
        return checked_peers(what, peer, step.evaluation.names, here)
    return step.membership.checked_peers(step.evaluation.value(peer, what), what, peer, here)


CLOSED_FORMS.add(Send, SendForm())
CLOSED_FORMS.add(Receive, ReceiveForm())
