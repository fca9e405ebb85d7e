"""TPC-DS for the benchmark: data, schema and queries, as the TPC's own programs make them.

All of them come from the kit that the user has built (`gregrahn/tpcds-kit`): `dsdgen` makes the
rows, `tools/tpcds.sql` and `tools/tpcds_ri.sql` say what tables and keys there are, `dsqgen` makes
the queries with the parameters of the specification's validation.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

QUERY_NUMBERS = range(1, 100)

# The dialect of dsqgen whose LIMIT comes last.
DIALECT = "netezza"

# A return refers to its sale. The kit's file of keys leaves that out, and dsdgen keeps to it.
SALES_OF_RETURNS = {
    "store_returns": "FOREIGN KEY (sr_item_sk, sr_ticket_number) REFERENCES store_sales",
    "catalog_returns": "FOREIGN KEY (cr_item_sk, cr_order_number) REFERENCES catalog_sales",
    "web_returns": "FOREIGN KEY (wr_item_sk, wr_order_number) REFERENCES web_sales",
}

# What the kit's queries call otherwise than its schema, and an alias that DuckDB reads as a word.
NAMES = {"c_last_review_date": "c_last_review_date_sk", "at": "before_noon"}


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the kit. columns: (name, type); keys: its constraints as SQL."""

    name: str
    columns: tuple[tuple[str, str], ...]
    keys: tuple[str, ...]
    refers_to: frozenset[str]


# Tables


def tables_of(kit: Path) -> list[Table]:
    """Return the tables that the kit's schema defines, each behind those that it refers to."""
    text = _without_comments(kit / "tools" / "tpcds.sql")
    foreign: dict[str, list[tuple[str, str]]] = {}
    pattern = r"alter table (\w+) add constraint \w+ foreign key\s*\((\w+)\)\s*references (\w+)"
    for table, column, target in re.findall(pattern, _without_comments(_keys_file(kit))):
        foreign.setdefault(table, []).append((column, target))
    found = {}
    for name, body in re.findall(r"create table (\w+)\s*\((.*?)\n\);", text, re.DOTALL):
        lines = [line.strip().rstrip(",").strip() for line in body.strip().splitlines()]
        columns = [line.split(None, 2) for line in lines if not line.startswith("primary key")]
        keys = [line for line in lines if line.startswith("primary key")]
        if not keys:
            continue  # the table of the kit's own version
        keys += [f"FOREIGN KEY ({column}) REFERENCES {to}" for column, to in foreign.get(name, ())]
        keys += [SALES_OF_RETURNS[name]] if name in SALES_OF_RETURNS else []
        targets = {key.split()[-1] for key in keys if key.startswith("FOREIGN")}
        named = tuple((column[0], column[1]) for column in columns)
        found[name] = Table(name, named, tuple(keys), frozenset(targets - {name}))
    ordered: list[Table] = []
    while len(ordered) < len(found):
        known = {table.name for table in ordered}
        ready = [t for t in found.values() if t.name not in known and t.refers_to <= known]
        assert ready, "the tables of the kit refer to each other in a circle"
        ordered += ready
    return ordered


def _keys_file(kit: Path) -> Path:
    return kit / "tools" / "tpcds_ri.sql"


def _without_comments(file: Path) -> str:
    return re.sub(r"--[^\n]*", "", file.read_text(encoding="latin-1")).lower()


# Rows


@functools.cache
def parquet_files(kit: Path, scale_factor: int) -> dict[str, Path]:
    """Return each table's Parquet file; what is not in the temporary folder yet is generated."""
    folder = Path(tempfile.gettempdir()) / f"raydb-tpcds-{os.getuid()}" / f"sf-{scale_factor}"
    tables = tables_of(kit)
    if not folder.exists():
        folder.parent.mkdir(exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(dir=folder.parent))
        size = ["-SCALE", str(scale_factor), "-DIR", str(unfinished), "-FORCE", "-QUIET", "Y"]
        # The programs look for their distributions in the folder that they run in.
        subprocess.run(["./dsdgen", *size], check=True, cwd=kit / "tools", capture_output=True)
        for table in tables:
            _write_parquet(table, unfinished / f"{table.name}.dat")
        try:
            unfinished.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(unfinished)
    return {table.name: folder / f"{table.name}.parquet" for table in tables}


def _write_parquet(table: Table, file: Path) -> None:
    """Write the rows of a file of dsdgen, whose lines end with a delimiter, as Parquet."""
    types = dict(table.columns) | {"nothing": "varchar"}
    listed = ", ".join(f"'{name}': '{kind}'" for name, kind in types.items())
    rows = (
        f"read_csv('{file}', delim = '|', header = false, quote = '', escape = '',"
        f" columns = {{{listed}}})"
    )
    target = file.with_suffix(".parquet")
    duckdb.sql(f"COPY (SELECT * EXCLUDE (nothing) FROM {rows}) TO '{target}'")
    file.unlink()


def load_raydb(connection: Any, kit: Path, scale_factor: int) -> None:
    """Create the tables in RayDB, with their keys."""
    files = parquet_files(kit, scale_factor)
    for table in tables_of(kit):
        columns = [f"{name} {kind}" for name, kind in table.columns]
        connection.execute(f"CREATE TABLE {table.name} ({', '.join((*columns, *table.keys))})")
        connection.execute(f"COPY {table.name} FROM '{files[table.name]}'")


def load_duckdb(connection: Any, kit: Path, scale_factor: int) -> None:
    """Create the tables in DuckDB, without keys: its indexes only slow these queries down."""
    for name, file in parquet_files(kit, scale_factor).items():
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM read_parquet('{file}')")


# Queries


def query_texts(kit: Path) -> dict[str, str]:
    """Return the statements by their names: of four templates 'Q14a' and 'Q14b', and so on."""
    found = {}
    for number in QUERY_NUMBERS:
        parts = [part.strip() for part in _generated(kit, number).split(";") if part.strip()]
        for part, letter in zip(parts, "ab" if len(parts) > 1 else " ", strict=True):
            found[f"Q{number}{letter}".strip()] = _adapted(part)
    return found


def _generated(kit: Path, number: int) -> str:
    """Return what dsqgen makes of a template, without the lines around it."""
    options = ["-TEMPLATE", f"query{number}.tpl", "-DIRECTORY", "../query_templates"]
    options += ["-DIALECT", DIALECT, "-QUALIFY", "Y", "-SCALE", "1", "-FILTER", "Y"]
    done = subprocess.run(
        ["./dsqgen", *options], check=True, cwd=kit / "tools", capture_output=True, text=True
    )
    return re.sub(r"--[^\n]*", "", done.stdout)


def _adapted(sql: str) -> str:
    """Write a query as both engines read it, which the specification allows in these places."""
    sql = re.sub(r"([+-])\s*(\d+)\s+days\)", r"\1 INTERVAL \2 DAY)", sql)
    for written, name in NAMES.items():
        sql = re.sub(rf"\b{written}\b", name, sql)
    return sql
