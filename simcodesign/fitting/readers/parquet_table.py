"""Tables in Parquet: tidy ones of measurements with the columns of ``tidy_table``, and sweeps. Needs pyarrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import DATA_BYTES, check_size, open_bytes
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.readers.formats import READERS, MeasurementReader
from simcodesign.fitting.readers.rows import CHUNK_ROWS, Rows
from simcodesign.fitting.readers.sweep_table import SweepTable, is_sweep, measurements_of_sweep
from simcodesign.fitting.readers.tidy_table import REPETITION, add_frame, columns_of

FIRST_BYTES = b"PAR1"


def read_parquet(path: Path, partial: bool = False, value: str | None = None) -> Measurements:
    """Return the measurements in a tidy table in a Parquet file; ``value`` names the column of values.

    Needs pyarrow.

    Raises InputError naming row (from 1, below the names of the columns) and column.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(
            "reading Parquet needs the package pyarrow, which is not installed",
            Place(str(path)),
            allowed="pip install pyarrow, or the table as CSV",
        ) from None
    rows = Rows(str(path), partial)

    def locate(row: int, column: str) -> Place:
        return Place(str(path), path=f"row {row + 1}, column {column}")

    try:
        with open_bytes(path) as opened, pyarrow.parquet.ParquetFile(opened) as file:
            check_size(unpacked_bytes(file.metadata), DATA_BYTES, Place(str(path)), "the table in the file")
            if is_sweep(file.schema_arrow.names):
                frame = file.read().to_pandas().astype(object)
                cells = {str(name): column.where(column.notna(), None).tolist() for name, column in frame.items()}
                return measurements_of_sweep(SweepTable(cells, locate), str(path))
            columns = columns_of(file.schema_arrow.names, Place(str(path)), value)
            for batch in file.iter_batches(batch_size=CHUNK_ROWS):
                frame = batch.to_pandas()
                add_frame(rows, columns, frame.set_axis(list(columns.names), axis=1), locate)
    except InputError:
        raise
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(f"the Parquet file cannot be read: {error}", Place(str(path))) from None
    return rows.measurements(columns.parameters, lambda row: locate(row, columns.named[REPETITION]))


def unpacked_bytes(metadata: Any) -> int:
    """Decompressed size of the columns, from the file's metadata."""
    return sum(metadata.row_group(index).total_byte_size for index in range(metadata.num_row_groups))


def sniff(start: FileStart) -> Match:
    """Return the first bytes of every Parquet file."""
    return Match.CERTAIN if start.content.startswith(FIRST_BYTES) else Match.NONE


READERS.add_reader(MeasurementReader("parquet", read_parquet, (".parquet", ".pq"), sniff, read_column=read_parquet))
