"""Units: exact values by hand, pint as an oracle where it is safe, and text that must be refused quickly."""

from __future__ import annotations

import math
import string

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import DIMENSIONS, format_quantity, has_unit, parse_quantity

# Each pair is written as the float literal of the SI value: conversion must round only once.
EXACT = [
    ("390 MFLOP/s", "rate", 390e6),
    ("318 us", "time", 318e-6),
    ("318 µs", "time", 318e-6),
    ("318 \u03bcs", "time", 318e-6),
    ("1.7ns", "time", 1.7e-9),
    ("2 ps", "time", 2e-12),
    ("12 s", "time", 12.0),
    ("3 ms", "time", 3e-3),
    ("10 min", "time", 600.0),
    ("1.5 h", "time", 5400.0),
    ("30 day", "time", 2592000.0),
    ("5 year", "time", 157788000.0),
    ("64 KiB", "size", 65536.0),
    ("2 GiB", "size", 2.0**31),
    ("64 kB", "size", 64e3),
    ("5e3B", "size", 5e3),
    ("5EB", "size", 5e18),
    ("12 bit", "size", 1.5),
    ("1.2 GB/s", "bandwidth", 1.2e9),
    ("10 Gbit/s", "bandwidth", 1.25e9),
    ("3 MiB/s", "bandwidth", 3.0 * 2**20),
    ("6.62e-7 s/B", "per_byte", 6.62e-7),
    ("0.83 ns/B", "per_byte", 0.83e-9),
    ("1 ns/bit", "per_byte", 8e-9),
    ("15 nJ/B", "energy_per_byte", 15e-9),
    ("5 pJ/bit", "energy_per_byte", 40e-12),
    ("2.4 GHz", "frequency", 2.4e9),
    ("350 mW", "power", 0.35),
    ("20 MW", "power", 20e6),
    ("7 kJ", "energy", 7e3),
    ("5 %", "count", 0.05),
    ("5%", "count", 0.05),
    ("4 cycles", "cycles", 4.0),
    ("32 B/cycle", "bytes_per_cycle", 32.0),
    ("1 cycle", "cycles", 1.0),
    ("2.5cycles", "cycles", 2.5),
    ("4913", "count", 4913.0),
    ("-1.5e2", "count", -150.0),
    (" +.5\t us ", "time", 0.5e-6),
    ("3.", "time", 3.0),
    ("0 us", "time", 0.0),
    ("2e-3", "time", 2e-3),
]


@pytest.mark.parametrize(("text", "dimension", "value_si"), EXACT)
def test_exact_values(text: str, dimension: str, value_si: float) -> None:
    assert parse_quantity(text, dimension) == value_si


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "nan", "inf", "-inf", "nan s", "1e s", "e3", "1,5 s", "1 000 s", "0x10 s", "1_0 s", "٣ s"),
        *("9**9**9 m", "9**9**9", "1e999", "1e999 s", "1 s s", "1 /s", "s", "1 s; 2", "1\u00a0s", "1\n\ns"),
        "1 s\x00",
        *("1 S", "1 sec", "1 mins", "1 kh", "1 Ms", "1 B", "1 %", "++1 s", "1e308e5 s", "9" * 101, "1 " + "s" * 5000),
    ],
)
def test_refused_times(text: str) -> None:
    with pytest.raises(InputError):
        parse_quantity(text, "time")


@pytest.mark.parametrize(
    ("text", "dimension"),
    [
        *(("1 mB", "size"), ("1 KB", "size"), ("1 Gb", "size"), ("1e300 EB", "size")),
        *(("10 Gbps", "bandwidth"), ("1 kib/s", "bandwidth"), ("1 flop/s", "rate"), ("1 GFLOPS", "rate")),
        *(("3 kg", "count"), ("1 K", "count")),
        *(("4 Cycles", "cycles"), ("4 kcycles", "cycles"), ("4 cyc", "cycles"), ("4 ns", "cycles"), ("4 %", "cycles")),
    ],
)
def test_refused_others(text: str, dimension: str) -> None:
    with pytest.raises(InputError):
        parse_quantity(text, dimension)


@pytest.mark.parametrize("value", [None, 3, 3.0, b"3 s", ["3 s"], True])
def test_only_text_is_a_quantity(value: object) -> None:
    with pytest.raises(InputError, match="not a quantity"):
        parse_quantity(value, "time")  # type: ignore[arg-type]


def test_message_says_what_where_and_what_is_allowed() -> None:
    with pytest.raises(InputError) as caught:
        parse_quantity("10 Gbps", "bandwidth", Place("m.yaml", 7, "network.bandwidth"))
    message = str(caught.value)
    assert message.startswith("m.yaml:7: network.bandwidth: ")
    assert "unknown unit 'Gbps' of bandwidth" in message
    assert "did you mean 'Gbit/s'?" in message


@pytest.mark.parametrize(
    ("unit", "dimension", "meant"),
    [("Gbps", "bandwidth", "Gbit/s"), ("MBps", "bandwidth", "MB/s"), ("GFlops", "rate", "GFLOP/s")],
)
def test_usual_abbreviations_are_recognised(unit: str, dimension: str, meant: str) -> None:
    with pytest.raises(InputError, match=f"did you mean '{meant}'"):
        parse_quantity(f"10 {unit}", dimension)


def test_wrong_dimension_is_named() -> None:
    with pytest.raises(InputError, match=r"'us' is a unit of time, not of size.*allowed: B, EB,"):
        parse_quantity("318 us", "size")


@pytest.mark.parametrize("dimension", ["speed", "", None])
def test_unknown_dimension(dimension: str) -> None:
    with pytest.raises(InputError, match="unknown dimension"):
        parse_quantity("1", dimension)
    with pytest.raises(InputError, match="unknown dimension"):
        format_quantity(1.0, dimension)


@pytest.mark.parametrize(
    ("value_si", "dimension", "text"),
    [
        (318e-6, "time", "318 us"),
        (0.0, "time", "0 s"),
        (-0.0, "time", "0 s"),
        (999.96e-6, "time", "1 ms"),
        (12_345.0, "time", "12340 s"),
        (-2.5e-9, "time", "-2.5 ns"),
        (1.2e9, "bandwidth", "1.2 GB/s"),
        (390e6, "rate", "390 MFLOP/s"),
        (65536.0, "size", "64 KiB"),  # not 65.54 kB
        (512e3, "size", "512 kB"),  # 500 KiB, but no shorter
        (1000 * 1024.0**2 + 1024, "size", "1.049 GB"),  # 1024001 KiB has too many digits
        (0.5, "size", "0.5 B"),
        (15e-9, "energy_per_byte", "15 nJ/B"),
        (6.62e-7, "per_byte", "662 ns/B"),
        (0.05, "count", "0.05"),
        (1_234_567.0, "count", "1234567"),
        (4.0, "cycles", "4 cycles"),
        (1.0, "cycles", "1 cycle"),
        (-0.0, "cycles", "0 cycles"),
        (2.125, "cycles", "2.125 cycles"),
        (math.nan, "frequency", "nan Hz"),
        (-math.inf, "time", "-inf s"),
    ],
)
def test_format(value_si: float, dimension: str, text: str) -> None:
    assert format_quantity(value_si, dimension) == text


@given(
    st.floats(1e-290, 1e290) | st.floats(1e-15, 1e21) | st.integers(1, 10**12).map(float),
    st.sampled_from([1.0, -1.0]),
    st.sampled_from(sorted(DIMENSIONS)),
)
@example(9.9996e-4, 1.0, "time")
def test_round_trip_to_printed_precision(value: float, sign: float, dimension: str) -> None:
    text = format_quantity(sign * value, dimension)
    assert parse_quantity(text, dimension) == pytest.approx(sign * value, rel=5.001e-4)
    assert format_quantity(parse_quantity(text, dimension), dimension) == text


@pytest.mark.parametrize(
    ("text", "dimension", "expected"),
    [
        *(("4 cycles", "cycles", True), ("4cycle", "cycles", True), ("4", "cycles", False), ("4 ns", "cycles", False)),
        *(("four cycles", "cycles", False), ("1e3 EB", "size", True), ("1 µs", "time", True), ("", "time", False)),
    ],
)
def test_whether_a_text_has_a_unit(text: str, dimension: str, expected: bool) -> None:
    assert has_unit(text, dimension) == expected


ANY_TEXT = st.text() | st.text(string.digits + " .eE+-kMuµKi%sB/", max_size=12)


@given(ANY_TEXT, st.sampled_from(sorted(DIMENSIONS)))
def test_any_text_is_a_finite_number_or_an_input_error(text: str, dimension: str) -> None:
    try:
        value = parse_quantity(text, dimension)
    except InputError:
        return
    assert math.isfinite(value)


SMALL, LARGE = ["p", "n", "u", "µ", "m", ""], ["", "k", "M", "G", "T", "P", "E"]
BINARY = ["Ki", "Mi", "Gi", "Ti"]
UNITS = (
    [("time", prefix + "s") for prefix in SMALL]
    + [("size", prefix + unit) for prefix in LARGE + BINARY for unit in ("B", "bit")]
    + [("bandwidth", prefix + unit) for prefix in LARGE + BINARY for unit in ("B/s", "bit/s")]
    + [("frequency", prefix + "Hz") for prefix in LARGE]
    + [(name, prefix + unit) for prefix in SMALL + LARGE for name, unit in (("power", "W"), ("energy", "J"))]
    + [("per_byte", prefix + unit) for prefix in SMALL for unit in ("s/B", "s/bit")]
    + [("energy_per_byte", prefix + unit) for prefix in SMALL for unit in ("J/B", "J/bit")]
    + [("rate", prefix + "FLOP/s") for prefix in LARGE]
)


@pytest.mark.parametrize(("dimension", "unit"), UNITS)
def test_every_unit_against_pint(dimension: str, unit: str) -> None:
    registry = _pint_registry()
    expected = registry.Quantity(3.5, unit).to(DIMENSIONS[dimension]).magnitude
    assert parse_quantity(f"3.5 {unit}", dimension) == pytest.approx(expected, rel=1e-14)


@given(st.floats(1e-9, 1e12), st.sampled_from(UNITS))
def test_prefixes_scale_like_exact_decimals(number: float, case: tuple[str, str]) -> None:
    dimension, unit = case
    assume("bit" not in unit and "i" not in unit)
    exponents = {"p": -12, "n": -9, "u": -6, "µ": -6, "m": -3}
    exponents |= {"k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
    prefix = unit.removesuffix(DIMENSIONS[dimension])
    mantissa, _, exponent = f"{number:.6e}".partition("e")
    literal = float(f"{mantissa}e{int(exponent) + exponents.get(prefix, 0)}")
    assert parse_quantity(f"{mantissa}e{exponent} {unit}", dimension) == literal


_registries: list[object] = []


def _pint_registry() -> object:
    pint = pytest.importorskip("pint")
    if not _registries:
        registry = pint.UnitRegistry()
        registry.define("FLOP = [operation]")
        _registries.append(registry)
    return _registries[0]


@pytest.mark.parametrize(
    ("unit", "dimension", "bits", "several"),
    [("Gb/s", "bandwidth", "Gbit/s", "GB/s"), ("kb", "size", "kbit", "kB"), ("ns/b", "per_byte", "ns/bit", "ns/B")],
)
def test_a_small_b_may_mean_bits_or_bytes(unit: str, dimension: str, bits: str, several: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_quantity(f"10 {unit}", dimension)
    assert repr(bits) in str(caught.value)
    assert repr(several) in str(caught.value)
