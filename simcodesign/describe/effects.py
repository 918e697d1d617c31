"""The effects that a closed form leaves out: the switches of a simulation, one record each, in the order of the ladder.

An effect names the mechanisms of ``generate`` that it switches on, or changes the finished Plan by ``change_plan``; one
of another package may do both. The package calls ``register`` when it is imported; an entry point makes that happen::

    [project.entry-points."simcodesign.effects"]
    slow_links = "slow_links"
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from simcodesign.core.errors import InputError, nearest
from simcodesign.core.registry import load_entry_points

#: Predicate of a Workload and a Machine; these are not named here, so that effects can be listed without importing
#: NumPy.
Predicate = Callable[[Any, Any], bool]
#: From a Plan, its DesignPoint and the seed to the Plan that is simulated.
PlanChange = Callable[[Any, Any, int], Any]


class Mechanism(Enum):
    """A part of the simulation that closed forms lack; several effects may switch on one."""

    OWN_ROUTES = auto()  # a message costs what its own route does, not what the distance law of the machine gives
    LINKS = auto()  # messages occupy the links of their routes
    INTERFACES = auto()  # messages occupy the network interfaces of their nodes
    NODE_NETWORKS = auto()  # messages occupy the networks inside nodes, and load the memory of nodes
    RECEIVE_QUEUES = auto()  # receives look for their messages in queues of their rank
    DISKS = auto()  # accesses queue at shared disks
    CONTROLLERS = auto()  # memory demands queue at the memory controllers of a node, slice by slice
    ACCELERATORS = auto()  # kernels queue at accelerators, copies at their links
    STORAGE_SERVERS = auto()  # accesses queue at the servers of the storage
    ORDERED_USES = auto()  # uses of resources that conflict begin one after another
    CACHE_SETS = auto()  # accesses to memory go through the sets of caches
    INTERFERENCE = auto()  # kernels run slower while messages of their rank are in flight
    UNEVEN_RANKS = auto()  # ranks compute at different speeds, or different shares
    VARIED_TIMES = auto()  # times of operations are drawn at random
    OTHER_JOBS = auto()  # messages of other jobs are on the links
    FAILURES = auto()  # nodes fail, and ranks continue from their last checkpoint


def _always(workload: Any, machine: Any) -> bool:
    return True


def _never(workload: Any, machine: Any) -> bool:
    return False


def _in_any_run(result: Any) -> bool:
    return True


def _has_messages(result: Any) -> bool:
    return bool(result.messages > 0)


def _accesses_memory(result: Any) -> bool:
    return any(count > 0 for count in result.served.values())


def _accesses_disks(result: Any) -> bool:
    """Return whether any rank is busy with disks: the critical path may have none of that."""
    place = list(result.components).index("disk")
    return bool((result.ranks.busy_s[..., place] > 0).any())


def _sends(workload: Any, machine: Any) -> bool:
    """Return whether messages may leave their nodes."""
    to_storage = _uses_storage(workload, machine) and bool(machine.storage.nodes)
    return machine.nodes > 1 and (bool(workload.may_use("network")) or to_storage)


def _sends_within_nodes(workload: Any, machine: Any) -> bool:
    """Return whether messages may have a network inside their node."""
    inside = machine.has_levels and not machine.placement.has_one_each
    return bool(inside) and bool(workload.may_use("network"))


def _sends_by_routes(workload: Any, machine: Any) -> bool:
    return bool(machine.has_levels or machine.network.routes_matter) and bool(workload.may_use("network"))


def _searches_queues(workload: Any, machine: Any) -> bool:
    """Return whether the machine states what an entry of a queue takes, and ranks receive messages."""
    return bool(machine.network.search_s > 0) and bool(workload.may_use("network"))


def _shares_disks(workload: Any, machine: Any) -> bool:
    if machine.disk is None or not workload.may_use("disk"):
        return False
    alone = machine.placement.has_one_each and machine.disk.shared_by == 1
    return not alone or not workload.uses_one_at_a_time("disk")


def _goes_through_caches(workload: Any, machine: Any) -> bool:
    return machine.memory is not None and bool(workload.may_use("memory"))


def _shares_controllers(workload: Any, machine: Any) -> bool:
    return not machine.placement.has_one_each and _goes_through_caches(workload, machine)


def _shares_accelerators(workload: Any, machine: Any) -> bool:
    used = [part for part in ("accelerator", "link") if workload.may_use(part)]
    if machine.accelerator is None or not used:
        return False
    alone = machine.ranks_of_an_accelerator == 1
    return not alone or not all(workload.uses_one_at_a_time(part) for part in used)


def _has_own_accelerators(workload: Any, machine: Any) -> bool:
    return machine.accelerator is None or machine.ranks_of_an_accelerator == 1


def _sends_beside_kernels(workload: Any, machine: Any) -> bool:
    """Return whether the machine states an interference, and messages and kernels of a rank may continue together."""
    stated = machine.accelerator is not None and machine.accelerator.interference > 0
    return bool(
        stated
        and not workload.uses_one_at_a_time("accelerator")
        and workload.may_use("accelerator")
        and workload.may_use("network")
    )


def _uses_storage(workload: Any, machine: Any) -> bool:
    return machine.storage is not None and bool(workload.may_use("storage"))


def _allocates_at_random(workload: Any, machine: Any) -> bool:
    """Return whether files begin on any of the servers of the storage."""
    return _uses_storage(workload, machine) and machine.storage.allocation == "random"


def _has_conflicts(workload: Any, machine: Any) -> bool:
    return bool(machine.custom.conflicts) and bool(workload.uses_resources)


def _meets_others(workload: Any, machine: Any) -> bool:
    background = machine.background is not None and machine.background.load > 0
    return background and _sends(workload, machine)


def _uses_processors(workload: Any, machine: Any) -> bool:
    """Return whether processors have work; combining what messages bring, and packing, is work if it takes any time."""
    processes = machine.network.processes_data or workload.sets_processing
    return bool(workload.may_use("processor")) or (processes and bool(workload.may_use("network")))


def _computes(workload: Any, machine: Any) -> bool:
    return _uses_processors(workload, machine) or bool(workload.may_use("accelerator"))


def _is_uneven(workload: Any, machine: Any) -> bool:
    """Return whether shares of computation are uneven, processors have several speeds, or nodes are slow."""
    shares = bool(workload.imbalance_model) or bool(machine.noise_model.slow_nodes)
    speeds = machine.processor.speeds_differ and _uses_processors(workload, machine)
    return bool(speeds) or (shares and _computes(workload, machine))


def _is_randomly_uneven(workload: Any, machine: Any) -> bool:
    """Return whether shares of computation or slow nodes are random; nodes given by name are slow for every seed."""
    slow = machine.noise_model.slow_nodes
    return _computes(workload, machine) and (bool(workload.imbalance_model) or (slow is not None and slow.is_random))


def _is_noisy(workload: Any, machine: Any) -> bool:
    """Return whether demands vary, or the machine has noise of something that the workload does."""
    has_work = {
        "compute": _computes(workload, machine),
        "disk": workload.may_use("disk") or workload.may_use("storage"),
        "memory": workload.may_use("memory"),
        "network": workload.may_use("network"),
    }
    noise = machine.noise_model
    bursts = bool(noise.bursts) and _uses_processors(workload, machine)
    return bool(workload.varies) or bursts or any(has_work[part] for part in machine.varied_parts)


def _fails(workload: Any, machine: Any) -> bool:
    return machine.failures is not None and not workload.is_open


@dataclass(frozen=True)
class Effect:
    """A switch of the simulation.

    ``words``: what it is, as the cause of a difference. ``adds``: what it adds to a simulation, in a sentence.
    ``implies``: effects that it brings with it.
    ``acts_on``: whether it may change a simulation of this workload on this machine, by their descriptions alone.
    ``present_in``: whether a simulation (a ``Result``) has anything that it acts on, such as messages between ranks.
    An effect that either one rules out is not simulated.
    ``random_on``: whether what it does depends on the seed; None for an effect that is never random.
    ``changes_work``: no bounds of the forecast hold with it. ``lower_bound``: the name of the bound that holds only
    with it. ``keeps_alike``: whether ranks that do the same still begin and end it at the same times.
    ``switches_on``: the mechanisms of the simulation that it needs. ``change_plan``: changes the finished Plan
    (``generate.plan``).
    """

    name: str
    words: str
    adds: str
    implies: tuple[str, ...] = ()
    acts_on: Predicate = _always
    present_in: Callable[[Any], bool] = _in_any_run
    random_on: Predicate | None = None
    changes_work: bool = False
    lower_bound: str = ""
    keeps_alike: Predicate = _never
    switches_on: tuple[Mechanism, ...] = ()
    change_plan: PlanChange | None = None


#: ``conflicts`` comes before the effects that change the work itself, since the bounds still hold for it.
SHIPPED = (
    Effect(
        "hops",
        "the routes of the messages (hops)",
        "latency, and bandwidth where links differ, by each message's own route, instead of the distance law (`none`, "
        "`one`, `log2`, `sqrt`, `mean`) of the machine",
        acts_on=_sends_by_routes,
        present_in=_has_messages,
        keeps_alike=_always,
        switches_on=(Mechanism.OWN_ROUTES,),
    ),
    Effect(
        "links",
        "contention for links (links)",
        "messages queue for the links of their route, hop by hop, or share them by `network.sharing` (includes `hops`)",
        implies=("hops",),
        acts_on=_sends,
        present_in=_has_messages,
        lower_bound="most loaded link",
        switches_on=(
            Mechanism.OWN_ROUTES,
            Mechanism.LINKS,
        ),
    ),
    Effect(
        "interfaces",
        "the sharing of network interfaces (interfaces)",
        "what a node sends queues for injection at its network interfaces, what it receives for ejection (full duplex, "
        "or both for the same with `duplex: half`); a stored message is slowed down by one slower than its last link",
        acts_on=_sends,
        present_in=_has_messages,
        lower_bound="most loaded interface",
        switches_on=(Mechanism.INTERFACES,),
    ),
    Effect(
        "node",
        "the sharing of the networks inside nodes (node)",
        "messages within a node queue for the interfaces and links of the networks that the machine has inside its "
        "nodes and sockets, or share them as `network.sharing` specifies (includes `hops`)",
        implies=("hops",),
        acts_on=_sends_within_nodes,
        present_in=_has_messages,
        lower_bound="most loaded part of a node",
        switches_on=(
            Mechanism.OWN_ROUTES,
            Mechanism.NODE_NETWORKS,
        ),
    ),
    Effect(
        "matching",
        "the search for messages in the queues of their receivers (matching)",
        "a receive takes `network.matching` longer for each message that arrived before its own and still waits",
        acts_on=_searches_queues,
        present_in=_has_messages,
        switches_on=(Mechanism.RECEIVE_QUEUES,),
    ),
    Effect(
        "disks",
        "queueing at shared disks (disks)",
        "accesses queue for shared disks",
        acts_on=_shares_disks,
        present_in=_accesses_disks,
        lower_bound="most loaded disk",
        switches_on=(Mechanism.DISKS,),
    ),
    Effect(
        "memory",
        "the sharing of memory controllers (memory)",
        "processors of a node queue for its memory controllers and for what lies between its sockets, a sixteenth of "
        "a demand at a time",
        acts_on=_shares_controllers,
        present_in=_accesses_memory,
        lower_bound="most loaded memory",
        switches_on=(Mechanism.CONTROLLERS,),
    ),
    Effect(
        "accelerators",
        "the sharing of accelerators and their links (accelerators)",
        "ranks of a node queue for its accelerators, and copies for their links, each direction by itself",
        acts_on=_shares_accelerators,
        lower_bound="most loaded accelerator",
        keeps_alike=_has_own_accelerators,
        switches_on=(Mechanism.ACCELERATORS,),
    ),
    Effect(
        "storage",
        "queueing at the servers of the storage (storage)",
        "stripes of files queue for the servers of the storage that they are on, and operations for its metadata "
        "server, instead of even shares of all servers",
        acts_on=_uses_storage,
        random_on=_allocates_at_random,
        lower_bound="most loaded storage",
        switches_on=(Mechanism.STORAGE_SERVERS,),
    ),
    Effect(
        "conflicts",
        "the order of uses of conflicting resources (conflicts)",
        "uses of resources that conflict begin one after another in their order, instead of the heaviest set of them",
        acts_on=_has_conflicts,
        keeps_alike=_always,
        switches_on=(Mechanism.ORDERED_USES,),
    ),
    Effect(
        "caches",
        "the sets, sharing and write-backs of caches, instead of stack distances (caches)",
        "accesses go through the sets of a cache hierarchy, which also writes lines back, instead of the stack model, "
        "round robin by rank if caches are shared; for a profile or formula, the accesses of a stream that is made "
        "from it",
        acts_on=_goes_through_caches,
        present_in=_accesses_memory,
        changes_work=True,
        keeps_alike=_always,
        switches_on=(Mechanism.CACHE_SETS,),
    ),
    Effect(
        "interference",
        "kernels slowed by messages (interference)",
        "kernels of accelerators run at a lower rate while messages of their rank are in flight "
        "(`accelerator.interference` of the machine)",
        acts_on=_sends_beside_kernels,
        present_in=_has_messages,
        changes_work=True,
        keeps_alike=_always,
        switches_on=(Mechanism.INTERFERENCE,),
    ),
    Effect(
        "imbalance",
        "uneven shares of computation, and slow nodes (imbalance)",
        "the ranks' shares of the computation differ (`imbalance:` of the workload), processors have speeds of their "
        "own (`processor.speeds` of the machine), some nodes are slow (`noise.slow_nodes`)",
        acts_on=_is_uneven,
        random_on=_is_randomly_uneven,
        changes_work=True,
        switches_on=(Mechanism.UNEVEN_RANKS,),
    ),
    Effect(
        "noise",
        "noise of the machine, and demands that vary (noise)",
        "times vary (`noise:` of the machine), and demands that say so (`varies:` of the workload)",
        acts_on=_is_noisy,
        random_on=_is_noisy,
        changes_work=True,
        switches_on=(Mechanism.VARIED_TIMES,),
    ),
    Effect(
        "background",
        "messages of other jobs on the links (background)",
        "other jobs send messages over the links (`background:` of the machine) until the job ends (includes `links`)",
        implies=("links",),
        acts_on=_meets_others,
        present_in=_has_messages,
        random_on=_meets_others,
        changes_work=True,
        switches_on=(
            Mechanism.OWN_ROUTES,
            Mechanism.LINKS,
            Mechanism.OTHER_JOBS,
        ),
    ),
    Effect(
        "failures",
        "failures of nodes, and what was lost by them (failures)",
        "nodes fail at random (`failures:` of the machine): all ranks continue from their last checkpoint "
        "(`checkpoints:` of the workload), or begin again",
        acts_on=_fails,
        random_on=_fails,
        changes_work=True,
        switches_on=(Mechanism.FAILURES,),
    ),
)
_LADDER = list(SHIPPED)
#: Where installed packages say which of their modules register effects.
ENTRY_POINTS = "simcodesign.effects"


def ladder() -> tuple[Effect, ...]:
    """All effects, including effects of installed packages, in the order in which ``compare`` switches them on."""
    load_entry_points(ENTRY_POINTS)
    return tuple(_LADDER)


def effect_names() -> tuple[str, ...]:
    """Return the names of all effects, in the order of the ladder."""
    return tuple(effect.name for effect in ladder())


def effect_named(name: str) -> Effect:
    """Return the record of an effect. InputError for an unknown name."""
    for effect in ladder():
        if effect.name == name:
            return effect
    allowed = f"{nearest(str(name)[:100], effect_names())}; or all, or none"
    raise InputError("no such effect", value=name, allowed=allowed)


def register(effect: Effect, before: str | None = None) -> Effect:
    """Add an effect to the ladder: at its end, or before another one.

    Raises InputError for a name in use, and for an unknown effect to precede, or to imply.
    """
    names = [known.name for known in _LADDER]
    if effect.name in (*names, "all", "none"):
        raise InputError("there is an effect of this name", value=effect.name, allowed="a name of its own")
    for other in (*effect.implies, *([] if before is None else [before])):
        if other not in names:
            raise InputError("no such effect", value=other, allowed=nearest(other, names))
    _LADDER.insert(len(names) if before is None else names.index(before), effect)
    return effect


def unregister(name: str) -> None:
    """Take an effect off the ladder again. InputError for an unknown name."""
    _LADDER.remove(effect_named(name))


def chosen_effects(effects: str | Collection[str]) -> tuple[str, ...]:
    """Return the chosen effects and those that they imply, in the order of the ladder.

    ``effects``: ``"all"``, ``"none"``, a list in one text or a collection.

    Raises InputError for an unknown one.
    """
    if isinstance(effects, str):
        named = {"all": effect_names(), "none": ()}.get(effects)
        effects = named if named is not None else effects.replace(",", " ").split()
    chosen: set[str] = set()
    to_add = list(effects) if isinstance(effects, Iterable) else [effects]
    while to_add:
        effect = effect_named(to_add.pop(0))
        to_add += [name for name in effect.implies if name not in chosen]
        chosen.add(effect.name)
    return tuple(name for name in effect_names() if name in chosen)


def random_effects(workload: Any, machine: Any, effects: Collection[str]) -> tuple[str, ...]:
    """Effects whose action depends on the seed."""
    return tuple(
        effect.name
        for effect in ladder()
        if effect.name in effects and effect.random_on is not None and effect.random_on(workload, machine)
    )


def switched_on(effects: Collection[str]) -> frozenset[Mechanism]:
    """Return the mechanisms that these effects switch on."""
    records = (effect for effect in ladder() if effect.name in effects)
    return frozenset(mechanism for effect in records for mechanism in effect.switches_on)


def changing_effects(effects: Collection[str]) -> tuple[str, ...]:
    """Effects that change the work itself, so that no bounds hold."""
    return tuple(effect.name for effect in ladder() if effect.name in effects and effect.changes_work)
