"""``mpi4py.util.dtlib``: datatypes of MPI from NumPy's types, and the other way."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcodesign.mpi.objects.datatypes import Datatype, of_dtype


def from_numpy_dtype(dtype: Any) -> Datatype:
    """Return the datatype of a type of NumPy: of a structure, of subarrays, or basic. It is not committed.

    Raises ValueError for another order of bytes than this computer's, and for objects.
    """
    kind = np.dtype(dtype)
    if kind.hasobject:
        raise ValueError("NumPy datatype with object entries")
    if not kind.isnative:
        raise ValueError("NumPy datatype with non-native byteorder")
    if kind.fields:
        names = kind.names or ()
        parts = [kind.fields[name][:2] for name in names]
        made = Datatype.Create_struct(
            [1] * len(parts), [at for _, at in parts], [from_numpy_dtype(one) for one, _ in parts]
        )
        return made.Create_resized(0, kind.itemsize)
    if kind.subdtype is not None:
        base, shape = kind.subdtype
        return from_numpy_dtype(base).Create_contiguous(int(np.prod(shape)))
    if kind.kind in "SU" and kind.itemsize:
        base = of_dtype(np.dtype("S1" if kind.kind == "S" else "i4"))
        return base.Create_contiguous(kind.itemsize // base.size)
    if kind.kind == "V":
        return of_dtype(np.dtype("u1")).Create_contiguous(kind.itemsize)
    return of_dtype(kind).Dup()


def to_numpy_dtype(datatype: Datatype) -> np.dtype[Any]:
    """Return NumPy's type of one item of a datatype. Raises ValueError for one whose items overlap."""
    return datatype.numpy_dtype()
