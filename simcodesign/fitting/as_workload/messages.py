"""Models of the bytes that a rank sends, as steps of a program that send them.

A factor Allreduce(p), Bcast(p) or Alltoall(p) becomes that collective operation, with the other factors as its
payload; what is left goes to the neighbours of a periodic process grid. What a rank sends on average is then the
model's value: for Bcast and Alltoall with any number of ranks; for Allreduce with a power of two (with others,
recursive doubling sends fewer than log2(P) payloads); for neighbours in one dimension with any number of ranks, in
more dimensions where the grid has min(dims, floor(log2(P))) of more than one rank, as it has for powers of two (a
prime has one: less is sent). One rank alone sends nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from simcodesign.fitting.as_workload.demands import PATTERNS
from simcodesign.fitting.collective_shapes import COLLECTIVES
from simcodesign.fitting.normal_form import Model, Term

#: Collective operation of a model -> its pattern.
_PATTERN_OF: Mapping[str, str] = MappingProxyType({"Allreduce": "allreduce", "Bcast": "bcast", "Alltoall": "alltoall"})
#: Pattern -> the collective operation as which a rank sends its payload.
_SENT_AS: Mapping[str, str] = MappingProxyType(
    {"allreduce": "Allreduce", "bcast": "Bcast", "alltoall": "Alltoall", "allgather": "Alltoall"}
)


@dataclass(frozen=True)
class Part:
    """Bytes sent by one pattern: of a collective operation the ``payload``, otherwise the bytes themselves."""

    pattern: str
    payload: Model

    @property
    def sent(self) -> str:
        """Bytes that a rank sends on average per unit of the payload, as a factor of an expression; empty for 1."""
        return f"*{_shape(self.pattern, 'P')}" if self.pattern in _SENT_AS else ""


def parts_of(model: Model, ranks: str, neighbours: str) -> list[Part]:
    """Return the parts of a model: collective operations of the parameter ``ranks``; the rest goes to neighbours."""
    payloads: dict[str, list[Term]] = {}
    rest = []
    for term in model.terms:
        name = next((factor.collective for factor in term.factors if factor.parameter == ranks), "")
        if name:
            payloads.setdefault(name, []).append(_payload(term, ranks))
        else:
            rest.append(term)
    parts = [Part(_PATTERN_OF[name], Model(model.parameters, 0.0, tuple(terms))) for name, terms in payloads.items()]
    if rest or model.constant or not parts:
        parts.append(Part(neighbours, Model(model.parameters, model.constant, tuple(rest))))
    return parts


def has_negative(model: Model) -> bool:
    """Whether a coefficient is below zero: then the model may be so too, away from the data."""
    return model.constant < 0 or any(term.coefficient < 0 for term in model.terms)


def has_collective(model: Model, ranks: str) -> bool:
    """Whether a collective operation of the parameter ``ranks`` is a factor of the model."""
    return any(factor.collective and factor.parameter == ranks for term in model.terms for factor in term.factors)


def _payload(term: Term, ranks: str) -> Term:
    """Return the term without the collective operation of ``ranks``."""
    factors = [replace(factor, collective="") if factor.parameter == ranks else factor for factor in term.factors]
    return Term(term.coefficient, tuple(f for f in factors if f.exponent or f.log or f.collective))


def payload_step(pattern: str, payload: str, halves: bool) -> str:
    """Return the step that sends this payload; half of it if ``halves`` (bytes sent and received)."""
    if pattern in _SENT_AS:
        operation, algorithm = PATTERNS[pattern]
        return f'{operation}: {{bytes: "{payload}{"/2" if halves else ""}", algorithm: {algorithm}}}'
    return bytes_step(pattern, payload, halves)


def bytes_step(pattern: str, sent: str, halves: bool) -> str:
    """Return the step in which a rank sends ``sent`` bytes on average; half of them if ``halves``."""
    operation, algorithm = PATTERNS[pattern]
    twice = 2 if halves else 1
    if pattern in _SENT_AS:
        # One rank sends nothing, whatever its payload: that must only be a number.
        each = f"{sent}/{'2/' if halves else ''}{_shape(pattern, 'max(P, 2)')}"
        return f'{operation}: {{bytes: "{each}", algorithm: {algorithm}}}'
    dims = int(pattern[4])
    sides = f"{2 * twice}" if dims == 1 else f"({2 * twice}*min({dims}, max(1, floor(log2(P)))))"
    return f'{operation}: {{pattern: {pattern}, bytes: "{sent}/{sides}"}}'


def _shape(pattern: str, ranks: str) -> str:
    return COLLECTIVES[_SENT_AS[pattern]].formula.format(ranks)
