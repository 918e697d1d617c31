"""Memory that other libraries share by DLPack (https://dmlc.github.io/dlpack/latest/c_api.html).

NumPy's own reader takes the memory over and frees it later; here the exporter keeps it, as with mpi4py.
"""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.values.errors import MpiError

#: DLDeviceType: memory of the host, also where a GPU reads it (kDLCPU, kDLCUDAHost, kDLROCMHost, kDLCUDAManaged).
_OF_HOST = (1, 3, 11, 13)
#: DLDataTypeCode as NumPy's kinds of types: int, uint, float, complex, bool.
_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
#: The names of a capsule, with and without a version.
_PLAIN, _VERSIONED = b"dltensor", b"dltensor_versioned"


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned up to its tensor."""

    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_is_valid, _pointer = ctypes.pythonapi.PyCapsule_IsValid, ctypes.pythonapi.PyCapsule_GetPointer
_is_valid.argtypes = _pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
_is_valid.restype, _pointer.restype = ctypes.c_int, ctypes.c_void_p


def array_of_dlpack(given: Any) -> NDArray[Any]:
    """Return the array of an object with ``__dlpack__``; it keeps the object.

    Raises MpiError for a GPU's memory, for types that NumPy does not have, and for what is no capsule of DLPack.
    """
    name = type(given).__name__
    try:
        capsule = given.__dlpack__(max_version=(1, 0))
    except TypeError:  # of a library before version 1
        capsule = given.__dlpack__()
    except (BufferError, RuntimeError) as error:
        raise MpiError(f"not a buffer: {error}", place_of_call(), value=name) from None
    if _is_valid(capsule, _VERSIONED):
        versioned = _Versioned.from_address(_pointer(capsule, _VERSIONED))
        tensor, is_read_only = versioned.tensor, bool(versioned.flags & 1)
    elif _is_valid(capsule, _PLAIN):
        tensor, is_read_only = _Tensor.from_address(_pointer(capsule, _PLAIN)), False
    else:
        raise MpiError("not a capsule of DLPack", place_of_call(), value=name)
    if tensor.device[0] not in _OF_HOST:
        raise MpiError("a tensor is in the memory of a GPU", place_of_call(), value=name, allowed="memory of the host")
    kind, bits, lanes = _KINDS.get(tensor.code), tensor.bits, tensor.lanes
    if (kind, lanes) == ("f", 2):  # a complex number of more bits than the field can hold
        kind, bits, lanes = "c", 2 * bits, 1
    if kind is None or lanes != 1 or bits % 8:
        value = f"{name}: code {tensor.code}, {tensor.bits} bits, {tensor.lanes} lanes"
        raise MpiError(
            "a tensor has a type that NumPy does not have", place_of_call(), value=value, allowed="a type of NumPy"
        )
    itemsize, shape = bits // 8, tuple(tensor.shape[: tensor.ndim])
    strides = tuple(one * itemsize for one in tensor.strides[: tensor.ndim]) if tensor.strides else None
    if not tensor.data or 0 in shape:
        return np.zeros(shape, f"{kind}{itemsize}")
    interface = {
        "data": (tensor.data + tensor.byte_offset, is_read_only),
        "shape": shape,
        "strides": strides,
        "typestr": f"={kind}{itemsize}",
        "version": 3,
    }
    return np.asarray(SimpleNamespace(__array_interface__=interface, kept=(given, capsule)))
