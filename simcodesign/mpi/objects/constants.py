"""Numbers of MPI by name. The standard leaves their values open; these are Open MPI's where programs may see them."""

from __future__ import annotations

ROOT = -4
IDENT, CONGRUENT, SIMILAR, UNEQUAL = range(4)
COMM_TYPE_SHARED, COMM_TYPE_HW_UNGUIDED, COMM_TYPE_HW_GUIDED, COMM_TYPE_RESOURCE_GUIDED = 0, 12, 13, 14
ORDER_C, ORDER_FORTRAN = range(2)
DISTRIBUTE_BLOCK, DISTRIBUTE_CYCLIC, DISTRIBUTE_NONE, DISTRIBUTE_DFLT_DARG = 0, 1, 2, -1
KEYVAL_INVALID = -1
#: Bytes that a buffered send takes of its buffer beside the message.
BSEND_OVERHEAD = 128
TAG_UB, IO, WTIME_IS_GLOBAL, APPNUM, LASTUSEDCODE, UNIVERSE_SIZE = 0, 2, 3, 4, 5, 6

#: Classes of errors. Errors end the run here, so that these are for programs that only name them.
_ERRORS = """
BUFFER COUNT TYPE TAG COMM RANK REQUEST ROOT GROUP OP TOPOLOGY DIMS ARG UNKNOWN TRUNCATE OTHER INTERN IN_STATUS PENDING
ACCESS AMODE ASSERT BAD_FILE BASE CONVERSION DISP DUP_DATAREP FILE_EXISTS FILE_IN_USE FILE INFO_KEY INFO_NOKEY
INFO_VALUE INFO IO KEYVAL LOCKTYPE NAME NO_MEM NOT_SAME NO_SPACE NO_SUCH_FILE PORT QUOTA READ_ONLY RMA_CONFLICT RMA_SYNC
SERVICE SIZE SPAWN UNSUPPORTED_DATAREP UNSUPPORTED_OPERATION WIN
"""

CONSTANTS = {name: value for name, value in globals().items() if name.isupper() and isinstance(value, int)} | {
    "SUCCESS": 0,
    **{f"ERR_{name}": number for number, name in enumerate(_ERRORS.split(), 1)},
    "ERR_LASTCODE": 92,
    "ORDER_F": ORDER_FORTRAN,
    "MAX_PROCESSOR_NAME": 256,
    "MAX_ERROR_STRING": 256,
    "MAX_INFO_KEY": 36,
    "MAX_INFO_VAL": 256,
    "MAX_OBJECT_NAME": 64,
    "MAX_LIBRARY_VERSION_STRING": 256,
}
