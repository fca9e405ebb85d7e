"""A client of Ibis. What Ibis calls a database is a schema here, and its catalog is a database."""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import ibis
import ibis.expr.operations as ops
import pyarrow as pa
import sqlglot.expressions as sge
from ibis import util
from ibis.backends import (
    CanCreateDatabase,
    CanListCatalog,
    DirectExampleLoader,
    HasCurrentCatalog,
    HasCurrentDatabase,
    SupportsTempTables,
    UrlFromPath,
)
from ibis.backends.sql import SQLBackend
from ibis.common.exceptions import (
    IbisTypeError,
    TableNotFound,
    UnsupportedArgumentError,
)

import raydb
from raydb.ibis.compiler import Compiler

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from os import PathLike
    from pathlib import Path

    import ibis.expr.schema as sch
    import ibis.expr.types as ir
    import pandas as pd
    import polars as pl
    from ibis.expr.schema import IntoSchema

    from raydb.engine.api.connection import Connection
    from raydb.engine.api.cursor import Cursor

    Names = tuple[str, str] | str | None
    Paths = str | Path | Iterable[str | Path]
    Params = Mapping[ir.Scalar, Any] | None


class Backend(
    SupportsTempTables,
    SQLBackend,
    CanListCatalog,
    CanCreateDatabase,
    HasCurrentCatalog,
    HasCurrentDatabase,
    UrlFromPath,
    DirectExampleLoader,
):
    """A connection to a RayDB database; `con` is the `raydb.Connection` itself."""

    name = "raydb"
    compiler = Compiler()
    supports_temporary_tables = True

    def do_connect(
        self,
        database: str | PathLike[str] = ":memory:",
        *,
        read_only: bool = False,
        **settings: Any,
    ) -> None:
        """Open a database.

        database: a path; without one it is in memory. read_only, settings: see `raydb.connect`.
        """
        self.con = raydb.connect(database, read_only=read_only, **settings)
        self._set_up()

    def _set_up(self) -> None:
        """Choose what Ibis takes for granted."""
        self.con.execute("SET TimeZone = 'UTC'; SET default_null_order = 'nulls_last'")

    @util.experimental
    @classmethod
    def from_connection(cls, con: Connection, /) -> Backend:
        """Return a client of a `raydb.Connection` that is open already.

        Its time zone is UTC and its NULLs come last from now on.
        """
        backend = cls()
        backend._can_reconnect = False
        backend.con = con
        backend._set_up()
        return backend

    @staticmethod
    def _convert_kwargs(kwargs: dict[str, Any]) -> None:
        """Make a URL's texts the options of `raydb.connect`."""
        if "read_only" in kwargs:
            kwargs["read_only"] = str(kwargs["read_only"]).lower() in ("true", "1", "on")

    @property
    def version(self) -> str:
        """RayDB's version."""
        return raydb.__version__

    @property
    def current_catalog(self) -> str:
        """The database that unqualified names are in."""
        return self._one("SELECT current_database()")

    @property
    def current_database(self) -> str:
        """The schema that unqualified names are in."""
        return self._one("SELECT current_schema()")

    def _one(self, sql: str) -> str:
        ((value,),) = self.con.execute(sql).fetchall()
        return value

    def raw_sql(self, query: str | sge.Expression, **kwargs: Any) -> Cursor:
        """Run a text and return the cursor on its rows."""
        text = query if isinstance(query, str) else query.sql(dialect=self.dialect)
        return self.con.execute(text, **kwargs)

    @contextmanager
    def _safe_raw_sql(self, query: str | sge.Expression, **kwargs: Any) -> Iterator[Cursor]:
        yield self.raw_sql(query, **kwargs)

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """Run what is within as a whole, in the transaction that is active or in one of its own."""
        if self.con.in_transaction:
            yield self.con
            return
        self.con.begin()
        try:
            yield self.con
        except BaseException:
            self.con.rollback()
            raise
        self.con.commit()

    def list_catalogs(self, *, like: str | None = None) -> list[str]:
        """Return the names of the databases that are attached."""
        sql = "SELECT DISTINCT catalog_name FROM information_schema.schemata"
        return self._filter_with_like(self._column(sql), like)

    def list_databases(self, *, like: str | None = None, catalog: str | None = None) -> list[str]:
        """Return the names of the schemas, of one database where it is given."""
        sql = "SELECT DISTINCT schema_name FROM information_schema.schemata"
        given = () if catalog is None else (catalog,)
        where = "" if catalog is None else " WHERE catalog_name = ?"
        return self._filter_with_like(self._column(sql + where, given), like)

    def list_tables(self, *, like: str | None = None, database: Names = None) -> list[str]:
        """Return the names of the tables and views of a schema, temporary ones among them."""
        place = self._to_sqlglot_table(database)
        given = (place.catalog or self.current_catalog, place.db or self.current_database)
        sql = (
            "SELECT DISTINCT table_name FROM information_schema.tables"
            " WHERE table_catalog IN (?, 'temp') AND table_schema = ?"
        )
        return self._filter_with_like(self._column(sql, given), like)

    def _column(self, sql: str, given: tuple[str, ...] = ()) -> list[str]:
        return [value for (value,) in self.con.execute(sql, given).fetchall()]

    def create_database(
        self, name: str, /, *, catalog: str | None = None, force: bool = False
    ) -> None:
        """Create a schema. force: it may exist."""
        exists = "IF NOT EXISTS " if force else ""
        self.con.execute(f"CREATE SCHEMA {exists}{self._named(name, catalog=catalog)}")

    def drop_database(
        self, name: str, /, *, catalog: str | None = None, force: bool = False
    ) -> None:
        """Drop a schema that is empty. force: it need not exist."""
        exists = "IF EXISTS " if force else ""
        self.con.execute(f"DROP SCHEMA {exists}{self._named(name, catalog=catalog)}")

    def create_table(
        self,
        name: str,
        /,
        obj: ir.Table | pd.DataFrame | pa.Table | pl.DataFrame | pl.LazyFrame | None = None,
        *,
        schema: IntoSchema | None = None,
        database: Names = None,
        temp: bool = False,
        overwrite: bool = False,
    ) -> ir.Table:
        """Create a table, with the rows of an expression or a frame where there is one.

        schema: its columns, where they are not those of `obj`. database: the schema it is made in.
        overwrite: it takes the place of a table of that name, whose rows `obj` may read.
        """
        place = self._to_sqlglot_table(database)
        if temp and place.catalog:
            raise UnsupportedArgumentError("a temporary table is of no catalog")
        table = obj if obj is None or isinstance(obj, ibis.Table) else ibis.memtable(obj)
        if schema is None:
            if table is None:
                raise ValueError("Either `obj` or `schema` must be specified")
            schema = table.schema()
        columns = ibis.schema(schema)
        if columns.null_fields:
            raise IbisTypeError(f"columns of NULL have no type: {columns.null_fields}")
        catalog, own = ("temp", "main") if temp else (place.catalog, place.db)
        made = util.gen_name("raydb_table") if overwrite else name
        target = self._named(made, own, catalog)
        defined = ", ".join(
            each.sql(self.dialect) for each in columns.to_sqlglot_column_defs(self.dialect)
        )
        if table is not None:
            self._run_pre_execute_hooks(table)
        with self.begin() as con:
            con.execute(f"CREATE {'TEMP ' if temp else ''}TABLE {target} ({defined})")
            if table is not None:
                con.execute(f"INSERT INTO {target} {self.compile(table)}")
            if overwrite:
                con.execute(f"DROP TABLE IF EXISTS {self._named(name, own, catalog)}")
                con.execute(f"ALTER TABLE {target} RENAME TO {self._named(name)}")
        return self.table(name, database=(catalog, own) if catalog else own or None)

    def drop_table(self, name: str, /, *, database: Names = None, force: bool = False) -> None:
        """Drop a table. force: it need not exist."""
        self._drop("TABLE", name, database, force=force)

    def create_view(
        self, name: str, /, obj: ir.Table, *, database: Names = None, overwrite: bool = False
    ) -> ir.Table:
        """Create a view of an expression. overwrite: it takes the place of one of that name."""
        place = self._to_sqlglot_table(database)
        catalog, own = self._to_catalog_db_tuple(place)
        self._run_pre_execute_hooks(obj)
        replace = "OR REPLACE " if overwrite else ""
        # What is in memory goes with the connection, and so does a view of it.
        temp = "TEMP " if obj.op().find(ops.InMemoryTable) else ""
        named = self._named(name) if temp else self._named(name, own, catalog)
        self.con.execute(f"CREATE {replace}{temp}VIEW {named} AS {self.compile(obj)}")
        return self.table(name, database=None if temp else database)

    def drop_view(self, name: str, /, *, database: Names = None, force: bool = False) -> None:
        """Drop a view. force: it need not exist."""
        self._drop("VIEW", name, database, force=force)

    def rename_table(self, old_name: str, new_name: str) -> None:
        """Rename a table."""
        self.con.execute(f"ALTER TABLE {self._named(old_name)} RENAME TO {self._named(new_name)}")

    def _drop(self, kind: str, name: str, database: Names, *, force: bool) -> None:
        place = self._to_sqlglot_table(database)
        exists = "IF EXISTS " if force else ""
        self.con.execute(f"DROP {kind} {exists}{self._named(name, place.db, place.catalog)}")

    def _named(self, name: str, database: str | None = None, catalog: str | None = None) -> str:
        """Return a name with what stands before it, all in quotes."""
        parts = [each for each in (catalog, database, name) if each]
        return ".".join(sge.Identifier(this=each, quoted=True).sql("duckdb") for each in parts)

    def get_schema(
        self, table_name: str, *, catalog: str | None = None, database: str | None = None
    ) -> sch.Schema:
        """Return the columns of a table or a view. Raises TableNotFound."""
        try:
            return self._described(self._named(table_name, database, catalog))
        except raydb.ProgrammingError as error:
            raise TableNotFound(table_name) from error

    def _get_schema_using_query(self, query: str) -> sch.Schema:
        return self._described(query)

    def _described(self, what: str) -> sch.Schema:
        rows = self.con.execute(f"DESCRIBE {what}").to_arrow_table().select([0, 1, 2]).to_pydict()
        kind = self.compiler.type_mapper.from_string
        return ibis.schema(
            {
                name: kind(text, nullable=null == "YES")
                for name, text, null in zip(*rows.values(), strict=True)
            }
        )

    def read_parquet(
        self, paths: Paths, /, *, table_name: str | None = None, **options: Any
    ) -> ir.Table:
        """Return files as a table. options: those of the function read_parquet."""
        return self._read("read_parquet", paths, table_name, options)

    def read_csv(
        self,
        paths: Paths,
        /,
        *,
        table_name: str | None = None,
        columns: Mapping[str, Any] | None = None,
        types: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> ir.Table:
        """Return files as a table.

        columns, types: the types of all columns, or of some. options: those of read_csv.
        """
        given = {"header": True, **options}
        for key, named in (("columns", columns), ("types", types)):
            if named is not None:
                given[key] = {name: self._type_text(kind) for name, kind in named.items()}
        return self._read("read_csv", paths, table_name, given)

    def read_json(
        self,
        paths: Paths,
        /,
        *,
        table_name: str | None = None,
        columns: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> ir.Table:
        """Return files as a table. columns: their types. options: those of read_json."""
        if columns is not None:
            options["columns"] = {each: self._type_text(kind) for each, kind in columns.items()}
        return self._read("read_json", paths, table_name, options)

    def _type_text(self, kind: Any) -> str:
        return kind if isinstance(kind, str) else self.compiler.type_mapper.to_string(kind)

    def _read(
        self, function: str, paths: Paths, table_name: str | None, options: Mapping[str, Any]
    ) -> ir.Table:
        name = table_name or util.gen_name(function)
        files = sge.convert(util.normalize_filenames(paths)).sql(self.dialect)
        given = "".join(f", {key} = {_literal(value)}" for key, value in options.items())
        query = f"SELECT * FROM {function}({files}{given})"
        self.con.execute(f"CREATE OR REPLACE TEMP VIEW {self._named(name)} AS {query}")
        return self.table(name)

    def _register_in_memory_table(self, op: ops.InMemoryTable) -> None:
        self.con.register(op.name, op.data.to_pyarrow(op.schema))

    def to_pyarrow(
        self, expr: ir.Expr, /, *, params: Params = None, limit: int | str | None = None, **_: Any
    ) -> pa.Table | pa.Array | pa.Scalar:
        """Return the rows of an expression as an Arrow table, a column of it or a value."""
        return expr.__pyarrow_result__(self._rows(expr, params, limit))

    def execute(
        self, expr: ir.Expr, /, *, params: Params = None, limit: int | str | None = None, **_: Any
    ) -> pd.DataFrame | pd.Series | Any:
        """Return the rows of an expression as a frame of pandas, a series or a value."""
        rows = self._rows(expr, params, limit)
        converter = import_module("ibis.formats.pandas").PandasData
        frame = converter.convert_table(_frame(rows), expr.as_table().schema())
        return expr.__pandas_result__(frame)

    def _rows(self, expr: ir.Expr, params: Params, limit: int | str | None) -> pa.Table:
        return self.con.execute(self._text(expr, params, limit)).to_arrow_table()

    def _text(self, expr: ir.Expr, params: Params, limit: int | str | None = None) -> str:
        self._run_pre_execute_hooks(expr)
        return self.compile(expr.as_table(), params=params, limit=limit)

    @util.experimental
    def to_pyarrow_batches(
        self,
        expr: ir.Expr,
        /,
        *,
        params: Params = None,
        limit: int | str | None = None,
        chunk_size: int = 1_000_000,
        **_: Any,
    ) -> pa.RecordBatchReader:
        """Return an expression's rows, computed as they are read, `chunk_size` at most a batch."""
        stream = self.con.stream(self._text(expr, params, limit))
        schema = expr.as_table().schema().to_pyarrow()

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in stream:
                for start in range(0, batch.num_rows, chunk_size):
                    yield batch.slice(start, chunk_size).cast(schema)

        return pa.RecordBatchReader.from_batches(schema, batches())

    @util.experimental
    def to_parquet(
        self, expr: ir.Table, /, path: str | Path, *, params: Params = None, **options: Any
    ) -> None:
        """Write the rows of an expression to a file. options: those of COPY .. (FORMAT parquet)."""
        self._copy(expr, path, params, {"format": "parquet", **options})

    @util.experimental
    def to_csv(
        self,
        expr: ir.Table,
        /,
        path: str | Path,
        *,
        params: Params = None,
        header: bool = True,
        **options: Any,
    ) -> None:
        """Write the rows of an expression to a file. options: those of COPY .. (FORMAT csv)."""
        self._copy(expr, path, params, {"format": "csv", "header": header, **options})

    @util.experimental
    def to_json(self, expr: ir.Table, /, path: str | Path, **options: Any) -> None:
        """Write the rows of an expression to a file, as an array of objects."""
        self._copy(expr, path, None, {"format": "json", "array": True, **options})

    def _copy(
        self, expr: ir.Table, path: str | Path, params: Params, options: Mapping[str, Any]
    ) -> None:
        given = ", ".join(f"{key} {_option(value)}" for key, value in options.items())
        file = sge.convert(str(path)).sql(self.dialect)
        self.con.execute(f"COPY ({self._text(expr, params)}) TO {file} ({given})")

    def attach(self, path: str | Path, name: str | None = None, *, read_only: bool = False) -> None:
        """Attach another database. name: without one it is that of the file."""
        file = sge.convert(str(path)).sql(self.dialect)
        named = "" if name is None else f" AS {self._named(name)}"
        self.con.execute(f"ATTACH {file}{named}{' (READ_ONLY)' if read_only else ''}")

    def detach(self, name: str) -> None:
        """Detach a database."""
        self.con.execute(f"DETACH {self._named(name)}")


def _frame(rows: pa.Table) -> pd.DataFrame:
    """Return rows as Ibis converts them: what pandas has no type for as Python's values."""
    pandas = import_module("pandas")  # which takes a third of a second

    def values(column: pa.ChunkedArray) -> Any:
        kind = column.type
        as_python = pa.types.is_nested(kind) or pa.types.is_dictionary(kind) or column.null_count
        return column.to_pylist() if as_python else column.to_pandas()

    frame: pd.DataFrame = pandas.DataFrame(
        {name: values(column) for name, column in zip(rows.column_names, rows.columns, strict=True)}
    )
    return frame


def _literal(value: object) -> str:
    """Return a Python value as SQL's."""
    match value:
        case dict():
            return f"{{{', '.join(f'{_literal(key)}: {_literal(value[key])}' for key in value)}}}"
        case list() | tuple():
            return f"[{', '.join(_literal(each) for each in value)}]"
        case _:
            return sge.convert(value).sql("duckdb")


def _option(value: object) -> str:
    """Return a value of COPY's options, in which a sequence is one of columns."""
    if isinstance(value, list | tuple):
        names = (sge.Identifier(this=each, quoted=True).sql("duckdb") for each in value)
        return f"({', '.join(names)})"
    return _literal(value)
