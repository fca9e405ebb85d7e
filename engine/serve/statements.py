"""Statements as clients send them: texts, their parameters as rows of Arrow, and their results.

A query's rows are computed as they are fetched, and are never held as a whole unless it sorts,
joins or aggregates them. Any other text runs at once.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from raydb import sql
from raydb.errors import DataError, Error, ProgrammingError
from raydb.planner.expressions.casts.cast import literal_value
from raydb.planner.expressions.nodes import Literal
from raydb.sql import ast
from raydb.storage.formats.arrow.sql_types import sql_type
from raydb.storage.formats.cast_columns import cast_column
from raydb.storage.nested import leaf_types
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias

    from raydb.engine.api.connection import Connection

    # The parameters of one run: by place, or by name.
    Values: TypeAlias = Sequence[object] | Mapping[str, object]

T = TypeVar("T", pa.Table, pa.RecordBatch)

# What a parameter may be, as long as nobody has given one: that the type follows from the value is
# said by a union, as Arrow's own example of a server does.
_ANY = pa.dense_union(
    [
        pa.field("string", pa.string()),
        pa.field("bytes", pa.binary()),
        pa.field("bigint", pa.int64()),
        pa.field("double", pa.float64()),
    ]
)
NO_COLUMNS = pa.schema([])


@dataclass(frozen=True, eq=False, slots=True)
class Result:
    """The rows of a text, as they are computed; their number is -1 where nobody knows it yet.

    Without columns it is a statement that has run: the number is that of the rows it wrote.
    """

    schema: pa.Schema
    batches: Iterable[pa.RecordBatch]
    row_count: int


@dataclass(slots=True)
class Prepared:
    """A prepared statement: its text, the transaction that it is for, and what was bound last.

    names: its parameters, in their order. schema: of its rows; no columns of one that has none, or
    where they depend on parameters.
    """

    text: str
    transaction: bytes
    names: Sequence[str]
    schema: pa.Schema
    sets: Sequence[Values] | None = None

    @property
    def parameters(self) -> pa.Schema:
        """The schema of the parameters."""
        return pa.schema([pa.field(name, _ANY) for name in self.names])

    def bind(self, rows: pa.Table) -> Sequence[Values]:
        """Return the sets of parameters that a client has sent, one a row.

        A statement with names has them by the names of the columns, if these are the same.
        """
        is_named = not all(name.isdigit() for name in self.names)
        if rows.num_columns != len(self.names):
            raise ProgrammingError(
                f"the statement has {_counted(len(self.names))}, but {rows.num_columns} were given"
            )
        given = zip(rows.column_names, sound(rows).columns, strict=True)
        columns = [_values(*each) for each in given]
        if is_named:
            folded = [name.lower() for name in rows.column_names]
            if sorted(folded) != sorted(map(str.lower, self.names)):
                raise ProgrammingError(
                    f"the parameters have names: {', '.join(self.names)}; the columns are"
                    f" {', '.join(rows.column_names)}"
                )
            found = zip(*columns, strict=True)
            return [dict(zip(rows.column_names, row, strict=True)) for row in found]
        return list(zip(*columns, strict=True)) if columns else [()] * max(rows.num_rows, 1)


def sound(rows: T) -> T:
    """Return rows of a client, which Arrow has not looked at. Raises DataError for damaged ones."""
    try:
        rows.validate(full=True)
    except pa.ArrowInvalid as error:
        raise DataError(f"the rows of the client are damaged: {error}") from None
    return rows


def _values(name: str, column: pa.ChunkedArray) -> list[object]:
    """Return the values of a parameter. Raises DataError for one that is none of RayDB."""
    if all(getattr(leaf, "unit", "") != "ns" for leaf in leaf_types(column.type)):
        # Python has fewer years, and not all zones.
        with suppress(LookupError, OverflowError, ValueError):
            values: list[object] = column.to_pylist()
            return values
    kind = sql_type(column.type)
    column = cast_column("the parameters", pa.field(name, kind), column)
    return [Literal(literal_value(each), kind) if each.is_valid else None for each in column]


def prepare(connection: Connection, text: str, transaction: bytes) -> Prepared:
    """Return a prepared statement. Raises ProgrammingError for a text that is wrong."""
    statements = sql.parse(text)
    if len(statements) != 1:
        return Prepared(text, transaction, (), NO_COLUMNS)
    (statement,) = statements
    found = sql.parameters_of(statement)
    numbers = sorted((each for each in found if each.isdigit()), key=int)
    names = [*numbers, *sorted(found.difference(numbers))]
    return Prepared(text, transaction, names, columns_of(connection, statement, text, names))


def columns_of(
    connection: Connection, statement: ast.Statement, text: str, names: Sequence[str]
) -> pa.Schema:
    """Return the schema of a query's rows without running it; no columns of anything else.

    Its parameters stand for NULL. No columns either of a query that has parameters and cannot do
    with NULLs.
    """
    if not isinstance(statement, ast.Select):
        return NO_COLUMNS
    nulls: Values = dict.fromkeys(names)
    if all(name.isdigit() for name in names):
        nulls = [None] * len(names)
    try:
        return connection._stream(text, nulls, runs=False).schema  # noqa: SLF001
    except Error:
        if names:
            return NO_COLUMNS
        raise


def run(connection: Connection, text: str, sets: Sequence[Values] | None) -> Result:
    """Run a text: once, or once for each set of parameters, all of them or none."""
    statements = sql.parse(text)
    is_query = len(statements) == 1 and isinstance(statements[0], ast.Select)
    if is_query and sets != []:
        readers = [connection.stream(text, values) for values in sets or [()]]
        for reader in readers[1:]:
            if reader.schema != readers[0].schema:
                raise ProgrammingError(
                    "the sets of parameters give rows of several types; a cast makes them one"
                )
        return Result(readers[0].schema, chain.from_iterable(readers), -1)
    if sets is not None and len(sets) != 1:
        cursor = connection.executemany(text, sets)
    else:
        cursor = connection.execute(text, sets[0] if sets else ())
    if cursor.description is None:
        return Result(NO_COLUMNS, (), cursor.rowcount)
    table = cursor.to_arrow_table()
    return Result(table.schema, table.to_batches(), cursor.rowcount)


def _counted(number: int) -> str:
    return f"{number} parameter" if number == 1 else f"{number} parameters"
