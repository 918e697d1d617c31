"""Groups, communicators of them, what ranks keep with communicators, and the nodes of the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcodesign.core.errors import DeadlockError, InputError
from simcodesign.describe.machine import Machine
from tests.mpi.programs import run_text


def test_groups_are_as_the_standard_defines_them(tmp_path: Path) -> None:
    """MPI 4.1, section 7.3.2: examples and definitions; sets by Python where order does not matter."""
    run_text(
        tmp_path,
        """
        world = comm.Get_group()
        assert (world.size, world.rank, world.Get_size(), world.Get_rank()) == (size, rank, size, rank)
        one, two = world.Incl([5, 1, 3]), world.Incl([2, 3, 5, 0])
        def ranks(group):
            return group.Translate_ranks(None, world)
        assert ranks(one) == [5, 1, 3] and ranks(two) == [2, 3, 5, 0]
        assert ranks(MPI.Group.Union(one, two)) == [5, 1, 3, 2, 0]
        assert ranks(MPI.Group.Intersection(one, two)) == [5, 3]
        assert ranks(MPI.Group.Difference(one, two)) == [1]
        assert ranks(world.Excl([0, 4])) == [1, 2, 3, 5]
        assert ranks(world.Range_incl([(0, 5, 2), (5, 3, -2)])) == [0, 2, 4, 5, 3]
        assert ranks(world.Range_excl([(1, 4, 3)])) == [0, 2, 3, 5]
        assert one.Get_rank() == {5: 0, 1: 1, 3: 2}.get(rank, MPI.UNDEFINED)
        assert one.Translate_ranks([0, 1, 2, MPI.PROC_NULL], two) == [2, MPI.UNDEFINED, 1, MPI.PROC_NULL]
        assert one.Compare(world.Incl([5, 1, 3])) == MPI.IDENT
        assert one.Compare(world.Incl([1, 3, 5])) == MPI.SIMILAR
        assert one.Compare(two) == MPI.UNEQUAL
        assert MPI.Group.Difference(one, one).Compare(MPI.GROUP_EMPTY) == MPI.IDENT
        assert bool(one) and not MPI.GROUP_NULL and MPI.GROUP_EMPTY != MPI.GROUP_NULL
        one.Free()
        assert one == MPI.GROUP_NULL
        """,
        6,
    )


def test_communicators_of_groups(tmp_path: Path) -> None:
    """Ranks of a group in its order; ranks outside have COMM_NULL; Create_group is called by members alone."""
    run_text(
        tmp_path,
        """
        group = comm.Get_group().Incl([4, 0, 2])
        made = comm.Create(group)
        assert (made == MPI.COMM_NULL) == (rank % 2 == 1)
        assert bool(made) == (rank % 2 == 0) and isinstance(comm.Dup(), MPI.Intracomm)
        if rank % 2 == 0:
            assert isinstance(made, MPI.Intracomm)
            assert made.allgather(rank) == [4, 0, 2] and made.rank == [4, 0, 2].index(rank)
            assert made.Compare(comm) == MPI.UNEQUAL and made.Compare(made) == MPI.IDENT
            assert made.Compare(made.Dup()) == MPI.CONGRUENT
            assert made.Compare(made.Split(0, rank)) == MPI.SIMILAR
            for turn in range(2):
                apart = comm.Create_group(group, tag=7)
                assert apart.allreduce(rank) == 6 and apart.rank == made.rank
            made.Free()
            assert made == MPI.COMM_NULL and not made and apart != MPI.COMM_NULL and apart
        else:
            odd = comm.Create_group(comm.Get_group().Range_incl([(5, 1, -2)]))
            assert odd.allgather(rank) == [5, 3, 1] and not odd.Is_inter() and odd.is_intra
        halves = comm.Create(comm.group.Incl([0, 1]) if rank < 2 else comm.group.Incl([5, 4, 3, 2]))
        assert halves.bcast(rank) == (0 if rank < 2 else 5)
        assert comm.Create(MPI.GROUP_EMPTY) == MPI.COMM_NULL
        """,
        6,
    )


def test_ranks_of_a_node(tmp_path: Path) -> None:
    """Three nodes of four processors, ranks 0 to 9 one after another: nodes of four, four and two ranks."""
    machine = Machine.load(
        {
            "simcodesign": 1,
            "name": "three",
            "nodes": 3,
            "processors_per_node": 4,
            "processor": {"rate": "1 GFLOP/s"},
            "network": {"topology": {"kind": "crossbar"}, "startup": "10 us", "bandwidth": "100 MB/s"},
        }
    )
    run_text(
        tmp_path,
        """
        node = comm.Split_type(MPI.COMM_TYPE_SHARED, key=-rank)
        assert node.allgather(rank) == [r for r in range(9, -1, -1) if r // 4 == rank // 4]
        names = comm.allgather(MPI.Get_processor_name())
        assert [names.index(name) for name in names] == [r // 4 * 4 for r in range(10)]
        assert comm.Split_type(MPI.UNDEFINED) == MPI.COMM_NULL
        assert comm.Split_type(MPI.COMM_TYPE_HW_UNGUIDED).size == node.size
        assert node.Split_type(MPI.COMM_TYPE_HW_UNGUIDED) == MPI.COMM_NULL
        leaders = comm.Split(0 if node.rank == 0 else MPI.UNDEFINED)
        assert not leaders or leaders.allgather(rank) == [3, 7, 9]
        """,
        10,
        machine,
    )


def test_what_ranks_keep_with_a_communicator(tmp_path: Path) -> None:
    """Each rank has its own; duplicates have what MPI 4.1, section 7.7.2, gives them."""
    run_text(
        tmp_path,
        """
        calls = []
        def copied(comm, key, value):
            return value + 1
        def deleted(comm, key, value):
            calls.append(value)
        key = MPI.Comm.Create_keyval(copied, deleted)
        plain, kept = MPI.Comm.Create_keyval(), MPI.Comm.Create_keyval(copy_fn=True)
        comm.Set_attr(key, 10 * rank)
        comm.Set_attr(plain, 'not copied')
        comm.Set_attr(kept, 'copied')
        comm.Barrier()
        other = comm.Dup()
        assert comm.Get_attr(key) == 10 * rank and other.Get_attr(key) == 10 * rank + 1
        assert other.Get_attr(plain) is None and other.Get_attr(kept) == 'copied'
        comm.Set_attr(key, 5)
        comm.Delete_attr(key)
        other.Free()
        assert calls == [10 * rank, 5, 10 * rank + 1] and comm.Get_attr(key) is None
        assert comm.Get_attr(MPI.TAG_UB) >= 32767 and comm.Get_attr(MPI.WTIME_IS_GLOBAL) in (True, False)
        assert MPI.Comm.Free_keyval(key) == MPI.KEYVAL_INVALID
        other = comm.Dup()
        other.Set_name(f'mine {rank}')
        comm.Barrier()
        assert (other.Get_name(), other.name, comm.name) == (f'mine {rank}', f'mine {rank}', 'MPI_COMM_WORLD')
        number = MPI.INT.Create_contiguous(2)
        number.Set_attr(MPI.Datatype.Create_keyval(copy_fn=True), 3)
        comm.Set_errhandler(MPI.ERRORS_RETURN)
        assert comm.Get_errhandler() == MPI.ERRORS_RETURN != MPI.ERRORS_ARE_FATAL
        grid = comm.Create_cart([3, 1], [True, False]).Dup()
        assert isinstance(grid, MPI.Cartcomm) and grid.dims == [3, 1] and grid.Shift(0, 1)[1] == (rank + 1) % 3
        """,
        3,
    )


def test_hints(tmp_path: Path) -> None:
    run_text(
        tmp_path,
        """
        info = MPI.Info.Create({'a': '1'})
        info.Set('b', '2')
        info['c'] = '3'
        assert info.Get('b') == '2' and info.Get('z') is None and info.Get_nkeys() == len(info) == 3
        assert sorted(info) == sorted(info.Get_nthkey(n) for n in range(3)) == ['a', 'b', 'c']
        info.Delete('a')
        assert sorted(info.items()) == [('b', '2'), ('c', '3')] and isinstance(info.keys(), list)
        other = info.Dup()
        info.Free()
        assert info == MPI.INFO_NULL and not info and other and other['b'] == '2'
        assert comm.Dup(other).Get_rank() == rank
        """,
        1,
    )


WRONG = [
    ("comm.group.Incl([0, 0])", InputError, r"py:5: .*in the group, got \[0, 0\]"),
    ("comm.group.Excl([2])", InputError, r"py:5: .*in the group, got \[2\] .allowed: different ranks, 0 to 1"),
    ("comm.Split(MPI.UNDEFINED).Barrier()", InputError, r"py:5: .*null object .*as MPI.COMM_NULL"),
    ("comm.Split_type(99)", InputError, r"py:5: .*support this split_type, got 99"),
    ("rank or comm.Create_group(comm.group)", DeadlockError, r"rank 0 in create_group \(.*py:5\)"),
    ("comm.Create_group(comm.group.Incl([0]))", InputError, r"py:5: .*outside the group, got 'rank 1'"),
    ("comm.Delete_attr(comm.Create_keyval())", InputError, r"py:5: .*with this key"),
    ("comm.Set_attr(-1, 0)", InputError, r"py:5: .*attribute has this key, got -1"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "match"), WRONG)
def test_wrong_groups(tmp_path: Path, text: str, kind: type[Exception], match: str) -> None:
    with pytest.raises(kind, match=match):
        run_text(tmp_path, text, 2)
