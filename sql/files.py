"""Files in FROM: `SELECT * FROM 'sales.parquet'` names a file where a table could stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from raydb.sql.statements import Select


def files_of(select: Select) -> tuple[str, ...]:
    """Return the paths of the files that a query reads, each once, in no order that matters.

    Whoever binds the query puts each file into the catalog under `file_table(path)`.

    >>> files_of(parse("SELECT * FROM 'a.csv' JOIN t USING (id)")[0])
    ('a.csv',)
    """
    tables = select.tree.find_all(exp.Table)
    return tuple(dict.fromkeys(table.this.name for table in tables if is_file(table)))


def is_file(table: exp.Table) -> bool:
    """Say whether a source in FROM is written as a string."""
    return isinstance(table.this, exp.Literal)


def file_table(path: str) -> str:
    """Return the name of a file's table in the catalog of one statement: the path in quotes.

    >>> file_table("a.csv")
    "'a.csv'"
    """
    return f"'{path}'"
