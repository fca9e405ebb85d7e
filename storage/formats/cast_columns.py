"""Columns of a file as those of a table: found by name, cast to its types without loss."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from raydb.errors import DataError, ProgrammingError, did_you_mean
from raydb.late import pc
from raydb.names import index_names
from raydb.running import cuts_nanoseconds
from raydb.storage.bits import BIT, bits_of
from raydb.storage.clocks import TIMETZ, timetz_of
from raydb.storage.enums import EnumType, is_enum, text_type, values_of
from raydb.storage.formats.arrow.sql_types import (
    check_names,
    in_sql_layout,
    is_half_vector,
    sql_type,
)
from raydb.storage.formats.delimited.faults import first_failure
from raydb.storage.integers import UHUGEINT, fits_unsigned
from raydb.storage.moments import is_moment, moment_texts
from raydb.storage.nested import is_list_like, leaf_types, map_leaves, rebuild
from raydb.storage.type_names import sql_type_name
from raydb.storage.uuids import UUID, uuids_of

_DAY_MICROSECONDS = 86_400_000_000
# Arrow's interval of months, days and nanoseconds.
_INTERVAL = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanoseconds", "<i8")])
# What each family of types can be read from: nothing that needs parsing or drops a part silently.
# What other formats have texts for.
_OF_TEXTS = {TIMETZ: timetz_of, BIT: bits_of}
_READABLE_AS = {
    "text": ("text",),
    "bytes": ("bytes",),
    "integer": ("integer", "decimal"),
    "decimal": ("integer", "decimal"),
    "float": ("integer", "decimal", "float"),
    "date": ("date", "timestamp"),
    "timestamp": ("date", "timestamp"),
    "time": ("time",),
    "enum": ("text",),
    "timetz": ("text",),
}


def castable_names(path: str, found: pa.Schema, schema: pa.Schema, exact: bool) -> list[str]:
    """Return the file's name for each column of `schema`, whose type its own can be cast to.

    Names match regardless of case. found: the file's own columns. exact: a further column in the
    file is an error; otherwise it is not read. Raises ProgrammingError for missing columns and
    types that cannot be cast.
    """
    check_names(path, found)
    names = match_names(path, found.names, schema, exact)
    _check_castable(path, found, names, schema)
    return names


def cast_rows(path: str, rows: pa.Table, schema: pa.Schema, first: int = 0) -> pa.Table:
    """Return some rows of a file in the names and types of `schema`, whose order is theirs.

    first: the number of the first one. Raises DataError naming the row for a value that does not
    fit.
    """
    columns = [
        cast_column(f"file '{path}'", field, column, first)
        for field, column in zip(schema, rows.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def match_names(path: str, found: list[str], schema: pa.Schema, exact: bool) -> list[str]:
    """Return the file's name for each column of the schema; see `castable_names`."""
    names = []
    index = index_names(found)
    for wanted in schema.names:
        same = [found[place] for place in index.places(wanted)]
        if not same:
            raise ProgrammingError(
                f"file '{path}' has no column '{wanted}'{did_you_mean(wanted, found)}"
            )
        if len(same) > 1:
            both = " and ".join(f"'{name}'" for name in same)
            raise ProgrammingError(f"file '{path}' has {both}, both of which are '{wanted}'")
        names.append(same[0])
    further = frozenset(found) - frozenset(names)
    if exact and further:
        raise ProgrammingError(further_column(path, next(n for n in found if n in further)))
    return names


def further_column(path: str, name: str) -> str:
    """Return the sentence about a column of a file that a table lacks."""
    return f"file '{path}' has a column '{name}', which the table lacks; name the columns to read"


def _check_castable(path: str, found: pa.Schema, names: list[str], schema: pa.Schema) -> None:
    for field, name in zip(schema, names, strict=True):
        have = found.field(name).type
        if not _is_castable(have, field.type):
            raise ProgrammingError(
                f"file '{path}', column '{name}': {sql_type_name(sql_type(have))} cannot be read"
                f" as {sql_type_name(field.type)}"
            )


def _is_castable(have: pa.DataType, want: pa.DataType) -> bool:
    """Tell whether a type can be read as another one, value by value where it may not fit."""
    types = pa.types
    if want == have or _as_written(want) == sql_type(have) or types.is_null(have):
        return True
    if is_half_vector(have) or is_half_vector(want):
        both = have, want
        return (
            all(
                types.is_fixed_size_list(each) and types.is_floating(each.value_type)
                for each in both
            )
            and have.list_size == want.list_size
        )
    if types.is_dictionary(have):
        have = have.value_type
    if types.is_timestamp(have) and (have.tz is None) != (getattr(want, "tz", None) is None):
        return False
    sources = _READABLE_AS.get(_family(want), ())
    return _family(have) in sources


def _as_written(want: pa.DataType) -> pa.DataType:
    """Return a type with texts in place of what other formats have texts for."""
    return map_leaves(text_type(want), lambda leaf: pa.string() if leaf in (TIMETZ, BIT) else leaf)


def _family(data_type: pa.DataType) -> str:
    types = pa.types
    families = {
        "text": data_type in (pa.string(), pa.large_string(), pa.string_view()),
        "bytes": data_type in (pa.binary(), pa.large_binary(), pa.binary_view()),
        "integer": types.is_integer(data_type),
        "decimal": types.is_decimal(data_type),
        "float": types.is_floating(data_type),
        "date": types.is_date(data_type),
        "timestamp": types.is_timestamp(data_type),
        "timetz": data_type == TIMETZ,
        "time": types.is_time(data_type),
        "enum": is_enum(data_type),
    }
    return next((name for name, belongs in families.items() if belongs), str(data_type))


def cast_column(
    origin: str, field: pa.Field, column: pa.ChunkedArray, first: int = 0
) -> pa.ChunkedArray:
    """Return a column in the type of `field`; DataError names the row that does not fit.

    origin: what has the column, for the message: "file 'a.csv'". first: its first row's number.
    """
    if column.type == field.type and field.type != UHUGEINT:
        return column
    column = in_sql_layout(column)
    cast = cast_exactly(column, field.type)
    if cast is not None:
        return cast
    row = first_failure(
        len(column), lambda count: cast_exactly(column.slice(0, count), field.type) is None
    )
    value = _shown(column[row])
    place = f"{origin}, row {first + row + 1}, column '{field.name}'"
    if _is_cut(column.type):
        raise nanoseconds_lost(f"{place}: {value}")
    raise DataError(f"{place}: {value} does not fit {sql_type_name(field.type)}")


def _shown(value: pa.Scalar) -> str:
    """Write a value that does not fit; a file's may be what neither Arrow nor Python can write."""
    if pa.types.is_timestamp(value.type) and value.type.tz is not None:
        value = value.cast(pa.timestamp(value.type.unit, "UTC"))  # the file's zone may be unknown
    try:
        if is_moment(value.type):
            return f"'{moment_texts(pa.repeat(value, 1))[0]}'"
        nested = pa.types.is_nested(value.type)
        return f"'{value.as_py() if nested else value.cast(pa.string()).as_py()}'"
    except (pa.ArrowException, ArithmeticError, LookupError, ValueError):
        return "a value that cannot be written"


def nanoseconds_lost(what: str) -> DataError:
    """Return the error about a time that is finer than a microsecond, and how to cut it."""
    return DataError(
        f"{what} has nanoseconds, and RayDB keeps microseconds; SET nanoseconds = 'cut' cuts them"
    )


def _cast_parts(column: pa.ChunkedArray, want: pa.DataType) -> pa.ChunkedArray | None:
    """Return nested values with each part in its type, or None if a part does not fit."""

    def convert(values: pa.Array, kind: pa.DataType) -> pa.Array:
        cast = values if values.type == kind else cast_exactly(pa.chunked_array([values]), kind)
        if cast is None:
            raise pa.ArrowInvalid("a part does not fit")
        return cast.combine_chunks() if isinstance(cast, pa.ChunkedArray) else cast

    try:
        return pa.chunked_array([rebuild(chunk, want, convert) for chunk in column.chunks], want)
    except pa.ArrowInvalid:
        return None


def _is_cut(have: pa.DataType) -> bool:
    """Tell whether values of a type, or in such values, have nanoseconds."""
    types = pa.types
    return any(
        (types.is_timestamp(leaf) or types.is_time(leaf) or types.is_duration(leaf))
        and leaf.unit == "ns"
        for leaf in leaf_types(have)
    )


def cast_exactly(column: pa.ChunkedArray, want: pa.DataType) -> pa.ChunkedArray | None:
    """Return the column in another type, or None if a value does not fit.

    Only DECIMAL to DOUBLE and DOUBLE to REAL round.
    """
    have = column.type
    if pa.types.is_nested(want):
        return _cast_parts(column, want)
    if pa.types.is_duration(have):
        return _intervals(column, want)
    if isinstance(want, EnumType):
        return _enums(column, want)
    if want in _OF_TEXTS:
        return _read_texts(column, want)
    try:
        if pa.types.is_integer(have) and pa.types.is_decimal(want):
            # Arrow judges by the integer type's digits; by way of 20 digits it judges the values.
            column = column.cast(pa.decimal128(20))
        # Times have the range of their coarser type, so that no other part is lost.
        is_cut = pa.types.is_temporal(want) and _is_cut(have) and cuts_nanoseconds()
        cast = column.cast(want, safe=not is_cut)
        if want == UHUGEINT and not fits_unsigned(cast):
            return None
    except pa.ArrowInvalid:
        return None
    if pa.types.is_floating(have) and pa.types.is_floating(want):
        overflows = pc.and_(pc.is_inf(cast), pc.is_finite(column))
        return None if pc.any(overflows).as_py() else cast
    if pa.types.is_timestamp(have) and pa.types.is_date(want):
        return cast if pc.all(pc.equal(cast.cast(have), column)).as_py() is not False else None
    return cast


def _enums(column: pa.ChunkedArray, want: EnumType) -> pa.ChunkedArray | None:
    """Return the values of labels, None where a text is none."""
    try:
        texts = column.cast(pa.string())
        return pa.chunked_array([values_of(chunk, want) for chunk in texts.chunks], want)
    except pa.ArrowInvalid:
        return None


def _read_texts(column: pa.ChunkedArray, want: pa.DataType) -> pa.ChunkedArray | None:
    """Return what other formats have texts for, None where a text is none."""
    try:
        texts = column.cast(pa.string())
        return pa.chunked_array([_OF_TEXTS[want](chunk) for chunk in texts.chunks], want)
    except pa.ArrowInvalid:
        return None


def _intervals(column: pa.ChunkedArray, want: pa.DataType) -> pa.ChunkedArray | None:
    """Return durations as intervals of days and time, None for what is finer than a microsecond."""
    try:
        micros = column.cast(pa.duration("us"), safe=not cuts_nanoseconds()).cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    made = [_interval_array(chunk, want) for chunk in micros.chunks]
    return pa.chunked_array(made, want)


def _interval_array(micros: pa.Array, want: pa.DataType) -> pa.Array:
    days, rest = np.divmod(micros.fill_null(0).to_numpy(), _DAY_MICROSECONDS)
    parts = np.zeros(len(micros), _INTERVAL)
    parts["days"], parts["nanoseconds"] = days, rest * 1000
    whole = pa.Array.from_buffers(want, len(micros), [None, pa.py_buffer(parts)])
    return pc.if_else(micros.is_valid(), whole, pa.scalar(None, want))


def cast_texts(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return a column, or the parts of a nested one, in the type that its texts are written in.

    Raises ArrowInvalid where a value is none.
    """
    return pa.chunked_array([_cast_text_array(chunk, kind) for chunk in column.chunks], kind)


def _cast_text_array(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if array.type == kind:
        return array
    if pa.types.is_struct(kind) or is_list_like(kind):
        return rebuild(array, kind, _cast_text_array)
    if kind == UUID:
        return uuids_of(array)
    if kind in _OF_TEXTS:
        return _OF_TEXTS[kind](array)
    if isinstance(kind, EnumType):
        return values_of(array, kind)
    if pa.types.is_string(array.type) and pa.types.is_time(kind):
        # Arrow reads no time without a day.
        moments = pc.binary_join_element_wise("1970-01-01", array, " ")
        return moments.cast(pa.timestamp("us")).cast(kind)
    cast = array.cast(kind)
    is_rounded = pa.types.is_floating(kind) and pa.types.is_floating(array.type)
    if is_rounded and pc.any(pc.and_(pc.is_inf(cast), pc.is_finite(array))).as_py():
        raise pa.ArrowInvalid("overflow")
    return cast
