"""Predictions from hardware counters of small runs, compared with the simulated truth at 128 processes and a larger size.

Source: Ding et al., APMT, sections 4.2 and 5, Figures 11 and 12: errors of about 15 % on average, and less than those of
two models that know total times only. What stands there was measured on other machines with the benchmarks themselves;
here workloads that are shaped like them are simulated with every effect on. Their constants were published or assumed
before any prediction was made, and neither they nor the pipeline were tuned to what follows: the verdicts say what came
out. Two seeds a code, so that intervals are wide; ``simcodesign fit-counters --profile`` takes more, and its
--ladder shows which effect breaks a prediction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from simcodesign.counters.prediction import ANALYTIC, EMPIRICAL
from simcodesign.describe.machine import Machine
from simcodesign.describe.scenario import Scenario
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_machine
from simcodesign.describe.yaml.machine import machine_from
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.describe.yaml.workload import workload_from
from simcodesign.studies.extrapolation.study import Extrapolation, ExtrapolationStudy, run_extrapolation
from simcodesign.studies.extrapolation.trials import PLAIN, REFINED, ApplicationRun, Trial
from simcodesign.studies.validation.case import Case, Derived, Readings, Tolerance

from .claims import PAPER, stated

MACHINE = "xeon-cluster"
SEEDS = range(2)
#: What ``fit-counters --profile ... --ladder`` shows of the codes that are off.
UNSEEN = (
    "runs on 2 to 16 processes show working sets that fit no cache yet and messages within one node: that misses of CG, "
    "LU, SP and MG fall to none on the way to 128 processes, and that waits of FT, LU and EP follow load and contention "
    "rather than bytes and log P, is in no form of the models"
)
UNTUNED = "No constant of the workloads or of the models was chosen by this."


@dataclass(frozen=True)
class Code:
    """Which runs are profiled, which refine communication, and which are predicted. ``larger``: the next class of
    another size (the grid of MG is the same in classes A and B); ``volume``: by what its messages grow, where not as a
    surface does."""

    profile: tuple[int, ...] = (2, 4, 8)
    further: tuple[int, ...] = (16, 32)
    target: int = 128
    larger: str = "B"
    volume: float | None = None


#: Class A is profiled (EP: 2^28 pairs, and 2^30 the larger size). BT and SP run on squares, of which 121 is the nearest
#: to 128; the transpose of FT moves the whole array.
SQUARE = Code((4, 9, 16), (25, 36), 121)
CODES = {
    "ep": Code(),
    "cg": Code(),
    "bt": SQUARE,
    "sp": SQUARE,
    "lu": Code(),
    "mg": Code(larger="C"),
    "ft": Code(volume=4.0),
}


@cache
def studied(code: str) -> ExtrapolationStudy:
    """The targets of a code: P alone, and P with the larger class."""
    runs = CODES[code]
    targets = (ApplicationRun(runs.target), ApplicationRun(runs.target, runs.larger, volume=runs.volume))
    clock_hz = float(load_machine(MACHINE).processor.clock_hz or math.nan)
    question = Extrapolation(
        Scenario.of(f"npb-{code}", MACHINE, preset="A"),
        runs.profile,
        targets,
        further=runs.further,
        second_clock_hz=clock_hz * stated("frequency-low") / stated("frequency-high"),
    )
    return run_extrapolation(question, SEEDS)


def trials(which: int) -> dict[str, Trial]:
    """At 128 (0) or at the larger size (1), by code."""
    return {code: studied(code).trials[which] for code in CODES}


def mean_error(which: int, method: str) -> float:
    """In %, without signs, over codes."""
    errors = [trial.absolute(method) for trial in trials(which).values()]
    return 100 * sum(errors) / len(errors)


def less(which: int, baseline: str) -> float:
    """By how many % the mean error of the pipeline is less than that of a baseline."""
    return 100 * (1 - mean_error(which, REFINED) / mean_error(which, baseline))


def table(which: int) -> tuple[str, ...]:
    """Errors of every method, and the part that makes most of that of the pipeline."""
    lines = []
    for code, trial in trials(which).items():
        errors = ", ".join(f"{name} {100 * trial.error(name).mean:+.3g} %" for name in trial.methods)
        part, excess = max(trial.excess().items(), key=lambda item: abs(item[1]))
        guard = "; refused by the guard, and given all the same" if trial.refusal else ""
        lines.append(f"{code.upper()}, {trial.target.text}: {errors}; mostly {part} ({100 * excess:+.3g} %){guard}.")
    return tuple(lines)


PRINTED = "'around', 'up to': half a unit of the last printed digit"


def claim_case(
    name: str,
    claim: str,
    where: str,
    expected: dict[str, float],
    sense: str,
    measured: Callable[[], dict[str, float]],
    which: int,
    unit: str = "%",
    because: str = "",
) -> Case:
    """What the source claims of its runs, of ours."""
    return Case(
        name=f"counter-predictions/{name}",
        claim=f"{claim} {UNTUNED}",
        source=f"{PAPER}, {where}",
        unit=unit,
        expected=expected,
        tolerance=Tolerance(PRINTED, absolute=0.5, sense=sense),
        reading="simulation",
        measure=lambda: Readings(simulation=measured(), notes=table(which)),
        workload=", ".join(f"npb-{code}" for code in CODES),
        machine=MACHINE,
        parameters={"P": 128},
        because=because,
        printed=True,
        inputs={"codes and machine, which stand in for those of the paper": "assumed"},
    )


#: Why the error of BT is not that of the source.
DUPLEX_UNKNOWN = (
    "the workload stands in for BT, and the source does not say whether its machine's network interfaces sent and "
    "received at the same time: with full-duplex ones the error is 9 %, with half-duplex ones it is below 7 %"
)


def average_case() -> Case:
    """Around 15 %."""
    return claim_case(
        "errors/average",
        "Errors of predictions for 128 processes are around 15 % on average.",
        "abstract and section 6",
        dict.fromkeys((PLAIN, REFINED), stated("error-average")),
        "at_most",
        lambda: {name: mean_error(0, name) for name in (PLAIN, REFINED)},
        0,
        because=UNSEEN,
    )


def best_case() -> Case:
    """Up to 25 and 52 % better."""

    def largest(baseline: str) -> float:
        return max(100 * (1 - trial.absolute(REFINED) / trial.absolute(baseline)) for trial in trials(0).values())

    return claim_case(
        "errors/best",
        "At 128 processes the error is up to 25 % less than that of a size/P + b, and up to 52 % less than "
        "that of a/P + b P^c + d.",
        "section 5 and Figure 11",
        {ANALYTIC: stated("gain-analytic"), EMPIRICAL: stated("gain-empirical")},
        "at_least",
        lambda: {name: largest(name) for name in (ANALYTIC, EMPIRICAL)},
        0,
    )


def better_case() -> Case:
    """Better than both."""
    return claim_case(
        "errors/better-on-average",
        "At 128 processes the error is less on average than those of both other models.",
        "section 5 and Figure 11",
        dict.fromkeys((ANALYTIC, EMPIRICAL), 0.0),
        "at_least",
        lambda: {name: less(0, name) for name in (ANALYTIC, EMPIRICAL)},
        0,
    )


def larger_case() -> Case:
    """About 50 % better."""
    return claim_case(
        "errors/larger-size",
        "For the larger size the error is 50 % less on average than that of a size/P + b, if the guard is off.",
        "section 5 and Figure 12",
        {ANALYTIC: stated("gain-larger-size")},
        "at_least",
        lambda: {ANALYTIC: less(1, ANALYTIC)},
        1,
        because=UNSEEN,
    )


def refined_case() -> Case:
    """BT, whose error refinement brings below 7 %."""
    return claim_case(
        "errors/bt-refined",
        "With refinement the error of BT is below 7 %; here at 121 processes, in the source below 40.",
        "section 4.2",
        {REFINED: stated("bt-error-after")},
        "at_most",
        lambda: {REFINED: 100 * studied("bt").trials[0].absolute(REFINED)},
        0,
        because=DUPLEX_UNKNOWN,
    )


# What must be exact.

HZ, CPI, STARTUP, PER_BYTE = 2.5e9, 0.8, 1e-6, 1e-9
INSTRUCTIONS, ACCESSES, BLOCKING, MEMORY, HIT = 1e10, 1e8, 0.2, 1e-7, 4
CLOSED = 128


def closed_form() -> tuple[Workload, Machine]:
    """Work over P, accesses of which half miss all caches, an allreduce: everything that the models can say."""
    accesses = "{fraction: 0.5, distance: 8}, {fraction: 0.5, distance: 1e9}"
    program = (
        "simcodesign: 1\nname: closed-form\nprogram:\n  - phase: solve\n    do:\n"
        f"      - compute: {{instructions: {INSTRUCTIONS}/P}}\n"
        f"      - memory: {{accesses: {ACCESSES}/P, element: 64 B, stack_distance: [{accesses}], blocking: {BLOCKING}}}\n"
        "      - allreduce: {bytes: 8}\n"
    )
    machine = (
        f"simcodesign: 1\nname: plain\nnodes: {CLOSED}\nprocessor: {{rate: 1 GFLOP/s, clock: {HZ}, cpi: {CPI}}}\n"
        f"network: {{topology: {{kind: crossbar}}, sends: blocking, startup: {STARTUP}, per_byte: {PER_BYTE}}}\n"
        f"caches: {{L1: {{size: 32 KiB, latency: {HIT} cycles}}}}\nmemory: {{latency: {MEMORY}, per_byte: 0}}\n"
    )
    return workload_from(parse_yaml(program, "closed-form.yaml")), machine_from(
        parse_yaml(machine, "plain.yaml"), Path()
    )


def exact_case() -> Case:
    """Effects off: the models are the closed form."""
    values = {
        "I": INSTRUCTIONS,
        "CPI": CPI,
        "P": float(CLOSED),
        "f": HZ,
        "N": ACCESSES,
        "BF": BLOCKING,
        "hit": float(HIT),
        "memory": MEMORY,
        "startup": STARTUP,
        "byte": PER_BYTE,
    }
    own = Derived("T", "I*CPI/(P*f) + BF*N/P*(hit/f/2 + memory/2) + log2(P)*(startup + 8*byte)", values, "s")

    def measure() -> Readings:
        scenario, target = Scenario.of(*closed_form()), ApplicationRun(CLOSED)
        question = Extrapolation(
            scenario, (2, 4, 8), (target,), effects=(), further=(16, 32), second_clock_hz=2 * HZ / 3
        )
        (one,) = run_extrapolation(question, (0,)).trials[0].outcomes
        return Readings(simulation={"simulated": one.truth_s, **{name: one.seconds[name] for name in (PLAIN, REFINED)}})

    return Case(
        name="counter-predictions/effects-off/closed-form",
        claim="Without effects, what the models can say is predicted exactly: work and accesses over P, log P of a collective.",
        source=f"{PAPER}, equation 2 and table 2, put to numbers; not published",
        unit="s",
        expected=dict.fromkeys(("simulated", PLAIN, REFINED), own.value),
        derivation=(own,),
        tolerance=Tolerance(
            "least squares through three points of times that differ by 2^6, CPI_core being what is left of a CPI after "
            "a line through two",
            relative=1e-8,
        ),
        reading="simulation",
        measure=measure,
        quick=True,
    )


def parallel_case() -> Case:
    """EP without effects is work over P except for four collectives of some microseconds."""
    target = 128

    def measure() -> Readings:
        scenario = Scenario.of("npb-ep", MACHINE, preset="A")
        question = Extrapolation(scenario, (2, 4, 8), (ApplicationRun(target),), effects=())
        (trial,) = run_extrapolation(question, (0,)).trials
        return Readings(simulation={name: 100 * trial.error(name).mean for name in (PLAIN, ANALYTIC)})

    return Case(
        name="counter-predictions/effects-off/ep",
        claim=f"Without effects EP is work over P: predicted from counters and by a size/P + b alike. {UNTUNED}",
        source=f"{PAPER}, section 5: EP scales; not published",
        unit="%",
        expected=dict.fromkeys((PLAIN, ANALYTIC), 0.0),
        tolerance=Tolerance(
            "four allreduces of seven messages of 1.1 to 1.3 us each are 0.04 % of 0.1 s", absolute=0.04
        ),
        reading="simulation",
        measure=measure,
        workload="npb-ep",
        machine=MACHINE,
        parameters={"P": target},
        quick=True,
    )


CASES: list[Case] = [
    exact_case(),
    parallel_case(),
    average_case(),
    best_case(),
    better_case(),
    larger_case(),
    refined_case(),
]
