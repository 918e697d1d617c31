"""Closed form of a collective demand: uses the algorithm's closed form from ``analytic/collectives``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from simcodesign.analytic.collectives.algorithm_form import algorithm_form_of
from simcodesign.analytic.collectives.loaded import loaded_s
from simcodesign.analytic.collectives.on_levels import OnLevels, Refined, chosen_costs, refined
from simcodesign.analytic.demands.base import (
    CLOSED_FORMS,
    ESTIMATE_IN_LOGGOPS,
    LEAST_IN_LOGGOPS,
    Charge,
    ClosedForm,
    Floats,
)
from simcodesign.analytic.demands.messages import flies_at, group_charge, prices_at
from simcodesign.analytic.formulas.formula_prices import Payment, SymbolicPrices
from simcodesign.analytic.group_levels import LevelGroups, first_alike, level_groups
from simcodesign.analytic.group_sizes import (
    GroupSize,
    check_roots,
    group_sizes,
    members_of_groups,
    put_in,
    size_names,
    symbolic_size,
)
from simcodesign.analytic.indexed_loops.index_shapes import CONSTANT, IndexedLoop, Shape
from simcodesign.analytic.messages.collective_traffic import Traffic, collective_traffic
from simcodesign.analytic.messages.even_sharing import evenly_shared_s
from simcodesign.analytic.messages.message import FREE
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts, price, selected
from simcodesign.analytic.messages.message_models.base import hold_receivers
from simcodesign.analytic.messages.message_order import Ordered, in_steps
from simcodesign.analytic.messages.node_levels import levels_at
from simcodesign.analytic.messages.ordered_steps import Ints, Steps
from simcodesign.analytic.messages.route_links import links_of_pairs
from simcodesign.analytic.pipelining.pace import Carry, rounds
from simcodesign.analytic.pipelining.succession import UNKNOWN, Operation, Ranks, Succession, takes_all
from simcodesign.analytic.power import all_busy_s
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import parse
from simcodesign.core.expressions.expression_sympy import to_sympy
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.collective import ALGORITHMS, ON_NODES, SEGMENT_ROUNDING, SIGNALS, Collective
from simcodesign.describe.evaluation import EvaluatedStep

#: Algorithms of which forecasts in LogGOPS are estimates (docs/collectives.md).
ESTIMATED_IN_LOGGOPS = ("ring_channels", "double_tree", "hierarchical_chunks")


class CollectiveForm(ClosedForm[Collective]):
    """Collective operations of all ranks, or of groups: the price of the group that takes longest."""

    def charge(self, demand: Collective, step: EvaluatedStep) -> Charge:
        sizes = group_sizes(step)
        check_roots(step, demand.root, sizes)
        several, basis = _groups_on_levels(demand, step), set[str]()

        def of_group(groups: GroupSize) -> tuple[Cost, Callable[[], FloatOrArray]]:
            if isinstance(groups, LevelGroups):
                found = _cost_on_levels(demand, step, groups)
                basis.add(found.basis)
                return found.cost, lambda: found.busy_s
            if demand.looks_at_nodes:
                if _is_least(demand, step, levels_at(step).between.ranks):
                    basis.add(LEAST_IN_LOGGOPS)
                elif step.machine.network.message_model.has_gaps and demand.algorithm in ESTIMATED_IN_LOGGOPS:
                    basis.add(ESTIMATE_IN_LOGGOPS)
                found = _on_nodes(demand, step)
                return found.cost, lambda: found.busy_s
            prices = prices_at(step, groups.ranks).copied_late
            cost = _cost(demand, step, prices, size_names(step, groups))
            if _is_least(demand, step, groups.ranks, size_names(step, groups)):
                basis.add(LEAST_IN_LOGGOPS)
            if _is_estimate(demand, step, groups.ranks, size_names(step, groups)):
                basis.add(ESTIMATE_IN_LOGGOPS)
            return cost, lambda: all_busy_s(cost, prices)

        charge = group_charge(step, several or sizes, of_group)
        return replace(charge, basis=tuple(f"{demand.label}: {text}" for text in sorted(basis) if text))

    def index_shape(self, demand: Collective, step: EvaluatedStep, loop: IndexedLoop) -> Shape | None:
        """In Hockney's model without rendezvous and segments, of whole messages, prices are convex in the size.

        So is the largest of the groups' prices.
        """
        network, groups = step.machine.network, group_sizes(step)
        is_convex = network.message_model.price_is_convex and not network.has_segments
        if not is_convex or np.isfinite(network.sharing.stored_bytes) or step.evaluation.design_point.has_power:
            return None
        if demand.looks_at_nodes or demand.is_sized_by_rank or demand.segment is not None:
            return None
        if not loop.has_roots(step, demand.root, groups):
            return None
        shape = Shape.of(demand.bytes.tree, loop.index)
        if shape is None or shape == CONSTANT:
            return shape
        if demand.is_open or (len(groups) > 1 and "group_size" in demand.bytes.names):
            return None
        names, form = {**step.evaluation.names, **size_names(step, groups[0])}, algorithm_form_of(demand)
        several = _groups_on_levels(demand, step)

        def price_s(size: FloatOrArray) -> FloatOrArray:
            most_s: FloatOrArray = 0.0
            for one in several or groups:
                if isinstance(one, LevelGroups):
                    cost = _cost_on_levels(demand, step, one, size).cost
                else:
                    cost = form.cost(size, prices_at(step, one.ranks).copied_late)
                most_s = np.maximum(most_s, cost.time_s * (np.asarray(one.count) > 0))
            return most_s

        return shape if loop.is_linear(price_s, demand.bytes, names) else None

    def operation(self, demand: Collective, step: EvaluatedStep, charge: Charge) -> Operation:
        if demand.group is not None or demand.is_sized_by_rank or demand.looks_at_nodes:
            return Operation(step.phase, demand.label, float(charge.time_s))
        several = _groups_on_levels(demand, step)
        is_followed = several is not None and _on_levels(step, several[0]).is_followed(demand)
        if is_followed or (several is None and hold_receivers(step.machine.levels)):
            return Operation(step.phase, demand.label, float(charge.time_s))
        form = algorithm_form_of(demand)
        prices = prices_at(step) if several is None else _on_levels(step, several[0]).prices()
        ranks, size = int(step.evaluation.design_point.ranks), float(step.amount(demand.bytes, "bytes"))
        root = 0 if demand.root is None else int(np.max(step.evaluation.value(demand.root, "root")))
        flies, succession = flies_at(prices, size), form.succession if demand.segment is None else UNKNOWN
        alike = not (form.folds and is_folded(ranks))
        cost = Cost(charge.time_s, charge.messages, charge.message_bytes)
        all_busy = takes_all(all_busy_s(cost, prices) / ranks, charge.time_s)
        waits = bool(np.any(prices.message(size).waits))  # a sender for its receiver: rows are not derived then
        repeated = None if waits and prices.message(size).in_order else succession.repeated
        return Operation(
            step.phase,
            demand.label,
            float(charge.time_s),
            (demand.key, size, root, id(step.machine)),
            ends_together=succession.ends_together and alike,
            waits_for_all=form.synchronises and alike and not flies,
            whole_time=lambda: np.asarray(True) if all_busy else _from_zero(succession.whole_time(ranks, flies), root),
            repeated_s=None if repeated is None else lambda times: float(repeated(size, prices, times)),
            row_with_gaps_s=_row_with_gaps(succession, size, prices),
            carry=_carry(succession, size, prices) if alike else None,
        )

    def traffic(self, demand: Collective, step: EvaluatedStep) -> Traffic:
        parts = []
        for steps, size, segments, members in _steps_of_groups(demand, step):
            one = collective_traffic(steps, size / segments).among(members)
            parts.append(replace(one, messages=one.messages * segments))
        return Traffic.together(parts)

    def ordered(self, demand: Collective, step: EvaluatedStep) -> Ordered:
        network, ranks = step.machine.network, step.evaluation.design_point.ranks
        several = _steps_of_groups(demand, step)
        one = Ordered.together([in_steps(*group, network) for group in several])
        return one.priced(network, ranks, links_of_pairs(step.machine, ranks, one.source, one.target))

    def evenly_shared_s(self, demand: Collective, step: EvaluatedStep) -> float | None:
        if demand.group is not None or demand.is_sized_by_rank:
            return None
        pattern = algorithm_form_of(demand).doubling
        if pattern is None:
            return None
        size_bytes = float(step.amount(demand.bytes, "bytes"))
        return evenly_shared_s(step.machine, step.evaluation.design_point.ranks, size_bytes, pattern)

    def loaded_s(self, demand: Collective, step: EvaluatedStep, charge: Charge) -> FloatOrArray | None:
        return loaded_s(demand, step, charge.time_s)

    def rounds_s(self, demand: Collective, own_s: Floats) -> float | None:
        """Return the work of the least busy rank on the rounds that every rank takes part in.

        Ranks that only fold in and out of a power of two have less to do than the rounds; the last rank has them all.
        """
        if demand.group is not None:
            return None
        ranks, form = len(own_s), algorithm_form_of(demand)
        if not form.synchronises or ranks == 1:
            return None
        return float(own_s[-1]) if form.folds and is_folded(ranks) else float(own_s.min())

    def message_rows(self, demand: Collective, ranks: int) -> float:
        free = MessageCosts(float(ranks), lambda size: FREE)
        ways = [replace(demand, algorithm=algorithm) for algorithm in demand.possible]
        return max(float(algorithm_form_of(way).cost(0.0, free).messages) for way in ways)

    def requirements(self, demand: Collective, step: EvaluatedStep, counting: str) -> dict[str, FloatOrArray]:
        if demand.looks_at_nodes:
            what = f"{demand.label} has no requirements of its own: what it sends depends on the ranks of a node"
            raise InputError(what, demand.place, value=demand.algorithm, allowed=_of_ranks_alone(demand))
        network, ranks = step.evaluation.machine.network, step.evaluation.ranks
        sent_bytes: FloatOrArray = 0.0
        for groups in group_sizes(step):
            size = step.amount(demand.bytes, "bytes", size_names(step, groups))
            mean = np.mean(size, axis=-1, keepdims=True) if demand.is_sized_by_rank else size
            for way, where in demand.choices(groups.ranks, size):
                form = algorithm_form_of(way)
                if counting == "cost_functions":
                    each = mean * form.sent_per_byte(groups.ranks) * (groups.members / ranks)
                elif form.of_sizes is not None and demand.is_sized_by_rank:
                    each = form.of_sizes(_from_root(demand, step, size), price(network, ranks)).message_bytes / ranks
                else:
                    each = groups.count * form.cost(size, price(network, groups.ranks)).message_bytes / ranks
                each = np.broadcast_to(each, np.shape(size)) if demand.is_sized_by_rank else each
                sent_bytes = sent_bytes + (each if where.all() else np.where(where, each, 0.0))
        return {"sent_bytes": sent_bytes}

    def payments(self, demand: Collective, prices: SymbolicPrices) -> Iterator[Payment]:
        _check_named(demand)
        form = algorithm_form_of(demand)
        ranks, texts = symbolic_size(demand, prices.workload), (form.messages_in_turn, form.sizes_in_turn)
        if demand.segment is not None:
            segments = f"max(ceil(({demand.bytes.text})/({demand.segment.text})), 1)"
            if not form.pace_in_turn:
                raise InputError(f"{demand.label} has no formula in segments", demand.place, allowed="no segment")
            in_turn = f"min(P - 1, 1)*({form.messages_in_turn} + {form.pace_in_turn}*({segments} - 1))"
            texts = in_turn, f"{in_turn}/{segments}"
        messages, sizes = (to_sympy(put_in(parse(text), "P", ranks)) for text in texts)
        yield prices.of("t_s"), (messages,)
        yield prices.bytes(put_in(demand.bytes, "group_size", ranks), (sizes,))
        if form.copies_in_turn:
            copies = to_sympy(put_in(parse(form.copies_in_turn), "P", ranks))
            yield prices.of("t_q"), (copies,)
            yield prices.of("t_v"), (to_sympy(put_in(demand.bytes, "group_size", ranks)), copies)

    def model_terms(self, demand: Collective) -> list[tuple[str, str]]:
        if demand.name in SIGNALS:
            return []
        _check_named(demand)
        name = algorithm_form_of(demand).cost_function or f"{demand.name}_{demand.algorithm}"
        return [("sent_bytes", f"({demand.bytes.text})*{name}({'P' if demand.group is None else 'group_size'})")]


def _steps_of_groups(demand: Collective, step: EvaluatedStep) -> Iterator[tuple[Steps, FloatOrArray, int, Ints]]:
    """Yield the steps of groups, their bytes, in how many segments these go, and the members (groups, n)."""
    for members, names in members_of_groups(step, demand.root):
        size = step.amount(demand.bytes, "bytes", names)
        size = np.asarray(size)[members[0]] if demand.is_sized_by_rank else float(size)
        way = demand.choices(float(members.shape[1]), size)[0][0]
        form, segments = algorithm_form_of(way), int(_segments(way, step, names))
        if form.on_nodes is None:
            steps, times = form.steps_in(members.shape[1], segments)
            yield steps, size, times, members
            continue
        node = step.machine.node_of(step.evaluation.design_point.ranks)[members]
        rows, which = np.unique(first_alike(node), axis=0, return_inverse=True)
        for number, row in enumerate(rows):
            yield form.on_nodes.steps_on(row, step.machine), size, segments, members[which.ravel() == number]


def _from_zero(ranks: Ranks, root: int) -> Ranks:
    """Reorder values of ranks so that rank 0 is the root."""
    return np.roll(ranks, root) if ranks.ndim else ranks


def _from_root(demand: Collective, step: EvaluatedStep, sizes: FloatOrArray) -> FloatOrArray:
    """(..., P) bytes of all ranks, the root's first."""
    if demand.root is None:
        return sizes
    ranks, roots = np.shape(sizes)[-1], np.asarray(step.evaluation.value(demand.root, "root")).astype(np.int64)
    places = (np.arange(ranks) + (roots[..., :1] if roots.ndim else roots)) % ranks
    every, places = np.broadcast_arrays(sizes, places)
    return np.take_along_axis(every, places, axis=-1)


def _cost(
    demand: Collective,
    step: EvaluatedStep,
    prices: MessageCosts,
    names: Mapping[str, FloatOrArray] | None,
    size_bytes: FloatOrArray | None = None,
) -> Cost:
    """Cost of one such operation, by the algorithm that it takes at each point; of other bytes if given."""
    size = step.amount(demand.bytes, "bytes", names) if size_bytes is None else size_bytes
    parts = [(where, _cost_of(way, step, prices, names, size)) for way, where in demand.choices(prices.ranks, size)]
    return parts[0][1] if len(parts) == 1 else selected(parts)


def _cost_of(
    way: Collective,
    step: EvaluatedStep,
    prices: MessageCosts,
    names: Mapping[str, FloatOrArray] | None,
    size: FloatOrArray,
) -> Cost:
    """Return the cost of one algorithm."""
    form = algorithm_form_of(way)
    if way.is_sized_by_rank and form.of_sizes is not None:
        return form.of_sizes(_from_root(way, step, size), prices)
    if way.segment is None or form.segmented is None:
        return form.cost(size, prices)
    try:
        return form.segmented(size, prices, _segments(way, step, names))
    except InputError as error:
        raise InputError(error.what, error.place or way.place, value=way.label, allowed=error.allowed) from None


def _is_least(
    demand: Collective,
    step: EvaluatedStep,
    ranks: FloatOrArray,
    names: Mapping[str, FloatOrArray] | None = None,
) -> bool:
    """Whether its cost among these ranks, or nodes, is a lower bound at some design point, in LogGOPS."""
    if step.machine.network.message_model.ranks_work_in_order:
        return False
    choices = demand.choices(ranks, step.amount(demand.bytes, "bytes", names))
    parts = ((algorithm_form_of(way).least_in_loggops, where) for way, where in choices)
    return any(is_least is not None and bool(np.any(is_least(ranks) & where)) for is_least, where in parts)


def _is_estimate(
    demand: Collective, step: EvaluatedStep, ranks: FloatOrArray, names: Mapping[str, FloatOrArray] | None
) -> bool:
    """Whether its cost is an estimate at some design point, in LogGOPS."""
    if step.machine.network.message_model.ranks_work_in_order:
        return False
    choices = demand.choices(ranks, step.amount(demand.bytes, "bytes", names))
    return any(algorithm_form_of(way).estimate_in_loggops for way, _ in choices)


def _on_nodes(demand: Collective, step: EvaluatedStep) -> Refined:
    """Cost of an operation that looks at nodes, and for how long all ranks are at work on its messages."""
    size = step.amount(demand.bytes, "bytes")
    if demand.is_open:
        return chosen_costs(
            [(where, _on_nodes(way, step)) for way, where in demand.choices(step.evaluation.ranks, size)]
        )
    form, levels = algorithm_form_of(demand), levels_at(step)
    if form.on_nodes is None:
        prices = prices_at(step, step.evaluation.ranks).copied_late
        cost = form.cost(size, prices)
        return Refined(cost, all_busy_s(cost, prices), "")
    costs = form.on_nodes.cost(size, levels)
    busy_s = all_busy_s(costs.within, levels.within) + all_busy_s(costs.between, levels.between)
    return Refined(costs.whole, busy_s, "")


def _groups_on_levels(demand: Collective, step: EvaluatedStep) -> list[LevelGroups] | None:
    """Return the groups by their location; None if that makes no difference, or there are too many ranks to look at."""
    in_nodes = demand.looks_at_nodes and (demand.group is not None or _has_uneven_nodes(step))
    if step.machine.network.node is None and not step.machine.has_levels and not in_nodes:
        return None
    return level_groups(step, demand.root, demand.looks_at_nodes)


def _has_uneven_nodes(step: EvaluatedStep) -> bool:
    """Whether some nodes have fewer ranks than others."""
    placement, ranks = step.machine.placement, step.evaluation.ranks
    return bool(np.any(placement.most_on_a_node(ranks) * placement.nodes_used(ranks) != ranks))


def _on_levels(step: EvaluatedStep, groups: LevelGroups) -> OnLevels:
    return OnLevels(step.machine, step.evaluation.ranks, groups)


def _cost_on_levels(
    demand: Collective, step: EvaluatedStep, groups: LevelGroups, size_bytes: FloatOrArray | None = None
) -> Refined:
    """Cost of groups at their location; of other bytes than the demand's if these are given."""
    on, names = _on_levels(step, groups), size_names(step, groups)
    size = step.amount(demand.bytes, "bytes", names) if size_bytes is None else size_bytes
    if demand.is_open and demand.looks_at_nodes:
        choices = demand.choices(groups.ranks, size)
        return chosen_costs([(where, _cost_on_levels(way, step, groups, size)) for way, where in choices])
    form = None if demand.is_open else algorithm_form_of(demand)
    if form is not None and form.on_nodes is not None:
        levels = on.node_levels()
        costs = form.on_nodes.cost(size, levels)
        cost, busy_s = costs.whole, all_busy_s(costs.within, levels.within) + all_busy_s(costs.between, levels.between)
    else:
        prices = on.prices().copied_late
        cost = _cost(demand, step, prices, names, size)
        busy_s = all_busy_s(cost, prices)
    if demand.meets:
        return Refined(cost, busy_s, on.basis_of_meetings(demand))
    if not on.is_followed(demand):
        return Refined(cost, busy_s, "")
    return refined(demand, size, on, cost, busy_s, lambda way: _segments(way, step, names))


def _of_ranks_alone(demand: Collective) -> str:
    """Return the algorithms that do not look at nodes."""
    return ", ".join(name for name in ALGORITHMS[demand.name] if (demand.name, name) not in ON_NODES)


def _check_named(demand: Collective) -> None:
    """InputError where the algorithm depends on numbers, or on the nodes of the machine."""
    if demand.looks_at_nodes:
        what = f"{demand.label} has no formula: its messages depend on the ranks of a node"
        raise InputError(what, demand.place, value=demand.algorithm, allowed=_of_ranks_alone(demand))
    if demand.is_open:
        what = f"{demand.label} has no formula: which algorithm it takes depends on the bytes and the ranks"
        raise InputError(what, demand.place, allowed=", ".join(demand.possible))


def _segments(demand: Collective, step: EvaluatedStep, names: Mapping[str, FloatOrArray] | None) -> FloatOrArray:
    """In how many parts the bytes are passed on. InputError if segments are to have no bytes."""
    if demand.segment is None:
        return 1.0
    most_bytes = np.asarray(step.amount(demand.segment, "segment", names))
    if (most_bytes <= 0).any():
        raise InputError("a segment has no bytes", demand.segment.place, value=0.0, allowed="more than 0 bytes")
    exact = np.asarray(step.amount(demand.bytes, "bytes", names)) / most_bytes
    parts: FloatOrArray = np.maximum(np.ceil(exact - SEGMENT_ROUNDING), 1.0)
    return parts


def _row_with_gaps(succession: Succession, size: float, prices: MessageCosts) -> Callable[[float], float | None] | None:
    """Seconds of a number of it in a row, in LogGOPS."""
    row = succession.row_with_gaps
    if row is None or prices.message(size).in_order:
        return None
    return lambda times: row(size, prices, times)


def _carry(succession: Succession, size: float, prices: MessageCosts) -> Carry | None:
    """Its rounds, if they are all alike, in LogGOPS."""
    if succession.rounds is None:
        return None
    count, each = succession.rounds(size, float(prices.ranks))
    message = prices.message(each)
    return None if message.in_order else rounds(message, count)


def is_folded(ranks: int) -> bool:
    """Whether some ranks only fold in and out of a power of two."""
    return ranks & (ranks - 1) != 0


CLOSED_FORMS.add(Collective, CollectiveForm())
