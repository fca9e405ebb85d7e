"""Definitions of tables and types as JSON values, and back.

What is read is checked as a whole: a definition names columns and tables that exist, its foreign
keys refer to keys, and files have the columns that it says. All errors are OperationalError and
name the file.
"""

from __future__ import annotations

import base64
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.engine.catalog.indexes.lending import lent_by
from raydb.engine.catalog.indexes.lent import BorrowingPart, LentColumn
from raydb.engine.catalog.stored_sequence import load_identity
from raydb.errors import Error, NotSupportedError
from raydb.kernels.stored.described import Described
from raydb.kernels.vector import exact_search
from raydb.kernels.vector import graph as vector_graph
from raydb.storage.flat.kinds import is_vector, kind_of
from raydb.storage.tables.constraints import MAX_ROWS, check_columns, resolve_references
from raydb.storage.tables.following import ACTIONS, CASCADE
from raydb.storage.tables.parts import FilePart
from raydb.storage.tables.table import (
    Check,
    FileLayout,
    ForeignKey,
    Generated,
    Index,
    IvfOptions,
    Table,
    TableDefinition,
    TextOptions,
    UniqueKey,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from raydb.engine.catalog.indexes.lent import Vectors
    from raydb.kernels.stored.deferred import Deferred
    from raydb.storage.flat import FlatTable

    Reader = Callable[[Described], Any]


def describe_definition(definition: TableDefinition) -> dict[str, Any]:
    """Return a definition as JSON values."""
    return {
        "name": definition.name,
        "schema": base64.b64encode(definition.schema.serialize()).decode(),
        "primary_key": definition.primary_key and astuple(definition.primary_key),
        "unique_keys": [astuple(key) for key in definition.unique_keys],
        "foreign_keys": [astuple(key) for key in definition.foreign_keys],
        "checks": [astuple(check) for check in definition.checks],
        "defaults": definition.defaults,
        "layout": astuple(definition.layout),
        "indexes": [astuple(index) for index in definition.indexes],
        "identities": [astuple(identity) for identity in definition.identities],
        "generated": [astuple(each) for each in definition.generated],
    }


def load_definition(described: Described) -> TableDefinition:
    """Return the definition of `describe_definition`; `check_definitions` looks at the whole."""
    schema = _schema(described["schema"])
    primary_key = described["primary_key"].or_none()
    chunk_rows, encodings, offset_index = described["layout"].items(3)
    definition = TableDefinition(
        described["name"].text(),
        schema,
        None if primary_key is None else _unique_key(primary_key),
        tuple(_unique_key(key) for key in described["unique_keys"].items()),
        tuple(_foreign_key(key) for key in described["foreign_keys"].items()),
        tuple(_check(check) for check in described["checks"].items()),
        _pairs(described["defaults"], Described.text),
        FileLayout(
            _pairs(chunk_rows, Described.integer),
            _pairs(encodings, Described.text),
            _pairs(offset_index, Described.flag),
        ),
        tuple(_index(index) for index in described["indexes"].items()),
        tuple(map(load_identity, found.items())) if (found := described.find("identities")) else (),
        tuple(map(_generated, found.items())) if (found := described.find("generated")) else (),
    )
    known = {*schema.names}
    named = {column for check in definition.checks for column in check.columns}
    named |= {column for column, _ in definition.defaults}
    named |= {identity.column for identity in definition.identities}
    if not named <= known:
        raise described.fault(f"a table with column '{min(named - known)}'")
    return definition


def check_definitions(tables: Mapping[str, Table], described: Mapping[str, Described]) -> None:
    """Raise where a definition is none that a statement could have made."""
    definitions = {name: table.definition for name, table in tables.items()}
    for name, definition in definitions.items():
        try:
            check_columns(definition)
            found = tuple(
                resolve_references(definition, key, definitions) for key in definition.foreign_keys
            )
        except Error as error:
            raise described[name].fault(f"a table that can be ({error})") from error
        if found != definition.foreign_keys:
            raise described[name]["foreign_keys"].fault("foreign keys with their references")


def describe_parts(table: Table) -> list[list[Any]]:
    """Return the files of a table's rows as JSON values, with what each borrows that is in use."""
    described = []
    for part in table.rows.parts:
        if isinstance(part, FilePart):
            lent = {}
            for name in table.rows.schema.names:
                if (found := lent_by(part, name)) is not None:
                    lent[part.renamed.get(name, name)] = [found.file, found.first]
            described.append([part.name, dict(part.renamed), list(part.absent), lent])
    return described


def named_files(described: list[list[Any]]) -> list[str]:
    """Return the names of all files in what `describe_parts` returns."""
    return [
        name for each in described for name in (each[0], *(file for file, _ in each[3].values()))
    ]


def load_part(
    described: Described,
    flat: FlatTable,
    schema: pa.Schema,
    required: frozenset[str],
    lend: Callable[[Described, int], Deferred[Vectors]],
) -> FilePart:
    """Return a file's rows once its columns are those of a table, whatever the file calls them.

    required: the columns that cannot be NULL.
    lend: what the file of an index lends, of vectors of a width.
    """
    name, renamed, missing, *borrowed = described.items(3 if len(described.items()) == 3 else 4)
    stored = {column: each.text() for column, each in renamed.entries().items()}
    absent = set(missing.texts())
    lent: dict[str, LentColumn] = {}
    loans = borrowed[0].entries() if borrowed else {}
    is_alike = not (stored or absent or loans) and flat.schema.equals(schema)
    for field in () if is_alike else schema:
        called = stored.get(field.name, field.name)
        held = flat.schema.get_field_index(called)
        if field.name in absent:
            fits = field.nullable
        elif called in loans:
            kind = field.type
            fits = held >= 0 and pa.types.is_boolean(flat.schema.field(held).type)
            fits = fits and is_vector(kind) and pa.types.is_float32(kind.value_type)
            if fits:
                file, first = loans[called].items(2)
                start = first.integer(0, MAX_ROWS)
                vectors = lend(file, kind.list_size)
                lent[called] = LentColumn(file.text(), kind, start, flat.row_count, vectors)
        else:
            fits = held >= 0 and flat.schema.field(held).type == field.type
        if not fits:
            raise described.fault(f"a file with column '{field.name}' as {field.type}")
    nothing = {column: schema.field(column).type for column in absent}
    # An absent column can be NULL.
    flat.require(frozenset(stored.get(each, each) for each in required) if stored else required)
    if not lent:
        return FilePart(name.text(), flat, stored, nothing)
    part = BorrowingPart(name.text(), flat, stored, nothing, lent)
    for column in required:
        if lent_by(part, column) is not None and part.null_count(column):
            raise described.fault(f"a file without NULL in column '{column}'")
    return part


def _schema(described: Described) -> pa.Schema:
    try:
        text = base64.b64decode(described.text(), validate=True)
        schema = pa.ipc.read_schema(pa.py_buffer(text))
        for field in schema:
            kind_of(field.name, field.type)
    except (pa.ArrowException, NotSupportedError, ValueError, OSError, EOFError) as error:
        raise described.fault(f"a schema ({error})") from error
    return schema


def describe_types(types: Mapping[str, pa.DataType]) -> dict[str, str]:
    """Return types of CREATE TYPE as JSON values, by name."""
    schemas = {name: pa.schema([("", kind)]) for name, kind in types.items()}
    return {name: base64.b64encode(each.serialize()).decode() for name, each in schemas.items()}


def load_types(state: Described) -> dict[str, pa.DataType]:
    """Return the types of a state, none of one before there were any."""
    found = state.find("types")
    return {} if found is None else {name: _type(said) for name, said in found.entries().items()}


def load_schemas(state: Described) -> dict[str, str]:
    """Return the schemas of a state, none of one before there were any."""
    found = state.find("schemas")
    names = [] if found is None else [each.text() for each in found.items()]
    return dict(zip(names, names, strict=True))


def load_macros(state: Described) -> dict[str, str]:
    """Return the macros of a state, none of one before there were any."""
    found = state.find("macros")
    return {} if found is None else {name: text.text() for name, text in found.entries().items()}


def describe_comments(comments: Mapping[tuple[str, str, str], str]) -> list[list[str]]:
    """Return comments as JSON values: the kind, the name and the column, and the text."""
    return [[*key, text] for key, text in comments.items()]


def load_comments(state: Described) -> dict[tuple[str, str, str], str]:
    """Return the comments of a state, none of one before there were any."""
    found = state.find("comments")
    comments = {}
    for each in () if found is None else found.items():
        kind, name, column, text = (part.text() for part in each.items(4))
        comments[kind, name, column] = text
    return comments


def _type(described: Described) -> pa.DataType:
    try:
        text = base64.b64decode(described.text(), validate=True)
        (field,) = pa.ipc.read_schema(pa.py_buffer(text))
    except (pa.ArrowException, ValueError, OSError, EOFError) as error:
        raise described.fault(f"a type ({error})") from error
    return field.type


def _columns(described: Described) -> tuple[str, ...]:
    found = described.texts()
    if not found:
        raise described.fault("the name of a column at least")
    return found


def _unique_key(described: Described) -> UniqueKey:
    return UniqueKey(*_fields(described, 1, _columns, Described.text))


def _foreign_key(described: Described) -> ForeignKey:
    text = Described.text
    readers = (_columns, text, _columns, text, _action, _action)
    return ForeignKey(*_fields(described, 3, *readers))


def _action(described: Described) -> str:
    """Return what a foreign key does; up to 0.1.0a4 it is whether ON DELETE is CASCADE."""
    return described.text("", *ACTIONS) if described.is_text else CASCADE * described.flag()


def _check(described: Described) -> Check:
    return Check(*_fields(described, 2, Described.text, Described.texts, Described.text))


def _generated(described: Described) -> Generated:
    return Generated(*_fields(described, 3, Described.text, Described.text, Described.texts))


def _index(described: Described) -> Index:
    """Return an index of its fields; version 4 has no options, version 5 no quantization.

    Up to 0.1.0a4 there are no options of hnsw and fts.
    """

    def flags(each: Described) -> tuple[bool, ...]:
        return tuple(flag.flag() for flag in each.items())

    def options(each: Described) -> IvfOptions | None:
        found = each.or_none()
        if found is None:
            return None
        integer = Described.integer
        readers = (_metric, integer, integer, _quantization, _degree, integer)
        return IvfOptions(*_fields(found, 3, *readers))

    def words(each: Described) -> TextOptions | None:
        found = each.or_none()
        return None if found is None else TextOptions(*_fields(found, 1, Described.text))

    text = Described.text
    index = Index(*_fields(described, 4, text, _columns, flags, Described.flag, options, words))
    if len(index.descending) != len(index.columns):
        raise described.fault("an index with a direction for each column")
    if index.ivf is not None and len(index.columns) != 1:
        raise described.fault("an ivf index on one column")
    if index.text is not None and (len(index.columns) != 1 or index.ivf is not None):
        raise described.fault("an fts index on one column")
    return index


def _metric(described: Described) -> str:
    return described.text(*exact_search.METRICS)


def _degree(described: Described) -> int:
    return described.integer(0, vector_graph.MOST_DEGREE // 2)


def _quantization(described: Described) -> str:
    return described.text("none", "int8")


def _fields(described: Described, required: int, *readers: Reader) -> list[Any]:
    """Return the fields of a constraint or an index, the first `required` or more of them."""
    items = described.items()
    if not required <= len(items) <= len(readers):
        raise described.fault(f"an array of {required} to {len(readers)}")
    return [read(item) for read, item in zip(readers, items, strict=False)]


def _pairs(described: Described, read: Reader) -> tuple[tuple[str, Any], ...]:
    return tuple((name.text(), read(value)) for name, value in map(_pair, described.items()))


def _pair(described: Described) -> list[Described]:
    return described.items(2)
