"""RayDB's SQL as a dialect of sqlglot, found by its name through an entry point.

    sqlglot.transpile("SELECT a / b FROM t", read="mysql", write="raydb")

It is for other programs. RayDB itself reads texts by `sql/parse/dialect.py`, whose trees keep every
call as it is written, so that no other dialect could write them.
"""

from __future__ import annotations

from sqlglot.dialects.duckdb import DuckDB


class RayDB(DuckDB):
    """DuckDB's dialect, but for what PostgreSQL decides in RayDB.

    Integers are divided as integers, and a division by zero is an error. NULL is greater than all
    values where an ORDER BY does not say.
    """

    NULL_ORDERING = "nulls_are_large"
    TYPED_DIVISION = True
    SAFE_DIVISION = False
