"""What may be started, waited for and overlapped, and where the error stands if it may not."""

from __future__ import annotations

import pytest

from simcodesign.core.errors import InputError
from simcodesign.describe.demands.wait import Wait
from simcodesign.describe.programs.program import Block
from tests.builders import workload

START = "- {start: {allreduce: {bytes: 8}}, as: x}\n"


def test_a_started_demand_is_what_it_was_but_for_its_name() -> None:
    begun, alone = workload(f"{START}- allreduce: {{bytes: 8}}\n- wait: x").program[:2]
    assert begun.started_as == "x"
    assert not alone.started_as
    assert begun.bytes.text == alone.bytes.text
    assert begun.key == alone.key


def test_one_wait_for_several() -> None:
    program = workload(f"{START}- {{start: {{send: {{to: 0, bytes: 1}}}}, as: y}}\n- wait: [y, x]").program
    assert program[-1].names == ("y", "x")


def test_a_name_again_after_its_wait() -> None:
    assert len(workload(f"{START}- wait: x\n{START}- wait: x").program) == 4


def test_all_parts_that_overlap_are_waited_for_and_the_processor_is_not_started() -> None:
    (block,) = workload("- overlap: [compute: {flops: 1}, read: {bytes: 1}, memory: {hits: {l1: 1}, loads: 1}]").program
    assert isinstance(block, Block)
    assert block.overlaps
    *begun, own, wait = block.body
    assert isinstance(wait, Wait)
    assert own.works_on == "processor"
    assert not own.started_as
    assert {part.started_as for part in begun} == {*wait.names}


@pytest.mark.parametrize(
    ("program", "line", "value"),
    [
        ("- wait: x", 4, "x"),
        (f"{START}- barrier: {{}}", 4, "x"),
        (f"{START}{START}- wait: x", 5, "x"),
        (f"{START}- do:\n  - wait: x", 6, "x"),
        (f"- repeat: 2\n  do:\n  {START}- wait: x", 6, "x"),
        (f"{START}- wait: [x, x]", 5, "x"),
        ("- {start: {compute: {flops: 1}}, as: x}\n- wait: x", 4, "compute"),
        ("- {start: {wait: x}, as: x}", 4, "wait"),
        ("- overlap: [compute: {flops: 1}]", 4, 1),
        ("- overlap: [compute: {flops: 1}, compute: {flops: 2}]", 4, "compute"),
        ("- overlap: [compute: {flops: 1}, barrier: {}]", 4, "collective"),
        ("- {start: {barrier: {}}}", 4, None),
        ("- wait: []", 4, None),
        ("- overlap: [compute: {flops: 1}, {do: [barrier: {}]}]", 4, None),
    ],
)
def test_errors_have_their_place(program: str, line: int, value: object) -> None:
    with pytest.raises(InputError) as error:
        workload(program)
    assert error.value.place is not None
    assert error.value.place.line == line
    assert error.value.value == value
