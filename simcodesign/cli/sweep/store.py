"""``simcodesign sweep-store check | export | recover``: the file in which a sweep keeps its points."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from simcodesign.cli.app import app
from simcodesign.report.common.terminal import complain, write

sweep_store = typer.Typer(no_args_is_help=True, help="The store of a sweep: check it, export it, save its rows.")
app.add_typer(sweep_store, name="sweep-store")

StoreFile = Annotated[Path, typer.Argument(metavar="FILE", help="The store of a sweep.")]
DAMAGED = 1


@sweep_store.command()
def check(file: StoreFile) -> None:
    """Look at every page and row; exit status 1 if anything is wrong."""
    with import_module("simcodesign.studies.sweep.store").Store.open(file, write=False) as store:
        found = store.check()
        count, failed = (len(store), store.failed()) if not found else (0, 0)
    for line in found:
        write(f"{line}\n")
    if found:
        complain(f"damaged; its right rows: simcodesign sweep-store recover {file} TARGET")
        raise typer.Exit(DAMAGED)
    write(f"{count:,} points, {failed:,} of them failed; every row is as it was written\n")


@sweep_store.command()
def export(
    file: StoreFile, output: Annotated[Path, typer.Argument(metavar="TABLE", help="What is written: .csv or .parquet.")]
) -> None:
    """Write the table of a store, finished or not."""
    import_module("simcodesign.studies.sweep.table").check_table_file(output)
    with import_module("simcodesign.studies.sweep.store").Store.open(file, write=False) as store:
        table = store.frame()
    import_module("simcodesign.studies.sweep.table").write_table(table, output)
    complain(f"{len(table):,} points written to {output}")


@sweep_store.command()
def recover(
    file: StoreFile, target: Annotated[Path, typer.Argument(metavar="TARGET", help="A new store, made of right rows.")]
) -> None:
    """Copy every row that is as it was written into a new store, with which the sweep can go on."""
    found = import_module("simcodesign.studies.sweep.recovery").recover(file, target)
    lost = "" if found.lost is None else f"; {found.lost:,} points are missing, done or not"
    complain(f"{found.rows:,} points copied to {target}{lost}")
