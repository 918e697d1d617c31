"""Fitted models as workloads: what is charged and sent is the models, by hand and by both readings; any names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.comparison.compare import compare
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import MAX_LENGTH
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.machine_parts.memory import CacheLevel, Memory
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.programs.program import Block
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_workload
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.describe.yaml.workload import workload_from
from simcodesign.engine.simulate import simulate
from simcodesign.fitting.as_workload.demands import METRICS, PATTERNS, allowed_demands, recognised
from simcodesign.fitting.as_workload.pmnf import WorkloadText, workload_text, write_workload
from simcodesign.fitting.fit import Fit, Fits, fit
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.normal_form import Factor, Model, Term
from tests import examples
from tests.builders import network_of

ROUNDING = 1e-12
GRID = np.array([(p, n) for p in (2.0, 4.0, 8.0, 16.0, 32.0) for n in (64.0, 128.0, 256.0, 512.0, 1024.0)])
RATE, STARTUP_S, BYTE_S = 1e9, 1e-6, 1e-9
CACHE_S, MEMORY_S, DISK_S, DISK_BYTE_S = 1e-9, 80e-9, 1e-3, 1e-8


def machine(nodes: int = 64) -> Machine:
    """A cache of 1024 lines of 8 bytes that no line of memory is longer than: distances below 1024 hit."""
    return Machine(
        "test",
        Processor(RATE, clock_hz=2e9, cycles_per_instruction=1.5),
        network_of(build_topology("crossbar", nodes), STARTUP_S, BYTE_S, distance="none", sends="blocking"),
        disk=Disk(DISK_S, DISK_S, DISK_BYTE_S),
        memory=Memory(MEMORY_S, 0.0, (CacheLevel("L1", 8192, CACHE_S),), line_bytes=8),
        capacity_bytes=1e9,
    )


class Known(Fits):
    """Fits whose models are given."""

    models: tuple[Model, ...]

    def _fit(self, row: int) -> Fit:
        region, metric = self.measurements.regions[row], self.measurements.metrics[row]
        return Fit(region, metric, self.models[row], (), 1.25, math.nan, 0.75, (), "Few\npoints.", None)  # type: ignore[arg-type]


def known(models: Mapping[tuple[str, str], Model], points: np.ndarray = GRID) -> Fits:
    parameters = next(iter(models.values())).parameters
    regions, metrics = zip(*models, strict=True)
    values = np.ones((len(models), len(points), 1))
    fits = Known(Measurements(parameters, points, regions, metrics, values), "relative", False, points[-1], ())
    object.__setattr__(fits, "models", tuple(models.values()))
    return fits


def p(exponent: object = 0, log: object = 0, collective: str = "") -> Factor:
    return Factor("p", Fraction(str(exponent)), Fraction(str(log)), collective)


def n(exponent: object = 1, log: object = 0) -> Factor:
    return Factor("n", Fraction(str(exponent)), Fraction(str(log)))


def model(constant: float, *terms: tuple[float, *tuple[Factor, ...]]) -> Model:
    return Model(("p", "n"), constant, tuple(Term(first, tuple(rest)) for first, *rest in terms))


def read(written: WorkloadText) -> Workload:
    return workload_from(parse_yaml(written.text, "fitted.yaml"))


def notes_of(fits: Fits, **options: object) -> str:
    return "\n".join(workload_text(fits, "toy", **options).notes)  # type: ignore[arg-type]


# --- All of it -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def requirements() -> Fits:
    """Noise-free measurements of two regions whose demands are known."""
    p_, n_ = GRID.T
    values = {
        ("solve", "flop"): 1e6 * n_ * np.log2(n_),
        ("solve", "bytes_sent"): 800 * np.log2(p_) * n_ + 16 * n_,
        ("solve", "loads"): 3e4 * n_,
        ("solve", "stores"): 1e4 * n_,
        ("solve", "stack_distance"): n_ / 2,
        ("solve", "bytes_used"): 1e3 * n_**2,
        ("save", "bytes_written"): 4e5 * n_,
        ("save", "PAPI_TOT_INS"): 5e5 * n_,
        ("save", "visits"): 3 + 0 * n_,
    }
    regions, metrics = zip(*values, strict=True)
    measured = Measurements(("p", "n"), GRID, regions, metrics, np.stack([*values.values()])[:, :, None])
    return fit(measured, collectives=[("Allreduce", "p")], refine=False)


@pytest.mark.parametrize("size", [64.0, 700.0, 4096.0])
@pytest.mark.parametrize("ranks", [1, 2, 8, 64])
def test_both_readings_are_the_closed_form(requirements: Fits, ranks: int, size: float) -> None:
    work = read(workload_text(requirements, "toy"))
    given_ = {"P": ranks, "n": size}
    forecasted = forecast(work, machine(), given_)
    # Distances of n/2 elements hit the cache of 1024 below n = 2048.
    memory_s = 4e4 * size * (CACHE_S if size / 2 < 1024 else MEMORY_S)
    each_s = STARTUP_S + 800 * size * BYTE_S
    neighbours_s = 2 * (STARTUP_S + 8 * size * BYTE_S) if ranks > 1 else 0.0
    solve_s = {
        "computation": 1e6 * size * math.log2(size) / RATE,
        "communication": math.log2(ranks) * each_s + neighbours_s,
        "memory": memory_s,
        "disk": 0.0,
    }
    save_s = {
        "computation": 5e5 * size * 1.5 / 2e9,
        "communication": 0.0,
        "memory": 0.0,
        "disk": DISK_S + 4e5 * size * DISK_BYTE_S,
    }
    assert forecasted.phases["solve"] == pytest.approx(solve_s, rel=1e-9)
    assert forecasted.phases["save"] == pytest.approx(save_s, rel=1e-9)
    assert forecasted.footprint_bytes == pytest.approx(1e3 * size**2, rel=1e-9)
    assert forecasted.fits is (1e3 * size**2 <= 1e9)
    simulated = simulate(work, machine(), given_, effects="none")
    assert simulated.makespan_s == pytest.approx(forecasted.makespan_s, rel=ROUNDING)
    assert simulated.message_bytes == pytest.approx(forecasted.message_bytes, rel=ROUNDING)
    assert simulated.footprint_bytes == forecasted.footprint_bytes


def test_arrays_and_comparison(requirements: Fits, tmp_path: Path) -> None:
    path = tmp_path / "fitted.yaml"
    notes = write_workload(requirements, path, source="runs.json")
    assert any("'visits'" in note for note in notes)
    work = load_workload(path)
    assert work.name == "fitted"
    sizes = np.array([64.0, 128.0, 5000.0])
    result = forecast(work, machine(), {"n": sizes, "P": 16})
    assert result.makespan_s.tolist() == [forecast(work, machine(), {"n": size, "P": 16}).makespan_s for size in sizes]
    assert result.fits.tolist() == [True, True, False]
    held = compare(work, machine(), {"P": 8})
    assert held.within_bounds
    assert held.rungs[0].change_s == pytest.approx(0.0, abs=1e-9 * held.simulation.makespan_s)


def test_parameters_are_those_measured(requirements: Fits) -> None:
    work = read(workload_text(requirements, "toy"))
    assert work.parameters["P"].default is None  # as many as the machine has
    assert work.parameters["n"].default == 1024
    assert work.parameters["n"].origin == "measured"
    assert work.parameters["P"].about == "p, measured at 2, 4, 8, 16, 32"
    with pytest.raises(InputError, match="at least 1"):
        forecast(work, machine(), {"n": 0.5})


def test_the_file_says_how_good_each_model_is(requirements: Fits) -> None:
    text = workload_text(requirements, "toy", source="runs.json").text
    assert 'source: "runs.json"' in text
    assert text.count("25 points") == 8  # all but the visits
    poor = workload_text(known({("a", "flop"): model(2)}), "toy").text
    assert "'flop' of region 'a' as flops: SMAPE 1.25 %, cross-validated not known, R2 0.75, 25 points" in poor
    assert "# warning: Few\\x0apoints." in poor


# --- Bytes sent ------------------------------------------------------------------------------------------------

SENT = {
    "allreduce": model(0, (24, p(collective="Allreduce"), n("1/2"))),
    "bcast": model(0, (1e3, p(collective="Bcast"), n()), (1e4, p(collective="Bcast"))),
    "alltoall": model(0, (8, p("-1/2", collective="Alltoall"), n())),
    "neighbours": model(100, (16, n("2/3")), (3, p("1/4", 1))),
    "all": model(
        40, (2, p(collective="Alltoall")), (8, p(collective="Allreduce"), n()), (5, p(collective="Bcast"), n("1/3"))
    ),
}


def sent_by_a_rank(work: Workload, ranks: int, size: float = 300.0) -> float:
    simulated = simulate(work, machine(), {"P": ranks, "n": size}, effects="none")
    forecasted = forecast(work, machine(), {"P": ranks, "n": size})
    assert forecasted.message_bytes == pytest.approx(simulated.message_bytes, rel=ROUNDING)
    assert forecasted.makespan_s == pytest.approx(simulated.makespan_s, rel=ROUNDING)
    return float(simulated.message_bytes) / ranks


@pytest.mark.parametrize("ranks", [2, 4, 16, 32])
@pytest.mark.parametrize("pattern", ["halo1d", "halo2d", "halo3d", "halo4d"])
@pytest.mark.parametrize("name", SENT)
def test_what_is_sent_is_the_model(name: str, pattern: str, ranks: int) -> None:
    work = read(workload_text(known({("r", "bytes_sent"): SENT[name]}), "toy", pattern=pattern))
    assert sent_by_a_rank(work, ranks) == pytest.approx(float(SENT[name].evaluate([ranks, 300])), rel=ROUNDING)


@pytest.mark.parametrize("ranks", [3, 5, 6, 7, 12, 13])
@pytest.mark.parametrize("name", ["bcast", "alltoall", "neighbours"])
def test_what_is_sent_is_the_model_for_any_number_of_ranks(name: str, ranks: int) -> None:
    work = read(workload_text(known({("r", "bytes_sent"): SENT[name]}), "toy"))
    assert sent_by_a_rank(work, ranks) == pytest.approx(float(SENT[name].evaluate([ranks, 300])), rel=ROUNDING)


@pytest.mark.parametrize("ranks", [3, 5, 6, 7, 12, 13])
def test_recursive_doubling_beyond_a_power_of_two_sends_less(ranks: int) -> None:
    work = read(workload_text(known({("r", "bytes_sent"): SENT["allreduce"]}), "toy"))
    doublings = ranks.bit_length() - 1
    messages = doublings * 2**doublings + 2 * (ranks - 2**doublings)  # a pair folds before and after
    payload = 24 * 300**0.5
    assert sent_by_a_rank(work, ranks) == pytest.approx(payload * messages / ranks, rel=ROUNDING)
    assert messages / ranks < math.log2(ranks)


@pytest.mark.parametrize(
    ("ranks", "share"), [(6, 1), (12, 1), (8, 1), (27, 3 / 3), (5, 1 / 2), (7, 1 / 2), (13, 1 / 3), (10, 2 / 3)]
)
def test_a_grid_of_fewer_dimensions_sends_less(ranks: int, share: float) -> None:
    work = read(workload_text(known({("r", "bytes_sent"): SENT["neighbours"]}), "toy", pattern="halo3d"))
    expected = share * float(SENT["neighbours"].evaluate([ranks, 300]))
    assert sent_by_a_rank(work, ranks) == pytest.approx(expected, rel=ROUNDING)


@pytest.mark.parametrize("name", SENT)
def test_one_rank_sends_nothing(name: str) -> None:
    for metric in ("bytes_sent", *(f"bytes_sent:{pattern}" for pattern in PATTERNS)):
        assert sent_by_a_rank(read(workload_text(known({("r", metric): SENT[name]}), "toy")), 1) == 0


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", ["neighbours", "all"])
def test_a_pattern_that_is_said_sends_the_model(name: str, pattern: str) -> None:
    work = read(workload_text(known({("r", f"bytes_sent:{pattern}"): SENT[name]}), "toy"))
    operations = {type(step).__name__ for block in work.program if isinstance(block, Block) for step in block.body}
    assert operations == {"Exchange" if pattern.startswith("halo") else "Collective"}
    for ranks in (2, 8, 16):
        assert sent_by_a_rank(work, ranks) == pytest.approx(float(SENT[name].evaluate([ranks, 300])), rel=ROUNDING)


@pytest.mark.parametrize(
    "metric",
    [
        "bytes_sent_received",
        "bytes_sent_received:allreduce",
        "bytes_sent_received:halo2d",
        "bytes_sent_received:halo1d",
    ],
)
def test_half_of_what_is_sent_and_received_is_sent(metric: str) -> None:
    work = read(workload_text(known({("r", metric): SENT["all"]}), "toy"))
    assert sent_by_a_rank(work, 8) == pytest.approx(float(SENT["all"].evaluate([8, 300])) / 2, rel=ROUNDING)


def test_models_with_negative_coefficients_are_cut_off_at_zero() -> None:
    falling = model(1000, (-3, n()))
    mixed = model(0, (800, p(collective="Allreduce")), (-1, n()))
    fits = known({("a", "flops"): falling, ("b", "bytes_sent"): mixed})
    written = workload_text(fits, "toy")
    assert written.text.count("max(0, ") == written.text.count("# max(0, ...)") + 2 == 4
    assert "not by collective operations" in "\n".join(written.notes)
    work = read(written)
    assert forecast(work, machine(), {"n": 100, "P": 4}).phases["a"]["computation"] == pytest.approx(700 / RATE)
    assert forecast(work, machine(), {"n": 900, "P": 4}).phases["a"]["computation"] == 0
    assert sent_by_a_rank(work, 4, 300) == pytest.approx(1300, rel=ROUNDING)
    assert sent_by_a_rank(work, 4, 5000) == 0


# --- What a metric is ------------------------------------------------------------------------------------------


def test_every_listed_name_is_its_demand() -> None:
    for demand, names in METRICS.items():
        for name in (demand, *names):
            for spelt in (name, name.upper(), name.replace("_", " "), name.replace("_", "-")):
                result = recognised(spelt)
                assert result is not None
                assert result.demand == demand
    assert len({name.casefold() for names in METRICS.values() for name in names}) == sum(map(len, METRICS.values()))


@pytest.mark.parametrize(
    ("metric", "demand", "pattern"),
    [
        ("PAPI_DP_OPS", "flops", ""),
        ("Bytes sent + recv", "bytes_sent_received", ""),
        ("bytes_sent:MPI_Allreduce", "bytes_sent", "allreduce"),
        ("bytes_sent:Broadcast", "bytes_sent", "bcast"),
        ("bytes_sent:all_to_all", "bytes_sent", "alltoall"),
        ("bytes_sent:halo3d", "bytes_sent", "halo3d"),
        ("Loads+Stores", "accesses", ""),
    ],
)
def test_names_of_metrics(metric: str, demand: str, pattern: str) -> None:
    result = recognised(metric)
    assert result is not None
    assert (result.demand, result.pattern) == (demand, pattern)


@pytest.mark.parametrize("metric", ["visits", "", "bytes_sent:", "bytes_sent:halo5d", "flops:allreduce", "time_max"])
def test_metrics_that_are_no_demand(metric: str) -> None:
    assert recognised(metric) is None


def test_metrics_can_be_said() -> None:
    fits = known({("r", "x"): model(5e8), ("r", "y"): SENT["neighbours"], ("r", "flop"): model(7)})
    work = read(workload_text(fits, "toy", demands={"x": "seconds", "y": "bytes_sent:alltoall", "flop": "none"}))
    result = forecast(work, machine(), {"P": 4})
    assert result.components["computation"] == 5e8
    assert result.messages == 4 * 3
    assert "'x'" not in notes_of(fits, demands={"x": "seconds", "y": "none", "flop": "none"})


@pytest.mark.parametrize(
    ("demands", "what"),
    [
        ({"z": "flops"}, "no such metric"),
        ({"x": "flop/s"}, "not a demand"),
        ({"x": "none"}, "none of these metrics"),
        ({}, r"none of these metrics.*PAPI_DP_OPS"),
    ],
)
def test_metrics_that_cannot_be_said(demands: dict[str, str], what: str) -> None:
    with pytest.raises(InputError, match=what):
        workload_text(known({("r", "x"): model(1)}), "toy", demands=demands)


@pytest.mark.parametrize(
    ("first", "second"),
    [("time", "flops"), ("flop", "PAPI_DP_OPS"), ("accesses", "stores"), ("bytes_sent", "bytes_sent_received")],
)
def test_nothing_is_charged_twice(first: str, second: str) -> None:
    fits = known({("r", first): model(3), ("r", second): model(4), ("r", "stack_distance"): model(1)})
    with pytest.raises(InputError, match=f"charged twice.*{first}.*{second}.*{second}=none"):
        workload_text(fits, "toy")
    workload_text(fits, "toy", demands={second: "none"})
    use = recognised(second)
    assert use is not None
    assert f"{first} is left out: {second}" in notes_of(fits, demands={second: use.demand})


def test_notes() -> None:
    parts = {
        ("a", "loads"): model(1),
        ("b", "stack_distance"): model(1),
        ("c", "flop"): model(1),
        ("c", "visits"): model(1),
    }
    notes = notes_of(known(parts))
    assert "loads left out: no stack distance determines the serving level (in a)" in notes
    assert "stack distance left out: there are no loads and stores that have it (in b)" in notes
    assert "metric 'visits' is left out" in notes
    assert "seconds" in notes_of(known({("r", "time"): model(1), ("r", "bytes_sent"): model(1)}))
    with pytest.raises(InputError, match="no demand is left"):
        workload_text(known({("a", "loads"): model(1)}), "toy")


# --- Names, sizes, limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["p", "P", "processes", "Procs", "ranks", "NPROCS"])
def test_names_of_the_number_of_processes(name: str) -> None:
    grows = Model((name, "n"), 0.0, (Term(3.0, (Factor(name, Fraction(1)),)),))
    work = read(workload_text(known({("r", "flops"): grows}), "toy"))
    assert forecast(work, machine(), {"P": 7}).makespan_s == pytest.approx(21 / RATE)


def test_the_number_of_processes_can_be_said() -> None:
    both = Model(("p", "nodes"), 0.0, (Term(3.0, (Factor("nodes", Fraction(1)), Factor("p", Fraction(2)))),))
    work = read(workload_text(known({("r", "flops"): both}), "toy", ranks="nodes"))
    assert forecast(work, machine(), {"P": 7, "p": 10}).makespan_s == pytest.approx(2100 / RATE)
    with pytest.raises(InputError, match="no such parameter"):
        workload_text(known({("r", "flops"): both}), "toy", ranks="procs")
    with pytest.raises(InputError, match="several parameters"):
        workload_text(known({("r", "flops"): Model(("p", "procs"), 1.0)}), "toy")
    assert "no demand depends on P" in notes_of(known({("r", "flops"): Model(("x", "y"), 1.0)}))


def test_the_longest_models_can_be_read() -> None:
    names = ("a" * 200, "b" * 200, "c" * 200, "p")
    third = Fraction(1 / 3)
    terms = tuple(Term(1 / 3 + k, tuple(Factor(name, third + k, third, "Bcast") for name in names)) for k in range(8))
    longest = Model(names, 1 / 3, terms)
    written = workload_text(known({("region" * 50, "flop"): longest}, np.ones((1, 4)) * 2), "toy")
    assert max(map(len, written.text.splitlines())) < MAX_LENGTH
    values = bind(read(written), machine(), {"P": 2}).values
    assert max(map(float, values.values())) == pytest.approx(float(longest.evaluate([2, 2, 2, 2])), rel=ROUNDING)


def test_many_regions() -> None:
    sizes = np.random.default_rng(3).permutation(1000) + 1.0
    fits = known({(f"r{k}", "rss"): model(float(size)) for k, size in enumerate(sizes)})
    work = read(workload_text(fits, "toy"))
    result = forecast(work, machine())
    assert (result.footprint_bytes, result.makespan_s) == (1000, 0)
    only = read(workload_text(fits, "toy", regions=["r7", "r2"]))
    assert forecast(only, machine()).footprint_bytes == max(sizes[7], sizes[2])
    with pytest.raises(InputError, match="1 to 1000"):
        workload_text(known({(f"r{k}", "rss"): model(1) for k in range(1001)}), "toy")
    with pytest.raises(InputError, match="no such region"):
        workload_text(fits, "toy", regions=["r1001"])
    with pytest.raises(InputError, match="halo1d"):
        workload_text(fits, "toy", pattern="allreduce")


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        write_workload(known({("r", "flops"): model(1)}), tmp_path / "none" / "x.yaml")


ANY = st.text(min_size=1, max_size=120) | st.sampled_from(
    [
        "rank",
        "P",
        "log2",
        "main",
        "lambda",
        "no",
        "-",
        "a: b",
        "a #b",
        "'",
        '"',
        "\\",
        "x\ny",
        "é",
        "{",
        "&a",
        "*a",
        "!t",
        "\u2028",
        "\ud800",
        "\x00",
        "[",
        "---",
        "a/b",
        "1e9",
        " ",
        "\ufeff",
        "\x85",
    ]
)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(ANY.filter(str.strip), min_size=1, max_size=4, unique=True),
    st.lists(ANY, min_size=1, max_size=5, unique=True),
    ANY,
    ANY,
    st.data(),
)
def test_any_names(parameters: list[str], regions: list[str], metric: str, name: str, data: st.DataObject) -> None:
    ranks = data.draw(st.sampled_from(parameters))
    models = {}
    for region in regions:
        chosen = data.draw(st.lists(st.sampled_from(parameters), min_size=1, unique=True))
        factors = tuple(Factor(each, Fraction(data.draw(st.integers(0, 24)), 8), Fraction(1, 2)) for each in chosen)
        models[region, metric] = Model(
            tuple(parameters), data.draw(st.floats(0, 1e9)), (Term(data.draw(st.floats(1e-9, 1e9)), factors),)
        )
    points = np.array([[2.0] * len(parameters), [8.0] * len(parameters)])
    written = workload_text(known(models, points), name, source=name, ranks=ranks, demands={metric: "seconds"})
    work = read(written)
    assert len(work.phases()) == len(regions)
    at = {parameter: float(data.draw(st.integers(1, 64))) for parameter in parameters}
    order = [ranks, *(each for each in parameters if each != ranks)]
    given_ = {"P" if each == ranks else there: at[each] for each, there in zip(order, work.parameters, strict=True)}
    result = forecast(work, machine(), given_)
    for phase, expected in zip(work.phases(), models.values(), strict=True):
        value = float(expected.evaluate([at[each] for each in parameters]))
        assert result.phases[phase]["computation"] == pytest.approx(value, rel=1e-9)


def test_all_demands_that_may_be_said() -> None:
    assert {recognised(demand) is not None for demand in allowed_demands() if demand != "none"} == {True}
