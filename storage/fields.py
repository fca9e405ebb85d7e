"""The fields of a table's columns: what the binder knows of values beside how they are stored.

Metadata has it: the type of what an ENUM's numbers stand for, and the collation of texts.
"""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa

from raydb.storage.enums import has_enums, stored_type

_TYPE, _COLLATION = b"raydb.type", b"raydb.collation"


def stored_field(
    name: str, kind: pa.DataType, *, nullable: bool = True, collation: str = ""
) -> pa.Field:
    """Return the column of a table that holds values of a type, texts by a collation."""
    if not has_enums(kind):
        return with_collation(pa.field(name, kind, nullable), collation)
    said = pa.schema([("", kind)]).serialize().to_pybytes()
    return pa.field(name, stored_type(kind), nullable, {_TYPE: said})


def field_type(field: pa.Field) -> pa.DataType:
    """Return the type of the values of a table's column."""
    said = None if field.metadata is None else field.metadata.get(_TYPE)
    return field.type if said is None else _read_type(said)


@lru_cache(256)
def _read_type(said: bytes) -> pa.DataType:
    return pa.ipc.read_schema(pa.py_buffer(said)).field(0).type


def field_collation(field: pa.Field) -> str:
    """Return the collation of a column of texts, '' for none."""
    said = None if field.metadata is None else field.metadata.get(_COLLATION)
    return "" if said is None else str(said.decode())


def with_collation(field: pa.Field, collation: str) -> pa.Field:
    """Return a column of texts with another collation, '' for none."""
    return field.with_metadata({_COLLATION: collation.encode()} if collation else None)


def typed_schema(schema: pa.Schema) -> pa.Schema:
    """Return a table's columns with the types of their values."""
    if all(field.metadata is None or _TYPE not in field.metadata for field in schema):
        return schema
    return pa.schema([each.with_type(field_type(each)) for each in schema])


def stored_schema(schema: pa.Schema) -> pa.Schema:
    """Return the columns of a table that holds values of some types."""
    if not any(has_enums(kind) for kind in schema.types):
        return schema
    return pa.schema(
        [
            stored_field(each.name, each.type, nullable=each.nullable)
            if has_enums(each.type)
            else each
            for each in schema
        ]
    )
