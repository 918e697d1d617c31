"""Finding and loading files: shipped names, paths, machines that extend others, changes by dotted path."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcodesign.core.errors import InputError
from simcodesign.describe.yaml.files import MAX_EXTENDS, available, load_machine, load_workload, shipped

BASE = """\
simcodesign: 1
name: base
nodes: 4
processor: {rate: 1 GFLOP/s}
network:
  topology: {kind: mesh, shape: [2, 2]}
  startup: 10 us
  bandwidth: 100 MB/s
disk:
  read_startup: 1 ms
  write_startup: 2 ms
  bandwidth: 10 MB/s
"""


@pytest.fixture
def base(tmp_path: Path) -> Path:
    path = tmp_path / "base.yaml"
    path.write_text(BASE)
    return path


def beside(base: Path, name: str, text: str) -> Path:
    path = base.parent / f"{name}.yaml"
    path.write_text(text)
    return path


def problem(path: Path | str, changes: dict[str, object] | None = None) -> str:
    with pytest.raises(InputError) as caught:
        load_machine(path, changes)
    return str(caught.value)


# --- Names and paths -----------------------------------------------------------------------------------------


def test_every_shipped_file_is_named_as_it_calls_itself() -> None:
    for name in available("topologies"):
        assert load_machine(name).name == name
    for name in available("workloads"):
        assert load_workload(name).name == name
    assert [path.stem for path in shipped("workloads")] == available("workloads")


def test_paths(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_machine(base).name == load_machine(str(base)).name == "base"
    monkeypatch.chdir(base.parent)
    assert load_machine("base.yaml").name == load_machine("./base.yaml").name == load_machine(Path("base.yaml")).name


def test_a_name_is_never_a_file_of_the_working_folder(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(base.parent)
    assert "no such machine, got 'base'" in problem("base")


def test_unknown_names_have_a_suggestion() -> None:
    assert "did you mean 'power-challenge'" in problem("power-chalenge")
    with pytest.raises(InputError, match=r"no such workload, got 'seismik': did you mean 'seismic'"):
        load_workload("seismik")
    for name in ("", ".", "..", "x" * 10_000, "a\nb", "\x1b[31m", "base.json"):
        text = problem(name)
        assert "no such machine" in text
        assert text.isprintable()


def test_files_of_the_other_kind_are_named(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(base.parent)
    beside(base, "ring", "simcodesign: 1\nname: ring\nprogram: [{barrier: {}}]\n")
    (base.parent / "ring.goal").write_text("num_ranks 1\nrank 0 {\nl1: calc 5\n}\n")
    with pytest.raises(InputError, match=r"^base\.yaml is a machine; a workload is expected \(allowed: accelerated-"):
        load_workload("base.yaml")
    for name in ("ring.yaml", "ring.goal", "jacobi"):
        assert problem(name).startswith(f"{name} is a workload; a machine is expected (allowed: a100-cluster, ")
        assert problem(name).endswith("more: simcodesign list; or the path of a machine file)")
    beside(base, "other", "extends: ring\n")
    assert "ring.yaml is a workload; a machine is expected" in problem("other.yaml")
    beside(base, "study", "simcodesign: 1\nplanner: tune\n")  # neither: its own error
    assert "unknown key" in problem("study.yaml")


# --- Machines that extend others -----------------------------------------------------------------------------


def test_extending_changes_only_what_is_said(base: Path) -> None:
    path = beside(base, "other", "extends: base\nname: other\nnetwork:\n  startup: 5 us\n")
    first, second = load_machine(base), load_machine(path)
    assert (second.name, second.network.message_model.startup_s) == ("other", 5e-6)
    assert second.constants() == first.constants() | {"network.startup": 5e-6}
    assert second.network.topology.kind == "mesh"


def test_extending_with_another_topology_or_another_name_of_a_constant(base: Path) -> None:
    path = beside(
        base,
        "other",
        "extends: base.yaml\nnetwork:\n  topology: {kind: bus}\n  per_byte: 1 us/B\ndisk: {bandwidth: 1}\n",
    )
    other = load_machine(path)
    assert (other.network.topology.kind, other.network.message_model.per_byte_s) == ("bus", 1e-6)
    assert other.disk is not None
    assert other.disk.per_byte_s == 1
    both = beside(base, "both", "extends: base\nnetwork: {per_byte: 1 us/B, bandwidth: 1}\n")
    assert f"{both}:2: network.per_byte: network.per_byte is given twice" in problem(both)


def test_a_chain(base: Path) -> None:
    beside(base, "b", "extends: base\nname: b\nnetwork: {startup: 1 us, hop_latency: 1 us}\n")
    path = beside(base, "c", "extends: b\nname: c\nnetwork: {startup: 2 us}\n")
    network = load_machine(path).network
    assert (network.message_model.startup_s, network.hop_latency_s, network.message_model.per_byte_s) == (
        2e-6,
        1e-6,
        1e-8,
    )


def test_a_shipped_base_and_one_beside_it(base: Path) -> None:
    path = beside(base, "mine", "extends: power-challenge\nname: mine\n")
    assert load_machine(path).nodes == load_machine("power-challenge").nodes
    beside(base, "power-challenge", BASE)
    assert load_machine(path).nodes == 4


def test_errors_name_the_file_in_which_they_stand(base: Path) -> None:
    path = beside(base, "other", "name: other\nextends: base\nnetwork:\n  startup: -5 us\n")
    assert problem(path).startswith(f"{path}:4: network.startup: ")
    base.write_text(BASE.replace("rate: 1 GFLOP/s", "rate: 0"))
    path.write_text("name: other\nextends: base\n")
    assert problem(path).startswith(f"{base}:4: processor.rate: ")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("extends: bse", "no such machine, got 'bse' (allowed: "),
        ("extends: [base]", "a single value"),
        ("extends: ''", "not a name"),
        ("extends: " + "x" * 90, "no such machine"),
        ("extends: " + "x" * 5000, "not a name"),
        ("extends: missing/base", "no such machine"),
        ("extends: missing.yaml", "no such machine"),
        ("extends: power-chalenge", "did you mean 'power-challenge'"),
        ("extends: self", "extend each other: self -> self"),
        ("extends: ./self.yaml", "extend each other"),
        ("extends: ../{folder}/self.yaml", "extend each other"),
        ("extends:", "not a name"),
    ],
)
def test_bases_that_cannot_be(base: Path, line: str, what: str) -> None:
    path = beside(base, "self", "name: self\n" + line.replace("{folder}", base.parent.name) + "\n")
    text = problem(path)
    assert text.startswith(f"{path}:2: extends: ")
    assert what in text


def test_cycles_and_long_chains(base: Path) -> None:
    for one, other in ("ab", "bc", "ca"):
        beside(base, one, f"name: {one}\n\nextends: {other}\n")
    assert (
        problem(base.parent / "a.yaml")
        == f"{base.parent}/c.yaml:3: extends: machines extend each other: a -> b -> c -> a"
    )
    beside(base, "m0", BASE)
    for number in range(1, MAX_EXTENDS + 2):
        beside(base, f"m{number}", f"extends: m{number - 1}\nname: x\n")
    assert load_machine(base.parent / f"m{MAX_EXTENDS}.yaml").name == "x"
    assert f"more than {MAX_EXTENDS} machines" in problem(base.parent / f"m{MAX_EXTENDS + 1}.yaml")


def test_the_format_of_the_base_counts_too(base: Path) -> None:
    base.write_text(BASE.replace("simcodesign: 1", "simcodesign: 2"))
    path = beside(base, "other", "simcodesign: 1\nextends: base\n")
    assert problem(path).startswith(f"{base}:1: simcodesign: unknown format version")


def test_a_base_that_is_no_mapping(base: Path) -> None:
    base.write_text("- 1\n")
    assert problem(beside(base, "other", "extends: base\n")).startswith(f"{base}:1: ")


def test_a_workload_extends_nothing(base: Path) -> None:
    with pytest.raises(InputError, match="unknown key, got 'extends'"):
        load_workload(beside(base, "w", "simcodesign: 1\nextends: seismic\nname: x\nprogram: [barrier: {}]\n"))


# --- Changes by dotted path ------------------------------------------------------------------------------------


def test_changes(base: Path) -> None:
    changed = load_machine(
        base,
        {"nodes": 6, "network.topology.shape": [3, 2], "network.startup": "20 us", "disk.spindles": "3", "noise": 0.5},
    )
    assert (changed.nodes, changed.network.message_model.startup_s, changed.noise) == (6, 20e-6, 0.5)
    assert changed.disk is not None
    assert changed.disk.spindles == 3
    assert load_machine(base, {}) == load_machine(base, None)


def test_changes_of_structure(base: Path) -> None:
    assert load_machine(base, {"network.topology.kind": "bus"}).network.topology.kind == "bus"
    assert load_machine(base, {"network.topology": "{kind: torus, dims: 1}"}).network.topology.kind == "torus"
    assert load_machine(base, {"mapping": [3, 2, 1, 0]}).mapping == (3, 2, 1, 0)
    assert load_machine(base, {"network.per_byte": "1 us/B"}).network.message_model.per_byte_s == 1e-6
    assert load_machine(base, {"network.link_bandwidth": "1 GB/s"}).network.link_per_byte_s == 1e-9


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        ("nods", 4, "did you mean 'nodes'"),
        ("network.startups", 1, "did you mean 'startup'"),
        ("nodes", 8, "shape has 4 hosts"),
        ("nodes", 4.5, "a whole number"),
        ("nodes", "4 5", "a number"),
        ("network.startup", "20 MB", "unit of size"),
        ("network.startup", float("nan"), "not a quantity"),
        ("network.startup", -1, "0 or above"),
        ("network", 3, "a mapping"),
        ("extends", "base", "unknown key"),
        ("", 4, "not the path of a key"),
        ("a..b", 4, "not the path"),
        ("nodes.x", 4, "must be a number"),
        ("simcodesign", 2, "format"),
        ("network.link_bandwidth", "99 MB/s", "faster than its link"),
        ("mapping", [4], "0 to 3"),
        ("name", [1], "a single value"),
    ],
)
def test_changes_that_cannot_be(base: Path, path: str, value: object, what: str) -> None:
    text = problem(base, {path: value})
    assert what in text
    assert text.startswith(("set: ", f"{base}:"))


def test_a_file_of_that_name_in_the_working_folder_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ring.yaml").write_text("simcodesign: 1", encoding="utf-8")
    with pytest.raises(InputError, match=r"\./ring\.yaml"):
        load_machine("ring")
    with pytest.raises(InputError, match=r"crossbar-16.*path of a \.yaml file"):
        load_machine("rong")
